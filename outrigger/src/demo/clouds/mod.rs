//! The clouds that the story can be told about.

mod memory;
mod real;
mod sim;

pub use memory::Memory;
pub use real::{Real, START, install, services};
pub use sim::Sim;

use anyhow::Result;
use async_trait::async_trait;
use std::{fs, path::Path, time::Duration};

/// How often a cloud is looked at by who waits for something in it.
const GLANCE: Duration = Duration::from_millis(100);

/// A cloud as its operator holds it.
#[async_trait]
pub trait Cloud: Send + Sync {
    /// As in `--cloud-provider`.
    fn provider(&self) -> &'static str;

    /// The content of the file of `--cloud-config`.
    fn config(&self) -> String;

    /// How long a step may take; one that takes longer is broken.
    fn patience(&self) -> Duration {
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

    /// Where routes lead.
    async fn routes(&self) -> Result<Vec<String>>;

    /// What stands there for Services: load balancers and whatever else they need.
    async fn made_for_services(&self) -> Result<Vec<String>>;

    /// The commands that show it; may leave files in this folder.
    fn how_to_look_around(&self, folder: &Path) -> Result<Vec<String>>;
}

impl dyn Cloud + '_ {
    /// Waits until the machines behind the load balancers are such.
    pub async fn until_backends(&self, such: impl Fn(&[String]) -> bool) -> Result<()> {
        while !such(&self.backends().await?) {
            tokio::time::sleep(GLANCE).await;
        }
        Ok(())
    }

    /// Waits until there are this many routes, and answers where they lead.
    pub async fn until_routes(&self, count: usize) -> Result<Vec<String>> {
        loop {
            let routes = self.routes().await?;
            if routes.len() == count {
                return Ok(routes);
            }
            tokio::time::sleep(GLANCE).await;
        }
    }
}

/// Writes a clouds.yaml for the `openstack` command, and answers how to use it.
fn look_around_openstack(folder: &Path, login: &Login<'_>) -> Result<Vec<String>> {
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

/// Who may use an `OpenStack`; user and project have the same name.
struct Login<'a> {
    url: String,
    name: &'a str,
    password: &'a str,
}
