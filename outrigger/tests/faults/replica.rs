//! One of several managers: with a user and a door to the cloud of its own, so that what it did can be told from what
//! the others did.

use crate::{
    door::Door,
    rig::{Entry, Launch, Manager, Mark, Rig},
};
use std::ops::Deref;

/// A lease that runs out soon after its holder is gone; a busy machine may cost it.
pub const SHORT: [&str; 2] = ["--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s"];

/// A manager without rivals, that need not wait for a lease which another one left behind.
pub const ALONE: &str = "--leader-elect=false";

/// What a replica may do.
#[derive(Debug, Clone, Copy)]
pub enum Rights {
    /// What the manifest grants: all that ours ever needs.
    Manifest,
    /// Everything.
    All,
}

/// A running manager.
pub struct Replica {
    /// As whom it talks to the API server.
    pub user: String,
    /// By which it talks to the cloud.
    pub door: Door,
    manager: Manager,
}

impl Replica {
    /// Starts one that looks after the Nodes and Services of this rig, with these flags besides.
    pub async fn start(rig: &Rig, flags: &[&str]) -> Self {
        Self::launch(rig, Rights::Manifest, rig.manager(), flags).await
    }

    /// Starts one that looks after everything.
    pub async fn start_unconfined(rig: &Rig, flags: &[&str]) -> Self {
        let confined = [
            "--node-selector",
            "--load-balancer-class",
            "--load-balancer-without-class",
        ];
        let launch = confined.into_iter().fold(rig.manager(), Launch::without);
        Self::launch(rig, Rights::Manifest, launch, flags).await
    }

    /// Starts this one, as a user of its own.
    pub async fn launch(rig: &Rig, rights: Rights, launch: Launch, flags: &[&str]) -> Self {
        let user = lab::unique(&rig.name);
        let kubeconfig = match rights {
            Rights::All => rig.plane().kubeconfig_for(&user, &["system:masters"]),
            Rights::Manifest => {
                rig.authorise(&user).await;
                rig.plane().kubeconfig_for(&user, &[])
            }
        };
        let door = Door::open(&rig.cloud).await;
        let cloud = rig
            .folder
            .write(&format!("{user}.yaml"), &format!("endpoint: {}\n", door.url()));
        let launch = launch
            .flag(&format!("--kubeconfig={}", kubeconfig.display()))
            .flag(&format!("--cloud-config={}", cloud.display()))
            .flag("--leader-elect-retry-period=1s")
            .flag("--node-monitor-period=500ms");
        let launch = flags.iter().fold(launch, |launch, flag| launch.flag(flag));
        Self {
            user,
            door,
            manager: launch.start(),
        }
    }

    /// Waits until it wants to lead.
    pub async fn stands_by(&self) {
        self.logged("attempting to acquire leader lease").await;
    }

    /// What it asked of the API server since then.
    pub fn requests(&self, rig: &Rig, mark: Mark) -> Vec<Entry> {
        rig.requests_of(&self.user, mark)
    }

    /// What it wrote since then, apart from its lease.
    pub fn writes(&self, rig: &Rig, mark: Mark) -> Vec<String> {
        let requests = self.requests(rig, mark).into_iter();
        let writes = requests.filter(|entry| entry.is_write() && entry.resource != "leases");
        writes.map(|entry| format!("{} {}", entry.what(), entry.name)).collect()
    }

    /// What it wrote since then, apart from its lease and from events.
    pub fn changes(&self, rig: &Rig, mark: Mark) -> Vec<String> {
        let writes = self.writes(rig, mark).into_iter();
        writes.filter(|write| !write.contains(" events ")).collect()
    }
}

impl Deref for Replica {
    type Target = Manager;

    fn deref(&self) -> &Manager {
        &self.manager
    }
}
