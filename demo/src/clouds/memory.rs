//! The memory cloud, which this process serves.

use super::Cloud;
use anyhow::{Context, Result};
use async_trait::async_trait;
use cloud::Power;
use std::path::Path;

const CLUSTER: &str = "kubernetes";

/// The memory cloud, served to the replicas.
pub struct Memory {
    cloud: memory_sim::Cloud,
    server: memory_sim::Server,
}

impl Memory {
    pub async fn start() -> Result<Self> {
        let cloud = memory_sim::Cloud::new();
        let server = memory_sim::Server::start(&cloud)
            .await
            .context("cannot serve the memory cloud")?;
        Ok(Self { cloud, server })
    }
}

#[async_trait]
impl Cloud for Memory {
    fn provider(&self) -> &'static str {
        "memory"
    }

    fn config(&self) -> String {
        format!("endpoint: {}\n", self.server.url())
    }

    async fn boot(&self, name: &str) -> Result<()> {
        self.cloud.boot(name);
        Ok(())
    }

    async fn power_off(&self, name: &str) -> Result<()> {
        self.cloud.set_power(name, Power::Off).context("no such machine")
    }

    async fn delete(&self, name: &str) -> Result<()> {
        self.cloud.delete_machine(name).context("no such machine")?;
        Ok(())
    }

    async fn backends(&self) -> Result<Vec<String>> {
        let balancers = self.cloud.load_balancers();
        let hosts = balancers.iter().flat_map(memory_sim::Balancer::host_names);
        let mut hosts: Vec<String> = hosts.map(str::to_owned).collect();
        hosts.sort();
        Ok(hosts)
    }

    async fn routes(&self) -> Result<Vec<String>> {
        let routes = self.cloud.routes(CLUSTER);
        Ok(routes.iter().map(|route| route.destination.to_string()).collect())
    }

    async fn service_objects(&self) -> Result<Vec<String>> {
        let balancers = self.cloud.load_balancers();
        Ok(balancers.iter().map(|balancer| format!("{balancer:?}")).collect())
    }

    fn how_to_inspect(&self, _folder: &Path) -> Result<Vec<String>> {
        Ok(vec![format!("curl -s {}/state", self.server.url())])
    }
}
