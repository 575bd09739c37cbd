//! EC2 and both kinds of Elastic Load Balancing, simulated: for thousands of instances, for latency and for faults, which moto does not have.
//!
//! [`Sim::start`] serves one account with the network of a cluster. [`Sim::cloud`] boots instances, records calls, injects faults and sets the
//! latency; [`Account::settings`] has what takes time, what is throttled, and the limits. What the simulation does not know it refuses loudly.
//! The behaviour suite runs on it and on moto, so that it cannot drift.

mod account;
mod api;
mod ec2;
mod elb;
mod elb_v2;
mod throttle;
mod view;
mod wire;

pub use account::{Account, Machine, Settings, State};
pub use throttle::Limit;
pub use view::{Kind, LoadBalancer};

pub use fakecloud::{Fault, Latency, Mark};

use fakecloud::Server;
use std::io;

/// The region of everything.
pub const REGION: &str = "us-east-1";
/// The cluster's ID in tags and in [`Sim::cloud_conf`].
pub const CLUSTER: &str = "sim";

/// An account, its faults and its calls.
pub type Cloud = fakecloud::Cloud<Account>;

/// A cloud that is served on loopback until it is dropped.
#[derive(Debug)]
pub struct Sim {
    cloud: Cloud,
    server: Server,
}

impl Sim {
    /// Serves a new account.
    ///
    /// # Errors
    /// If there is no free port.
    pub async fn start() -> io::Result<Self> {
        let cloud = Cloud::new(Account::default());
        let server = Server::start(&cloud).await?;
        Ok(Self { cloud, server })
    }

    /// The account.
    pub fn cloud(&self) -> &Cloud {
        &self.cloud
    }

    /// Where every service answers.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The text of `--cloud-config`, with more lines in `[Global]`.
    pub fn cloud_conf(&self, more: &str) -> String {
        let (url, (vpc, subnet)) = (self.url(), self.cloud.read(Account::place));
        let global =
            format!("[Global]\nZone={REGION}a\nVPC={vpc}\nSubnetID={subnet}\nKubernetesClusterID={CLUSTER}\n{more}\n");
        let services = ["EC2", "Elastic Load Balancing", "Elastic Load Balancing v2"];
        let overrides = services.iter().enumerate().map(|(number, service)| {
            format!("[ServiceOverride \"{number}\"]\nService={service}\nRegion={REGION}\nURL={url}\nSigningRegion={REGION}\n")
        });
        std::iter::once(global).chain(overrides).collect()
    }

    /// The environment variables that give a program credentials, and keep it from looking for a metadata service.
    pub fn environment() -> [(&'static str, &'static str); 4] {
        [
            ("AWS_ACCESS_KEY_ID", "SIM000000000001"),
            ("AWS_SECRET_ACCESS_KEY", "simulated-secret"),
            ("AWS_REGION", REGION),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ]
    }
}
