//! The clouds of the demo.

mod aws;
mod memory;
mod real;
mod simulated;

pub use aws::Aws;
pub use memory::Memory;
pub use real::{Real, START, install, services};
pub use simulated::Simulated;

use anyhow::Result;
use async_trait::async_trait;
use std::{fs, path::Path, time::Duration};

/// How often a condition is checked.
const INTERVAL: Duration = Duration::from_millis(100);

/// A cloud, as its owner controls it.
#[async_trait]
pub trait Cloud: Send + Sync {
    /// As in `--cloud-provider`.
    fn provider(&self) -> &'static str;

    /// The content of the file of `--cloud-config`.
    fn config(&self) -> String;

    /// The environment variables of the manager.
    fn variables(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// How long a step may take.
    fn step_timeout(&self) -> Duration {
        Duration::from_mins(1)
    }

    /// Starts a machine.
    async fn boot(&self, name: &str) -> Result<()>;

    /// Switches a machine off.
    async fn power_off(&self, name: &str) -> Result<()>;

    /// Deletes a machine.
    async fn delete(&self, name: &str) -> Result<()>;

    /// The machines behind the load balancers, by name and in order.
    async fn backends(&self) -> Result<Vec<String>>;

    /// The destinations of the routes.
    async fn routes(&self) -> Result<Vec<String>>;

    /// The objects of Services: load balancers, and what they need.
    async fn service_objects(&self) -> Result<Vec<String>>;

    /// Commands that show its objects; may write files into this folder.
    fn how_to_inspect(&self, folder: &Path) -> Result<Vec<String>>;
}

impl dyn Cloud + '_ {
    /// Waits until the machines behind the load balancers satisfy a condition.
    pub async fn until_backends(&self, condition: impl Fn(&[String]) -> bool) -> Result<()> {
        while !condition(&self.backends().await?) {
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(())
    }

    /// Waits until there are this many routes, and returns their destinations.
    pub async fn until_routes(&self, count: usize) -> Result<Vec<String>> {
        loop {
            let routes = self.routes().await?;
            if routes.len() == count {
                return Ok(routes);
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}

/// Writes a clouds.yaml for the command `openstack`, and returns commands that use it.
fn how_to_inspect_openstack(folder: &Path, login: &Login<'_>) -> Result<Vec<String>> {
    let file = folder.join("clouds.yaml");
    let Login { url, name, password } = login;
    let content = format!(
        "clouds:\n  outrigger:\n    region_name: RegionOne\n    auth:\n      auth_url: {url}\n      username: {name}\n      \
         password: {password}\n      project_name: {name}\n      user_domain_id: default\n      project_domain_id: default\n"
    );
    fs::write(&file, content)?;
    Ok(vec![
        format!("export OS_CLIENT_CONFIG_FILE={} OS_CLOUD=outrigger", file.display()),
        "openstack server list --no-name-lookup; openstack loadbalancer list; openstack router list --long".to_owned(),
    ])
}

/// Credentials for `OpenStack`; user and project have the same name.
struct Login<'a> {
    url: String,
    name: &'a str,
    password: &'a str,
}
