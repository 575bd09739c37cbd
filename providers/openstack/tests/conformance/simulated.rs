//! The simulated Keystone, Nova, Neutron and Octavia.

use crate::{
    fixture,
    operator::Operator,
    world::{Kind, OpenStackWorld},
};
use async_trait::async_trait;
use conformance::{Stop, WriteFault};
use openstack_sim::{Cloud, Fault, Mark, Net, ServerSpec, Sim, Uuid};
use std::{sync::Arc, time::Duration};

struct Simulation {
    cloud: Cloud,
    net: Net,
    began: Mark,
    _sim: Sim,
}

/// A new cloud.
pub async fn world() -> Result<OpenStackWorld, Stop> {
    let cloud = Cloud::new();
    let net = cloud.create_network("private", "10.77.0.0/16");
    let subnet_v6 = cloud.create_subnet(net.network, "fd00:77::/64");
    cloud.connect_subnet(net.router, subnet_v6);
    let sim = Sim::start(&cloud)
        .await
        .map_err(|error| Stop::failed(error.to_string()))?;
    let mut config = fixture::config(&sim.auth_url(), "demo", "");
    config.router_id = Some(net.router.to_string());
    config.load_balancer.networks.subnet_id = net.subnet.to_string();
    let operator = Arc::new(Operator::new(&config)?);
    let kind = Arc::new(Simulation {
        began: cloud.mark(),
        cloud,
        net,
        _sim: sim,
    });
    Ok(OpenStackWorld::new(operator, config, "test".to_owned(), kind))
}

#[async_trait]
impl Kind for Simulation {
    async fn boot(&self, name: &str) -> Result<String, Stop> {
        let spec = ServerSpec {
            networks: vec![self.net.clone()],
            ..ServerSpec::new(name)
        };
        Ok(self.cloud.boot_as(spec).id.to_string())
    }

    async fn delete(&self, id: &str) -> Result<(), Stop> {
        self.cloud.delete_server(uuid(id)?);
        Ok(())
    }

    async fn shut_off(&self, id: &str) -> Result<(), Stop> {
        self.cloud.stop_server(uuid(id)?);
        Ok(())
    }

    fn most_machines(&self) -> usize {
        250
    }

    fn patience(&self) -> Duration {
        Duration::from_mins(4)
    }

    async fn count_writes(&self) -> Result<u64, Stop> {
        Ok(self.cloud.writes_since(self.began).len() as u64)
    }

    async fn slow_load_balancers(&self, _: &[String], provisioning: Duration) -> Result<(), Stop> {
        self.cloud.configure(|settings| settings.balancer_delay = provisioning);
        Ok(())
    }

    async fn spoil_next_write(&self, fault: WriteFault) -> Result<(), Stop> {
        let fault = match fault {
            WriteFault::Fails => Fault::answer(501, "injected fault"),
            WriteFault::LosesAnswer => Fault::lose_answer(),
            WriteFault::FailsHalfway => return Err(Stop::unable("stop halfway: a load balancer is made in one call")),
        };
        self.cloud.inject(fault.writes().times(1));
        Ok(())
    }
}

fn uuid(id: &str) -> Result<Uuid, Stop> {
    id.parse()
        .map_err(|_| Stop::failed(format!("{id} is no ID of a server")))
}
