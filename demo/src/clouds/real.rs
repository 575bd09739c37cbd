//! `OpenStack`'s real services, in a project of the demo's own.

use super::{Cloud, Login};
use anyhow::{Context, Result};
use async_trait::async_trait;
use http::Method;
use lab::openstack::{OpenStack, PASSWORD, Project, Region, Service, VARIABLE};
use serde_json::Value;
use std::{env, ffi::OsString, path::Path, time::Duration};

const BALANCERS: &str = "/v2.0/lbaas/loadbalancers";
const POOLS: &str = "/v2.0/lbaas/pools";
const ADDRESSES: &str = "/v2.0/floatingips";
const GROUPS: &str = "/v2.0/security-groups";

/// A dozen services start and create their databases.
pub const START: Duration = Duration::from_mins(10);

/// The folder of services that run already.
fn running() -> Option<OsString> {
    env::var_os(VARIABLE).filter(|folder| !folder.is_empty())
}

/// Installs the services, unless some run already.
pub fn install() -> Result<()> {
    if running().is_none() {
        lab::openstack::prepare()?;
    }
    Ok(())
}

/// The services: those that run already, in the folder that the environment names, or else new ones.
pub async fn services() -> Result<(OpenStack, String)> {
    let start = || running().map_or_else(OpenStack::start, |folder| OpenStack::attach(Path::new(&folder)));
    let services = tokio::task::spawn_blocking(start).await??;
    let done = format!(
        "Keystone, Nova, Neutron and Octavia are up at {}",
        services.keystone(Region::Plain)
    );
    Ok((services, done))
}

/// A project in the services.
pub struct Real<'a> {
    services: &'a OpenStack,
    project: Project<'a>,
}

impl<'a> Real<'a> {
    /// Creates the project.
    pub async fn new(services: &'a OpenStack) -> Result<(Self, String)> {
        let project = services.project(&lab::unique("demo")).await?;
        let done = format!("project {} has a network and a router", project.tenant().name);
        Ok((Self { services, project }, done))
    }

    async fn machine(&self, name: &str) -> Result<String> {
        let path = format!("/v2.1/servers?name=^{name}$");
        let found = self.list(Service::Nova, &path, "servers").await?;
        text(found.first(), "id").with_context(|| format!("server {name} does not exist"))
    }

    async fn list(&self, service: Service, path: &str, kind: &str) -> Result<Vec<Value>> {
        let mut answer = self.project.call(service, Method::GET, path, None).await?;
        match answer[kind].take() {
            Value::Array(list) => Ok(list),
            other => anyhow::bail!("{path} answers {other}"),
        }
    }

    /// This field of everything in a list.
    async fn each(&self, service: Service, path: &str, kind: &str, field: &str) -> Result<Vec<String>> {
        let list = self.list(service, path, kind).await?;
        Ok(list.iter().filter_map(|one| text(Some(one), field)).collect())
    }
}

#[async_trait]
impl Cloud for Real<'_> {
    fn provider(&self) -> &'static str {
        "openstack"
    }

    fn config(&self) -> String {
        format!(
            "{}\n[LoadBalancer]\nlb-provider = lab\nmanage-security-groups = true\n\n[Route]\nrouter-id = {}\n",
            self.project.cloud_conf(Region::Plain),
            self.project.tenant().router
        )
    }

    fn step_timeout(&self) -> Duration {
        Duration::from_mins(3)
    }

    async fn boot(&self, name: &str) -> Result<()> {
        self.project.boot(name).await?;
        Ok(())
    }

    async fn power_off(&self, name: &str) -> Result<()> {
        self.project.stop_server(&self.machine(name).await?).await
    }

    async fn delete(&self, name: &str) -> Result<()> {
        self.project.delete_server(&self.machine(name).await?).await
    }

    async fn backends(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for pool in self.each(Service::Octavia, POOLS, "pools", "id").await? {
            let path = format!("{POOLS}/{pool}/members");
            names.extend(self.each(Service::Octavia, &path, "members", "name").await?);
        }
        names.sort();
        Ok(names)
    }

    async fn routes(&self) -> Result<Vec<String>> {
        let path = format!("/v2.0/routers/{}", self.project.tenant().router);
        let router = self.project.call(Service::Neutron, Method::GET, &path, None).await?;
        let routes = router["router"]["routes"].as_array().cloned().unwrap_or_default();
        let mut routes: Vec<String> = routes
            .iter()
            .filter_map(|route| text(Some(route), "destination"))
            .collect();
        routes.sort();
        Ok(routes)
    }

    async fn service_objects(&self) -> Result<Vec<String>> {
        let mut objects = self.each(Service::Octavia, BALANCERS, "loadbalancers", "name").await?;
        let addresses = self.each(Service::Neutron, ADDRESSES, "floatingips", "floating_ip_address");
        objects.extend(addresses.await?);
        let groups = self.each(Service::Neutron, GROUPS, "security_groups", "name").await?;
        objects.extend(groups.into_iter().filter(|name| name != "default"));
        Ok(objects)
    }

    fn how_to_inspect(&self, folder: &Path) -> Result<Vec<String>> {
        let login = Login {
            url: self.services.keystone(Region::Plain),
            name: &self.project.tenant().name,
            password: PASSWORD,
        };
        let mut commands = super::how_to_inspect_openstack(folder, &login)?;
        commands.push(format!("ls {}/*.log", self.services.dir().display()));
        Ok(commands)
    }
}

fn text(object: Option<&Value>, field: &str) -> Option<String> {
    object?[field].as_str().map(str::to_owned)
}
