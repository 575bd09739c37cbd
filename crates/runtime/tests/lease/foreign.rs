//! Others who touch the Lease.

use crate::replica::{Replica, lease, leases, meddle, ms, spec, until, within};
use lab::{ControlPlane, unique};
use runtime::fence::Fenced;
use serde_json::json;
use std::time::Instant;

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_other_clients_on_the_lease_are_kept() {
    let (plane, name) = (ControlPlane::shared(), unique("labels"));
    let leader = Replica::new(plane, &name, "one").lead().await;
    let others = json!({ "labels": { "mine": "1" }, "annotations": { "yours": "2" } });
    meddle(plane, &name, &json!({ "metadata": others })).await;
    let renewed = spec(plane, &name).await["renewTime"].clone();
    until("a renewal after that", async || {
        spec(plane, &name).await["renewTime"] != renewed
    })
    .await;
    let after = lease(plane, &name).await;
    assert_eq!(
        (&after["metadata"]["labels"], &after["metadata"]["annotations"]),
        (&others["labels"], &others["annotations"])
    );
    assert!(
        leader.metric("leader_election_slowpath_total") >= 1,
        "the first renewal after that had to look first"
    );
    leader.leadership.release().await.unwrap();
    assert_eq!(lease(plane, &name).await["metadata"]["labels"], others["labels"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_survives_a_client_that_writes_continuously() {
    let (plane, name) = (ControlPlane::shared(), unique("storm"));
    let leader = Replica::new(plane, &name, "one").lead().await;
    let lost = leader.leadership.lost();
    let storm = async {
        let start = Instant::now();
        let mut gust = 0;
        // Twice as long as it could go without a renewal.
        while start.elapsed() < ms(5_000) {
            gust += 1;
            meddle(
                plane,
                &name,
                &json!({ "metadata": { "annotations": { "gust": gust.to_string() } } }),
            )
            .await;
        }
    };
    tokio::select! {
        lost = lost => panic!("{lost}"),
        () = storm => {}
    }
    assert_eq!(leader.fence.check(), Ok(()));
    assert!(leader.metric("leader_election_slowpath_total") >= 1);
    leader.leadership.release().await.unwrap();
    assert_eq!(spec(plane, &name).await["holderIdentity"], "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_finds_another_holder_stops_at_once() {
    let (plane, name) = (ControlPlane::shared(), unique("usurped"));
    let leader = Replica::new(plane, &name, "one").lead().await;
    meddle(plane, &name, &json!({ "spec": { "holderIdentity": "usurper" } })).await;
    let lost = within(ms(2_000), "the loss", leader.leadership.lost()).await;
    assert_eq!(
        lost.to_string(),
        format!("lost lease default/{name}: \"usurper\" has it")
    );
    assert_eq!(leader.fence.check(), Err(Fenced));
    assert!(leader.leadership.release().await.is_err());
    assert_eq!(
        spec(plane, &name).await["holderIdentity"],
        "usurper",
        "it is left alone"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_takes_back_a_lease_that_was_cleared() {
    let (plane, name) = (ControlPlane::shared(), unique("cleared"));
    let leader = Replica::new(plane, &name, "one").lead().await;
    meddle(plane, &name, &json!({ "spec": { "holderIdentity": null } })).await;
    until("it to be taken back", async || {
        spec(plane, &name).await["holderIdentity"] == "one"
    })
    .await;
    assert_eq!(spec(plane, &name).await["leaseTransitions"], 1);
    assert_eq!(leader.fence.check(), Ok(()));
    leader.leadership.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_lease_is_recreated_by_its_holder_and_taken_by_no_other() {
    let (plane, name) = (ControlPlane::shared(), unique("deleted"));
    let leader = Replica::new(plane, &name, "one").lead().await;
    let standby = Replica::new(plane, &name, "two");
    let status = standby.status.clone();
    let standby = standby.stand_by();
    until("the standby to know the leader", async || status.leader() == "one").await;
    for _ in 0..3 {
        let before = lease(plane, &name).await["metadata"]["uid"].clone();
        leases(plane)
            .delete(&name, &kube::api::DeleteParams::default())
            .await
            .unwrap();
        until("the lease to be there again", async || {
            leases(plane).get_opt(&name).await.unwrap().is_some()
        })
        .await;
        let after = lease(plane, &name).await;
        assert_ne!(after["metadata"]["uid"], before);
        assert_eq!(after["spec"]["holderIdentity"], "one");
        assert_eq!(leader.fence.check(), Ok(()));
    }
    assert!(!standby.is_finished());
    leader.leadership.release().await.unwrap();
    standby.await.unwrap().leadership.release().await.unwrap();
}

/// Other replicas cannot know that the holder is dead; but its lease expires.
#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_lease_of_a_dead_holder_is_recreated_when_it_has_expired() {
    let (plane, name) = (ControlPlane::shared(), unique("dead"));
    let leader = Replica::new(plane, &name, "one").lead().await;
    let standby = Replica::new(plane, &name, "two");
    let status = standby.status.clone();
    let standby = standby.stand_by();
    until("the standby to know the leader", async || status.leader() == "one").await;
    drop(leader.leadership);
    leases(plane)
        .delete(&name, &kube::api::DeleteParams::default())
        .await
        .unwrap();
    let deleted = Instant::now();
    let next = standby.await.unwrap();
    let waited = next.since - deleted;
    assert!((ms(2_000)..ms(8_000)).contains(&waited), "waited {waited:?}");
    assert_eq!(spec(plane, &name).await["holderIdentity"], "two");
    next.leadership.release().await.unwrap();
}
