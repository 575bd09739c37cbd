//! The fake as a world of the behaviour suite.

use crate::fixture::Fixture;
use async_trait::async_trait;
use cloud::{Gate, Host, NodeRef, Protocol, Provider, ServiceRef, default_name};
use conformance::{LoadBalancer, Marks, Stop, World, WriteFault, cases, run_concurrently};
use fakecloud::{Fault, Value};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// A cloud with one kind of load balancer.
struct DigitalOceanWorld {
    fixture: Fixture,
    kind: &'static str,
}

#[async_trait]
impl World for DigitalOceanWorld {
    fn provider(&self, gate: Gate) -> Arc<dyn Provider> {
        Arc::new(self.fixture.provider_with(&[("DEFAULT_LB_TYPE", self.kind)], &gate))
    }

    async fn create_machine(&self, name: &str) -> Result<NodeRef, Stop> {
        let id = self.fixture.cloud.write(|fake, _| fake.boot(name, &["k8s:c1"]));
        Ok(NodeRef::named(name).with_provider_id(format!("digitalocean://{id}")))
    }

    async fn delete_machine(&self, node: &NodeRef) -> Result<(), Stop> {
        self.fixture.cloud.write(|fake, _| fake.destroy(id(node)));
        Ok(())
    }

    async fn power_off(&self, node: &NodeRef) -> Result<(), Stop> {
        self.fixture.cloud.write(|fake, _| match fake.droplet_mut(id(node)) {
            Some(droplet) => {
                droplet["status"] = "off".into();
                Ok(())
            }
            None => Err(Stop::failed("there is no such droplet")),
        })
    }

    fn foreign_ids(&self) -> Vec<String> {
        [
            "digitalocean:///1",
            "digitalocean://abc",
            "DIGITALOCEAN://1",
            "digitalocean://-1",
            "digitalocean://1/",
        ]
        .map(String::from)
        .into()
    }

    async fn hosts(&self, count: usize) -> Result<Vec<Host>, Stop> {
        Ok(self.fixture.hosts(count))
    }

    fn marks(&self) -> Marks {
        Marks::ConfiguredCluster
    }

    fn fewest_hosts(&self) -> usize {
        1
    }

    fn protocols(&self) -> Vec<Protocol> {
        vec![Protocol::Tcp, Protocol::Udp]
    }

    async fn count_load_balancers(&self, _: &str) -> Result<usize, Stop> {
        Ok(self.fixture.cloud.read(|fake| fake.all_load_balancers().len()))
    }

    async fn load_balancer(&self, _: &str, service: &ServiceRef) -> Result<Option<LoadBalancer>, Stop> {
        self.fixture.cloud.read(|fake| {
            let all = fake.all_load_balancers();
            let balancer = all
                .iter()
                .find(|balancer| balancer["name"] == default_name(&service.uid));
            let name = |id: &Value| fake.droplet_name(id.as_u64().unwrap_or_default()).map(str::to_owned);
            Ok(balancer.map(|balancer| LoadBalancer {
                ports: array(&balancer["forwarding_rules"]).iter().map(port).collect(),
                hosts: array(&balancer["droplet_ids"]).iter().filter_map(name).collect(),
                source_ranges: Some(ranges(balancer)),
            }))
        })
    }

    async fn count_writes(&self) -> Result<u64, Stop> {
        Ok(self.fixture.cloud.calls().iter().filter(|call| call.is_write()).count() as u64)
    }

    async fn slow_load_balancers(&self, provisioning: Duration) -> Result<(), Stop> {
        self.fixture.cloud.write(|fake, _| fake.provisioning = provisioning);
        Ok(())
    }

    async fn spoil_next_write(&self, fault: WriteFault) -> Result<(), Stop> {
        let fault = match fault {
            WriteFault::Fails => Fault::status(500),
            WriteFault::LosesAnswer => Fault::lose_answer(),
            // A write is one call: half of it is a half answer.
            WriteFault::FailsHalfway => Fault::truncate(),
        };
        self.fixture.cloud.inject(fault.writes().times(1));
        Ok(())
    }
}

fn id(node: &NodeRef) -> u64 {
    let id = node
        .provider_id
        .as_ref()
        .and_then(|id| id.as_str().strip_prefix("digitalocean://"));
    id.and_then(|id| id.parse().ok()).unwrap_or_default()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn port(rule: &Value) -> (Protocol, u16) {
    let protocol = if rule["entry_protocol"] == "udp" {
        Protocol::Udp
    } else {
        Protocol::Tcp
    };
    (
        protocol,
        rule["entry_port"]
            .as_u64()
            .and_then(|port| u16::try_from(port).ok())
            .unwrap_or_default(),
    )
}

fn ranges(balancer: &Value) -> BTreeSet<ipnet::IpNet> {
    let rules = array(&balancer["firewall"]["allow"]);
    if rules.is_empty() {
        return ["0.0.0.0/0".parse().expect("a range")].into();
    }
    let range = |rule: &Value| rule.as_str()?.strip_prefix("cidr:")?.parse().ok();
    rules.iter().filter_map(range).collect()
}

/// What DigitalOcean cannot do. Everything else runs.
fn is_beyond(case: &str) -> bool {
    ["routes", "SCTP", "two clusters", "does not manage"]
        .iter()
        .any(|words| case.contains(words))
}

async fn passes(kind: &'static str) -> Result<(), conformance::Failed> {
    let report = run_concurrently(24, &cases(), async || {
        Ok(DigitalOceanWorld {
            fixture: Fixture::start().await,
            kind,
        })
    })
    .await;
    let unable: Vec<_> = report.unable().iter().map(|case| case.name).collect();
    let beyond: Vec<_> = cases()
        .iter()
        .map(|case| case.name)
        .filter(|case| is_beyond(case))
        .collect();
    assert_eq!(unable, beyond);
    report.check()
}

#[tokio::test]
async fn regional_load_balancers() -> Result<(), conformance::Failed> {
    passes("REGIONAL").await
}

#[tokio::test]
async fn network_load_balancers() -> Result<(), conformance::Failed> {
    passes("REGIONAL_NETWORK").await
}
