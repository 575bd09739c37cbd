//! A simulated account.

use super::{Account, Kind, Seen, passes};
use crate::simulation::{host, provider};
use async_trait::async_trait;
use aws::Aws;
use aws_sim::{Fault, Mark, Sim, State};
use cloud::{Gate, Host, Protocol};
use conformance::{Failed, Stop, WriteFault};

/// Each case has a cloud of its own, and most of its time is waiting.
const AT_A_TIME: usize = 16;

struct Simulated {
    sim: Sim,
    began: Mark,
}

async fn account() -> Result<Simulated, Stop> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let sim = Sim::start().await.map_err(|error| Stop::failed(error.to_string()))?;
    let began = sim.cloud().mark();
    Ok(Simulated { sim, began })
}

#[async_trait]
impl Account for Simulated {
    fn provider(&self, gate: &Gate) -> Aws {
        provider(&self.sim, "", gate)
    }

    fn most_machines(&self) -> usize {
        250
    }

    async fn boot(&self) -> Result<Host, Stop> {
        let machine = self
            .sim
            .cloud()
            .write(|account, now| account.boot("m5.large", 1, now).remove(0));
        Ok(host(&machine))
    }

    async fn stop(&self, id: &str) -> Result<(), Stop> {
        self.sim
            .cloud()
            .write(|account, _| account.set_state(id, State::Stopped));
        Ok(())
    }

    async fn forget(&self, id: &str) -> Result<(), Stop> {
        self.sim.cloud().write(|account, _| account.forget(id));
        Ok(())
    }

    async fn load_balancers(&self, kind: Kind) -> Result<Vec<String>, Stop> {
        Ok(self.sim.cloud().read(|account| account.load_balancers(simulated(kind))))
    }

    async fn load_balancer(&self, kind: Kind, name: &str) -> Result<Seen, Stop> {
        let seen = self
            .sim
            .cloud()
            .read(|account| account.load_balancer(simulated(kind), name));
        let seen = seen.unwrap_or_default();
        let port = |(protocol, port): (String, u16)| match protocol.as_str() {
            "UDP" => (Protocol::Udp, port),
            _ => (Protocol::Tcp, port),
        };
        Ok(Seen {
            ports: seen.ports.into_iter().map(port).collect(),
            instances: seen.instances,
            sources: seen.sources,
        })
    }

    async fn count_routes(&self) -> Result<usize, Stop> {
        Ok(self.sim.cloud().read(|account| account.routes().len()))
    }

    async fn count_writes(&self) -> Result<u64, Stop> {
        Ok(self.sim.cloud().writes_since(self.began).len() as u64)
    }

    async fn spoil_next_write(&self, fault: WriteFault) -> Result<(), Stop> {
        let fault = match fault {
            WriteFault::Fails => Fault::status(500),
            WriteFault::LosesAnswer => Fault::lose_answer(),
            // A write is one call: half of it is a half answer.
            WriteFault::FailsHalfway => Fault::truncate(),
        };
        self.sim.cloud().inject(fault.writes().times(1));
        Ok(())
    }
}

fn simulated(kind: Kind) -> aws_sim::Kind {
    match kind {
        Kind::Network => aws_sim::Kind::Network,
        Kind::Classic => aws_sim::Kind::Classic,
    }
}

#[tokio::test]
async fn network_load_balancers() -> Result<(), Failed> {
    passes(AT_A_TIME, Kind::Network, account).await
}

#[tokio::test]
async fn classic_load_balancers() -> Result<(), Failed> {
    passes(AT_A_TIME, Kind::Classic, account).await
}
