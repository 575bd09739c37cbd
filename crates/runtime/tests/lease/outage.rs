//! The API server becomes unavailable.

use crate::replica::{Replica, ms, params, spec, until, within};
use lab::{ControlPlane, unique};
use runtime::fence::Fence;
use std::time::{Duration, Instant};

/// When the fence closes, seen from outside.
async fn closed(fence: Fence) -> Instant {
    while fence.check() == Ok(()) {
        tokio::time::sleep(ms(5)).await;
    }
    Instant::now()
}

#[derive(Clone, Copy)]
enum Outage {
    Stopped,
    Stalled,
}

impl Outage {
    fn begin(self, plane: &ControlPlane) {
        match self {
            Self::Stopped => plane.stop_apiserver(),
            Self::Stalled => plane.pause_etcd().unwrap(),
        }
    }

    fn end(self, plane: &ControlPlane) {
        match self {
            Self::Stopped => plane.start_apiserver().unwrap(),
            Self::Stalled => plane.resume_etcd().unwrap(),
        }
    }
}

/// One test, because a control plane of its own is expensive.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_without_an_api_server_stops_before_its_lease_is_over() {
    let plane = ControlPlane::start().unwrap();
    for outage in [Outage::Stopped, Outage::Stalled] {
        let name = unique("outage");
        let leader = Replica::new(&plane, &name, "one").lead().await;
        let standby = Replica::new(&plane, &name, "two");
        let status = standby.status.clone();
        let standby = standby.stand_by();
        until("the standby to know the leader", async || status.leader() == "one").await;

        outage.begin(&plane);
        // Not after this can it have renewed.
        let gone = Instant::now();
        let fence = tokio::spawn(closed(leader.fence.clone()));
        within(ms(60_000), "the loss", leader.leadership.lost()).await;
        let lost = gone.elapsed();
        let closed = fence.await.unwrap() - gone;
        let deadline = params("", "").renew_deadline;
        assert!(lost < deadline + ms(1_000), "lost after {lost:?}");
        assert!(closed < deadline + ms(1_000), "closed after {closed:?}");
        until("the standby to say why it waits", async || status.problem().is_some()).await;
        assert!(!standby.is_finished());

        outage.end(&plane);
        let next = standby.await.unwrap();
        assert_eq!(spec(&plane, &name).await["holderIdentity"], "two");
        assert_eq!(next.status.problem(), None);
        next.leadership.release().await.unwrap();
    }
}

/// Half a renew deadline, as when an API server is upgraded.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_survives_a_short_stall() {
    let plane = ControlPlane::start().unwrap();
    let name = unique("stall");
    let leader = Replica::with(
        plane.config(),
        runtime::lease::Params {
            lease_duration: ms(8_000),
            renew_deadline: ms(6_000),
            ..params(&name, "one")
        },
    )
    .lead()
    .await;
    plane.pause_etcd().unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    plane.resume_etcd().unwrap();
    let renewed = spec(&plane, &name).await["renewTime"].clone();
    until("a renewal", async || spec(&plane, &name).await["renewTime"] != renewed).await;
    assert_eq!(leader.fence.check(), Ok(()));
    leader.leadership.release().await.unwrap();
}
