//! The Go framework's manager and ours share a Lease, a cluster and a cloud: either can stand in for the other, and
//! both make the same of the same.

mod scenes;
mod snapshot;

use crate::{
    replica::{Replica, Rights},
    rig::{Launch, Mark, Rig},
};
use memory::{Call, Cloud, Operation};
use snapshot::Snapshot;
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// Go writes the same status once more when it starts, because it does not expect the `ipMode` that the API server puts
/// in.
const NEEDLESS: &str = "patch services/status";

/// Long enough to tell a lease that was given away from one that ran out.
const LEASE: [&str; 2] = ["--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s"];

async fn start_go(rig: &Rig) -> Replica {
    let program = tokio::task::spawn_blocking(lab::peer::program).await.unwrap().unwrap();
    let launch = Launch::new(rig.folder.path())
        .program(&program)
        .flag("--cloud-provider=memory")
        .flag("--secure-port=0")
        .flag("--configure-cloud-routes=false")
        .flag("--concurrent-service-syncs=5")
        .flag(&format!("--leader-elect-resource-name={}", rig.name))
        .flag(&format!("--cluster-name={}", rig.name));
    Replica::launch(rig, Rights::All, launch, &LEASE).await
}

async fn start_ours(rig: &Rig) -> Replica {
    // Go deletes a Node however young it is.
    let flags = ["--configure-cloud-routes=false", "--node-deletion-grace-period=0s"];
    Replica::start_unconfined(rig, &[&flags[..], &LEASE].concat()).await
}

/// Plays all scenes, and answers what became of it.
async fn played(rig: &Rig) -> Snapshot {
    let before = snapshot::told_about(rig).await;
    scenes::play(rig).await;
    snapshot::of(rig, &before).await
}

/// A replica that takes over.
struct Successor<'a> {
    rig: &'a Rig,
    replica: &'a Replica,
    mark: Mark,
    since: Instant,
    from: String,
}

impl<'a> Successor<'a> {
    /// From now on what it does is counted.
    async fn watched(rig: &'a Rig, replica: &'a Replica) -> Self {
        rig.cloud.forget_calls();
        Self {
            rig,
            replica,
            mark: rig.mark(),
            since: Instant::now(),
            from: rig.holder().await,
        }
    }

    /// Waits until it leads and has looked at everything; answers how long it had to wait for the lease.
    async fn takes_over(&self) -> Duration {
        self.rig.holder_after(&self.from).await;
        let waited = self.since.elapsed();
        let balancers = self.rig.cloud.load_balancers().len();
        let looked = |cloud: &Cloud| cloud.calls_of(Operation::EnsureLoadBalancer).len() >= balancers;
        self.rig.cloud_until(looked).await;
        // Once this one is done, everything before it is done, too.
        scenes::marker(self.rig).await;
        waited
    }

    /// Everything was as it should be: it changed nothing in the cluster, and nothing in the cloud.
    async fn changed_nothing(&self, expected: &Snapshot, tolerated: Option<&str>) {
        let is_needless = |change: &str| tolerated.is_some_and(|tolerated| change.starts_with(tolerated));
        self.rig.audited().await;
        let mut changes = self.replica.changes(self.rig, self.mark);
        changes.retain(|change| !change.ends_with("-marker") && !is_needless(change));
        assert_eq!(
            changes,
            [""; 0],
            "taking over changed the cluster{}",
            self.replica.told()
        );
        let is_marker = |call: &Call| {
            call.service
                .as_ref()
                .is_some_and(|service| service.name.ends_with("-marker"))
        };
        let mut writes = self.rig.cloud.writes();
        writes.retain(|call| !is_marker(call));
        assert_eq!(writes, [], "taking over changed the cloud{}", self.replica.told());
        let now = snapshot::of(self.rig, &BTreeSet::new()).await.without_events();
        assert_eq!(now.differences(&expected.clone().without_events()), [""; 0]);
    }
}

#[tokio::test]
async fn go_and_ours_make_the_same_of_the_same_and_take_turns() {
    let rig = Rig::private().await;
    let go = start_go(&rig).await;
    go.leading().await;
    let ours = start_ours(&rig).await;
    ours.stands_by().await;
    let by_go = played(&rig).await;
    assert_eq!(ours.writes(&rig, Mark::default()), [""; 0], "it wrote while Go led");

    let successor = Successor::watched(&rig, &ours).await;
    go.signal("KILL");
    let waited = successor.takes_over().await;
    assert!(
        waited > Duration::from_secs(6),
        "the lease had not run out after {waited:?}"
    );
    successor.changed_nothing(&by_go, None).await;

    scenes::clear(&rig).await;
    let by_ours = played(&rig).await;
    assert_eq!(by_ours.differences(&by_go), [""; 0], "ours, then Go's");

    let go = start_go(&rig).await;
    go.logged("Attempting to acquire leader lease").await;
    let successor = Successor::watched(&rig, &go).await;
    ours.signal("TERM");
    assert_eq!(ours.exited().await.code, 0, "{}", ours.told());
    let waited = successor.takes_over().await;
    // It looks every 1 to 2.2 s.
    assert!(waited < Duration::from_secs(6), "Go had to wait for {waited:?}");
    successor.changed_nothing(&by_ours, Some(NEEDLESS)).await;
}
