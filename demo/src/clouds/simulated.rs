//! `OpenStack`'s services, simulated in this process.

use super::{Cloud, Login};
use anyhow::{Context, Result};
use async_trait::async_trait;
use openstack_sim::{Net, ServerView, Settings};
use std::{path::Path, time::Duration};

const USER: &str = "demo";
const PASSWORD: &str = "labpass";
/// Load balancers of real services are pending for a while, too.
const BALANCER_DELAY: Duration = Duration::from_millis(500);

/// The simulation, served to the replicas.
pub struct Simulated {
    cloud: openstack_sim::Cloud,
    server: openstack_sim::Sim,
    net: Net,
}

impl Simulated {
    /// Starts the simulation.
    pub async fn start() -> Result<(Self, String)> {
        let cloud = openstack_sim::Cloud::with(Settings {
            balancer_delay: BALANCER_DELAY,
            ..Settings::default()
        });
        let net = cloud.create_network("private", "10.0.0.0/16");
        let server = openstack_sim::Sim::start(&cloud)
            .await
            .context("cannot serve OpenStack")?;
        let done = format!(
            "Keystone, Nova, Neutron and Octavia, simulated, are up at {}",
            server.url()
        );
        Ok((Self { cloud, server, net }, done))
    }

    fn machine(&self, name: &str) -> Result<ServerView> {
        self.cloud
            .servers_named(name)
            .pop()
            .with_context(|| format!("server {name} does not exist"))
    }
}

#[async_trait]
impl Cloud for Simulated {
    fn provider(&self) -> &'static str {
        "openstack"
    }

    fn config(&self) -> String {
        format!(
            "[Global]\nauth-url = {}\nusername = {USER}\npassword = {PASSWORD}\ntenant-name = {USER}\ndomain-id = default\n\
             region = RegionOne\n\n[LoadBalancer]\nmanage-security-groups = true\n\n[Route]\nrouter-id = {}\n",
            self.server.auth_url(),
            self.net.router
        )
    }

    async fn boot(&self, name: &str) -> Result<()> {
        self.cloud.boot(name);
        Ok(())
    }

    async fn power_off(&self, name: &str) -> Result<()> {
        self.cloud.stop_server(self.machine(name)?.id);
        Ok(())
    }

    async fn delete(&self, name: &str) -> Result<()> {
        self.cloud.delete_server(self.machine(name)?.id);
        Ok(())
    }

    async fn backends(&self) -> Result<Vec<String>> {
        let balancers = self.cloud.load_balancers();
        let listeners = balancers.iter().flat_map(|balancer| &balancer.listeners);
        let members = listeners.flat_map(|listener| listener.pool.iter().flat_map(|pool| &pool.members));
        let mut names: Vec<String> = members.map(|member| member.name.clone()).collect();
        names.sort();
        Ok(names)
    }

    async fn routes(&self) -> Result<Vec<String>> {
        let routes = self.cloud.routes(self.net.router);
        let mut routes: Vec<String> = routes.iter().map(|route| route.destination.to_string()).collect();
        routes.sort();
        Ok(routes)
    }

    async fn service_objects(&self) -> Result<Vec<String>> {
        let balancers = self.cloud.load_balancers().into_iter().map(|balancer| balancer.name);
        let addresses = self.cloud.floating_ips().into_iter().map(|ip| ip.address.to_string());
        let groups = self.cloud.security_groups().into_iter().map(|group| group.name);
        let ours = groups.filter(|name| name != "default");
        Ok(balancers.chain(addresses).chain(ours).collect())
    }

    fn how_to_inspect(&self, folder: &Path) -> Result<Vec<String>> {
        let login = Login {
            url: self.server.auth_url(),
            name: USER,
            password: PASSWORD,
        };
        super::how_to_inspect_openstack(folder, &login)
    }
}
