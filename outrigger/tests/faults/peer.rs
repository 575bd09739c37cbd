//! The Go framework's manager and ours share a Lease, a cluster and a cloud: either can replace the other, and
//! both produce the same results.

mod scenario;
mod snapshot;

use crate::{
    fixture::{Fixture, Launch, Mark},
    replica::{Replica, Rights},
};
use memory_sim::{Call, Cloud, Operation};
use snapshot::Snapshot;
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// The Go program writes the same status again when it starts, because it does not expect the `ipMode` that the API server
/// sets.
const NEEDLESS: &str = "patch services/status";

/// Long enough to distinguish a released lease from an expired one.
const LEASE: [&str; 2] = ["--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s"];

async fn start_go(fixture: &Fixture) -> Replica {
    let program = tokio::task::spawn_blocking(lab::peer::program).await.unwrap().unwrap();
    let launch = Launch::new(fixture.folder.path())
        .program(&program)
        .flag("--cloud-provider=memory")
        .flag("--secure-port=0")
        .flag("--configure-cloud-routes=false")
        .flag("--concurrent-service-syncs=5")
        .flag(&format!("--leader-elect-resource-name={}", fixture.name))
        .flag(&format!("--cluster-name={}", fixture.name));
    Replica::launch(fixture, Rights::All, launch, &LEASE).await
}

async fn start_ours(fixture: &Fixture) -> Replica {
    // The Go program deletes a Node of any age.
    let flags = ["--configure-cloud-routes=false", "--node-deletion-grace-period=0s"];
    Replica::start_unconfined(fixture, &[&flags[..], &LEASE].concat()).await
}

/// Runs all scenarios, and returns the snapshot at the end.
async fn played(fixture: &Fixture) -> Snapshot {
    let before = snapshot::told_about(fixture).await;
    scenario::play(fixture).await;
    snapshot::of(fixture, &before).await
}

/// A replica that takes over.
struct Successor<'a> {
    fixture: &'a Fixture,
    replica: &'a Replica,
    mark: Mark,
    since: Instant,
    from: String,
}

impl<'a> Successor<'a> {
    /// From now on its writes are counted.
    async fn watched(fixture: &'a Fixture, replica: &'a Replica) -> Self {
        fixture.cloud.forget_calls();
        Self {
            fixture,
            replica,
            mark: fixture.mark(),
            since: Instant::now(),
            from: fixture.holder().await,
        }
    }

    /// Waits until it leads and has read everything; returns how long it waited for the lease.
    async fn takes_over(&self) -> Duration {
        self.fixture.holder_after(&self.from).await;
        let waited = self.since.elapsed();
        let balancers = self.fixture.cloud.load_balancers().len();
        let looked = |cloud: &Cloud| cloud.calls_of(Operation::EnsureLoadBalancer).len() >= balancers;
        self.fixture.cloud_until(looked).await;
        // Once this one is complete, all earlier work is complete, too.
        scenario::marker(self.fixture).await;
        waited
    }

    /// Everything was up to date: it changed nothing in the cluster, and nothing in the cloud.
    async fn changed_nothing(&self, expected: &Snapshot, tolerated: Option<&str>) {
        let is_needless = |change: &str| tolerated.is_some_and(|tolerated| change.starts_with(tolerated));
        self.fixture.audited().await;
        let mut changes = self.replica.changes(self.fixture, self.mark);
        changes.retain(|change| !change.ends_with("-marker") && !is_needless(change));
        assert_eq!(
            changes,
            [""; 0],
            "taking over changed the cluster{}",
            self.replica.log_tail()
        );
        let is_marker = |call: &Call| {
            call.service
                .as_ref()
                .is_some_and(|service| service.name.ends_with("-marker"))
        };
        let mut writes = self.fixture.cloud.writes();
        writes.retain(|call| !is_marker(call));
        assert_eq!(writes, [], "taking over changed the cloud{}", self.replica.log_tail());
        let now = snapshot::of(self.fixture, &BTreeSet::new()).await.without_events();
        assert_eq!(now.differences(&expected.clone().without_events()), [""; 0]);
    }
}

#[tokio::test]
async fn the_go_program_and_ours_do_the_same_and_replace_each_other() {
    let fixture = Fixture::private().await;
    let go = start_go(&fixture).await;
    go.leading().await;
    let ours = start_ours(&fixture).await;
    ours.stands_by().await;
    let by_go = played(&fixture).await;
    assert_eq!(ours.writes(&fixture, Mark::default()), [""; 0], "it wrote while Go led");

    let successor = Successor::watched(&fixture, &ours).await;
    go.signal("KILL");
    let waited = successor.takes_over().await;
    assert!(
        waited > Duration::from_secs(6),
        "the lease had not run out after {waited:?}"
    );
    successor.changed_nothing(&by_go, None).await;

    scenario::clear(&fixture).await;
    let by_ours = played(&fixture).await;
    assert_eq!(by_ours.differences(&by_go), [""; 0], "ours, then Go's");

    let go = start_go(&fixture).await;
    go.logged("Attempting to acquire leader lease").await;
    let successor = Successor::watched(&fixture, &go).await;
    ours.signal("TERM");
    assert_eq!(ours.exited().await.code, 0, "{}", ours.log_tail());
    let waited = successor.takes_over().await;
    // It reads the lease every 1 to 2.2 s.
    assert!(waited < Duration::from_secs(6), "Go had to wait for {waited:?}");
    successor.changed_nothing(&by_ours, Some(NEEDLESS)).await;
}
