//! The cloud in the process passes the behaviour suite.

use async_trait::async_trait;
use cloud::{Gate, NodeRef, Power, Provider, ServiceRef};
use conformance::{LoadBalancer, Stop, World, run_all};
use memory::{Balancer, Embedded, Readiness, State};
use std::{sync::Arc, time::Duration};

struct Fixture(Embedded);

impl Fixture {
    fn create(&self, name: &str, readiness: Readiness) -> NodeRef {
        let mut state = self.0.state();
        let mut machine = state.machines.typical(name);
        machine.readiness = readiness;
        state.create_machine(machine)
    }
}

#[async_trait]
impl World for Fixture {
    fn provider(&self, gate: Gate) -> Arc<dyn Provider> {
        Arc::new(self.0.clone().with_gate(gate))
    }

    async fn create_machine(&self, name: &str) -> Result<NodeRef, Stop> {
        Ok(self.create(name, Readiness::Known))
    }

    async fn delete_machine(&self, node: &NodeRef) -> Result<(), Stop> {
        let mut state = self.0.state();
        let machine = state.machines.find(&node.name);
        if machine.is_some_and(|machine| machine.provider_id == node.provider_id) {
            state.machines.delete(&node.name);
        }
        Ok(())
    }

    async fn unmanaged_node(&self, name: &str) -> Result<NodeRef, Stop> {
        Ok(NodeRef::named(self.create(name, Readiness::Unmanaged).name))
    }

    async fn power_off(&self, node: &NodeRef) -> Result<(), Stop> {
        let mut state = self.0.state();
        let machine = state.machines.find_mut(&node.name);
        machine.ok_or_else(|| Stop::failed("the machine does not exist"))?.power = Power::Off;
        Ok(())
    }

    async fn count_load_balancers(&self, cluster: &str) -> Result<usize, Stop> {
        let state = self.0.state();
        let ours = state.balancers.all().filter(|balancer| balancer.cluster == cluster);
        Ok(ours.count())
    }

    async fn load_balancer(&self, cluster: &str, service: &ServiceRef) -> Result<Option<LoadBalancer>, Stop> {
        let ours = |balancer: &&Balancer| balancer.cluster == cluster && balancer.service == *service;
        Ok(self.0.state().balancers.all().find(ours).map(|balancer| LoadBalancer {
            ports: balancer.ports.iter().map(|port| (port.protocol, port.port)).collect(),
            hosts: balancer.host_names().into_iter().map(str::to_owned).collect(),
            source_ranges: Some(balancer.source_ranges.iter().copied().collect()),
        }))
    }

    async fn count_routes(&self, cluster: &str) -> Result<usize, Stop> {
        Ok(self.0.state().routes.list(cluster).len())
    }

    async fn slow_load_balancers(&self, provisioning: Duration) -> Result<(), Stop> {
        self.0.state().settings.provisioning = provisioning;
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn embedded() -> Result<(), conformance::Failed> {
    let fixture = async || {
        let provider = Embedded::new(State::default(), Duration::from_millis(20), Arc::new(|| Ok(())));
        Ok(Fixture(provider))
    };
    run_all(fixture).await.check()
}
