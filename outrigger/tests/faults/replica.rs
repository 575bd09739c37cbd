//! One of several managers: with its own user and its own server of the cloud, so that its requests can be distinguished from those of the others.

use crate::{
    fixture::{Entry, Fixture, Launch, Manager, Mark},
    recording_server::RecordingServer,
};
use std::ops::Deref;

/// A lease that expires soon after its holder has ended; on a busy machine the holder may lose it.
pub const SHORT: [&str; 2] = ["--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s"];

/// A single manager: it does not wait for the lease of an earlier one.
pub const ALONE: &str = "--leader-elect=false";

/// What a replica may do.
#[derive(Debug, Clone, Copy)]
pub enum Rights {
    /// What the manifest grants.
    Manifest,
    /// Everything.
    All,
}

/// A running manager.
pub struct Replica {
    /// Its user for the API server.
    pub user: String,
    /// Its server of the cloud.
    pub server: RecordingServer,
    manager: Manager,
}

impl Replica {
    /// Starts one that manages the Nodes and Services of this fixture, with these additional flags.
    pub async fn start(fixture: &Fixture, flags: &[&str]) -> Self {
        Self::launch(fixture, Rights::Manifest, fixture.manager(), flags).await
    }

    /// Starts one that manages everything.
    pub async fn start_unconfined(fixture: &Fixture, flags: &[&str]) -> Self {
        let confined = [
            "--node-selector",
            "--load-balancer-class",
            "--load-balancer-without-class",
        ];
        let launch = confined.into_iter().fold(fixture.manager(), Launch::without);
        Self::launch(fixture, Rights::Manifest, launch, flags).await
    }

    /// Starts this one, as a user of its own.
    pub async fn launch(fixture: &Fixture, rights: Rights, launch: Launch, flags: &[&str]) -> Self {
        let user = lab::unique(&fixture.name);
        let kubeconfig = match rights {
            Rights::All => fixture.plane().kubeconfig_for(&user, &["system:masters"]),
            Rights::Manifest => {
                fixture.authorise(&user).await;
                fixture.plane().kubeconfig_for(&user, &[])
            }
        };
        let server = RecordingServer::start(&fixture.cloud).await;
        let cloud = fixture
            .folder
            .write(&format!("{user}.yaml"), &format!("endpoint: {}\n", server.url()));
        let launch = launch
            .flag(&format!("--kubeconfig={}", kubeconfig.display()))
            .flag(&format!("--cloud-config={}", cloud.display()))
            .flag("--leader-elect-retry-period=1s")
            .flag("--node-monitor-period=500ms");
        let launch = flags.iter().fold(launch, |launch, flag| launch.flag(flag));
        Self {
            user,
            server,
            manager: launch.start(),
        }
    }

    /// Waits until it tries to lead.
    pub async fn stands_by(&self) {
        self.logged("attempting to acquire leader lease").await;
    }

    /// Its requests to the API server since then.
    pub fn requests(&self, fixture: &Fixture, mark: Mark) -> Vec<Entry> {
        fixture.requests_of(&self.user, mark)
    }

    /// Its writes since then, except those of its lease.
    pub fn writes(&self, fixture: &Fixture, mark: Mark) -> Vec<String> {
        let requests = self.requests(fixture, mark).into_iter();
        let writes = requests.filter(|entry| entry.is_write() && entry.resource != "leases");
        writes.map(|entry| format!("{} {}", entry.what(), entry.name)).collect()
    }

    /// Its writes since then, except those of its lease and of events.
    pub fn changes(&self, fixture: &Fixture, mark: Mark) -> Vec<String> {
        let writes = self.writes(fixture, mark).into_iter();
        writes.filter(|write| !write.contains(" events ")).collect()
    }
}

impl Deref for Replica {
    type Target = Manager;

    fn deref(&self) -> &Manager {
        &self.manager
    }
}
