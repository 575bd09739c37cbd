//! The memory cloud as a world of the suite.

use async_trait::async_trait;
use cloud::{Gate, NodeRef, Power, Provider, ServiceRef};
use cloud_http::Metrics;
use conformance::{LoadBalancer, Stop, World, WriteFault};
use memory::Remote;
use memory_sim::{Balancer, Cloud, Failure, Fault, Machine, Memory, Operation, Readiness, Server};
use std::{sync::Arc, time::Duration};

type Connect = Box<dyn Fn(&Cloud, Gate) -> Arc<dyn Provider> + Send + Sync>;

pub struct MemoryWorld {
    cloud: Cloud,
    connect: Connect,
    _server: Option<Server>,
}

impl MemoryWorld {
    pub fn in_process() -> Self {
        Self::with(|cloud, gate| Arc::new(Memory::new(cloud).with_gate(gate)))
    }

    pub fn with(connect: impl Fn(&Cloud, Gate) -> Arc<dyn Provider> + Send + Sync + 'static) -> Self {
        Self {
            cloud: Cloud::new(),
            connect: Box::new(connect),
            _server: None,
        }
    }

    pub async fn over_http() -> Result<Self, Stop> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cloud = Cloud::new();
        let server = Server::start(&cloud)
            .await
            .map_err(|error| Stop::failed(error.to_string()))?;
        let metrics = Metrics::register(&prometheus::Registry::new()).expect("the registry is new");
        let url = server.url();
        let connect: Connect =
            Box::new(move |_, gate| Arc::new(Remote::new(&url, gate, &metrics).expect("the URL is one")));
        Ok(Self {
            cloud,
            connect,
            _server: Some(server),
        })
    }
}

#[async_trait]
impl World for MemoryWorld {
    fn provider(&self, gate: Gate) -> Arc<dyn Provider> {
        (self.connect)(&self.cloud, gate)
    }

    async fn create_machine(&self, name: &str) -> Result<NodeRef, Stop> {
        Ok(self.cloud.boot(name))
    }

    async fn delete_machine(&self, node: &NodeRef) -> Result<(), Stop> {
        let same = |machine: &Machine| machine.provider_id == node.provider_id;
        if self.cloud.machine(&node.name).as_ref().is_some_and(same) {
            self.cloud.delete_machine(&node.name);
        }
        Ok(())
    }

    async fn unmanaged_node(&self, name: &str) -> Result<NodeRef, Stop> {
        let unmanaged = |machine: &mut Machine| machine.readiness = Readiness::Unmanaged;
        let node = self.cloud.boot_as(name, unmanaged);
        Ok(NodeRef::named(node.name))
    }

    async fn power_off(&self, node: &NodeRef) -> Result<(), Stop> {
        self.cloud
            .set_power(&node.name, Power::Off)
            .ok_or_else(|| Stop::failed("the machine does not exist"))
    }

    fn foreign_ids(&self) -> Vec<String> {
        ["memory:/1", "memory://a/b", "MEMORY://1", "memory://i-00000001/"]
            .map(String::from)
            .into()
    }

    async fn count_load_balancers(&self, cluster: &str) -> Result<usize, Stop> {
        Ok(self
            .cloud
            .load_balancers()
            .iter()
            .filter(|balancer| balancer.cluster == cluster)
            .count())
    }

    async fn load_balancer(&self, cluster: &str, service: &ServiceRef) -> Result<Option<LoadBalancer>, Stop> {
        let balancers = self.cloud.load_balancers();
        let ours = |balancer: &&Balancer| balancer.cluster == cluster && balancer.service == *service;
        Ok(balancers.iter().find(ours).map(|balancer| LoadBalancer {
            ports: balancer.ports.iter().map(|port| (port.protocol, port.port)).collect(),
            hosts: balancer.host_names().into_iter().map(str::to_owned).collect(),
            source_ranges: Some(balancer.source_ranges.iter().copied().collect()),
        }))
    }

    async fn count_routes(&self, cluster: &str) -> Result<usize, Stop> {
        Ok(self.cloud.routes(cluster).len())
    }

    async fn count_writes(&self) -> Result<u64, Stop> {
        Ok(self.cloud.writes().len() as u64)
    }

    async fn slow_load_balancers(&self, provisioning: Duration) -> Result<(), Stop> {
        self.cloud.configure(|settings| settings.provisioning = provisioning);
        Ok(())
    }

    async fn spoil_next_write(&self, fault: WriteFault) -> Result<(), Stop> {
        let failure = match fault {
            WriteFault::Fails => Failure::Unavailable("it fails".into()),
            WriteFault::LosesAnswer => Failure::LostAnswer,
            WriteFault::FailsHalfway => Failure::AfterSteps(2),
        };
        let writes = [
            Operation::EnsureLoadBalancer,
            Operation::UpdateHosts,
            Operation::DeleteLoadBalancer,
            Operation::CreateRoutes,
            Operation::DeleteRoutes,
        ];
        self.cloud
            .inject(writes.into_iter().fold(Fault::fail(failure).times(1), Fault::operation));
        Ok(())
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(20)
    }
}
