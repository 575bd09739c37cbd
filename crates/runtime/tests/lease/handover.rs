//! From one replica to the next.

use crate::replica::{NAMESPACE, Replica, ghost, lease, meddle, metric, ms, params, requests, spec, until};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::{Api, api::PostParams};
use lab::{ControlPlane, unique};
use rstest::rstest;
use runtime::{events::Kind, fence::Fenced};
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_replica_creates_the_lease_and_reports_it() {
    let (plane, name) = (ControlPlane::shared(), unique("first"));
    let mut leader = Replica::new(plane, &name, "one_1").lead().await;
    let lease = lease(plane, &name).await;
    let spec = &lease["spec"];
    assert_eq!(spec["holderIdentity"], "one_1");
    assert_eq!(spec["leaseDurationSeconds"], 4);
    assert_eq!(spec["leaseTransitions"], 0);
    assert_eq!(
        spec["acquireTime"].as_str().unwrap().len(),
        "2026-11-15T12:00:00.123456Z".len()
    );
    assert_eq!(leader.fence.check(), Ok(()));
    assert_eq!(
        (leader.status.leader().as_str(), leader.status.check()),
        ("one_1", Ok(()))
    );
    assert_eq!(leader.metric("leader_election_master_status"), 1);

    let event = leader.events.recv().await.unwrap();
    assert_eq!(
        (event.kind, event.reason, event.message.as_str()),
        (Kind::Normal, "LeaderElection", "one_1 became leader")
    );
    let regarding = &event.regarding;
    assert_eq!(regarding.api_version.as_deref(), Some("coordination.k8s.io/v1"));
    assert_eq!(regarding.kind.as_deref(), Some("Lease"));
    assert_eq!(regarding.namespace.as_deref(), Some(NAMESPACE));
    assert_eq!(regarding.name.as_deref(), Some(name.as_str()));
    assert_eq!(regarding.uid.as_deref(), lease["metadata"]["uid"].as_str());
    assert!(regarding.resource_version.is_some());

    let acquired = spec["acquireTime"].clone();
    until("a renewal", async || {
        self::spec(plane, &name).await["renewTime"] != acquired
    })
    .await;
    assert_eq!(self::spec(plane, &name).await["acquireTime"], acquired);
    leader.leadership.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_lease_is_as_client_go_leaves_it() {
    let (plane, name) = (ControlPlane::shared(), unique("released"));
    let mut leader = Replica::new(plane, &name, "one").lead().await;
    let (fence, registry) = (leader.fence.clone(), leader.registry.clone());
    leader.events.recv().await.unwrap();
    leader.leadership.release().await.unwrap();
    assert_eq!(fence.check(), Err(Fenced));
    let spec = spec(plane, &name).await;
    assert_eq!(
        (&spec["holderIdentity"], &spec["leaseDurationSeconds"]),
        (&json!(""), &json!(1))
    );
    assert_eq!(spec["leaseTransitions"], 0);
    assert_eq!(spec["acquireTime"], spec["renewTime"]);
    assert_eq!(leader.events.recv().await.unwrap().message, "one stopped leading");
    assert_eq!(leader.status.leader(), "");
    assert_eq!(metric(&registry, "leader_election_master_status"), 0);
}

/// The default timings, because it must be quick with those.
#[rstest]
#[case::everything_allowed(&["get", "create", "update", "watch"])]
#[case::verbs_of_client_go(&["get", "create", "update"])]
#[tokio::test(flavor = "multi_thread")]
async fn a_standby_leads_within_a_second_of_a_clean_stop(#[case] verbs: &[&str]) {
    let (plane, name) = (ControlPlane::shared(), unique("clean"));
    let kubeconfig = user(plane, &name, verbs).await;
    let params = |turn: usize| runtime::lease::Params {
        lease_duration: ms(15_000),
        renew_deadline: ms(10_000),
        retry_period: ms(2_000),
        ..params(&name, &format!("replica-{turn}"))
    };
    let mut leader = Replica::of(&kubeconfig, params(0)).await.lead().await;
    let mut times = Vec::new();
    for turn in 1..=5 {
        let standby = Replica::of(&kubeconfig, params(turn)).await;
        let status = standby.status.clone();
        let standby = standby.stand_by();
        until("the standby to know the leader", async || {
            status.leader() == leader.identity
        })
        .await;
        // Wherever it is between two looks.
        tokio::time::sleep(ms(400 * turn as u64)).await;
        let released = Instant::now();
        leader.leadership.release().await.unwrap();
        leader = standby.await.unwrap();
        times.push(leader.since - released);
        assert_eq!(spec(plane, &name).await["leaseTransitions"], turn);
    }
    leader.leadership.release().await.unwrap();
    times.sort();
    println!("from the order to stop until the next one leads: {times:?}");
    // A busy machine may spoil one or two.
    assert!(times[2] < Duration::from_secs(1), "{times:?}");
    assert!(times[4] < Duration::from_secs(10), "{times:?}");
    let refused: Vec<_> = requests(plane, &name)
        .into_iter()
        .filter(|request| request.code == 403)
        .collect();
    assert!(refused.iter().all(|request| request.verb == "watch"), "{refused:?}");
    assert!(refused.len() <= 6, "it asks once and then no more: {refused:?}");
}

/// A user who may do just this with this lease.
async fn user(plane: &ControlPlane, name: &str, verbs: &[&str]) -> PathBuf {
    let role: Role =
        serde_json::from_value(json!({ "metadata": { "name": name }, "rules": rules(name, verbs) })).unwrap();
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name }]
    }))
    .unwrap();
    let post = PostParams::default();
    Api::namespaced(plane.client(), NAMESPACE)
        .create(&post, &role)
        .await
        .unwrap();
    Api::namespaced(plane.client(), NAMESPACE)
        .create(&post, &binding)
        .await
        .unwrap();
    plane.kubeconfig_for(name, &[])
}

/// By name, as in our manifest; `create` cannot be restricted by name.
fn rules(name: &str, verbs: &[&str]) -> Value {
    let (create, named): (Vec<&str>, Vec<&str>) = verbs.iter().partition(|verb| **verb == "create");
    json!([
        { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": create },
        { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [name], "verbs": named },
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_lease_is_taken_when_it_runs_out() {
    let (plane, name) = (ControlPlane::shared(), unique("abandoned"));
    let leader = Replica::new(plane, &name, "one").lead().await;
    let standby = Replica::new(plane, &name, "two");
    let status = standby.status.clone();
    let standby = standby.stand_by();
    until("the standby to know the leader", async || status.leader() == "one").await;
    let renewed = spec(plane, &name).await["renewTime"].clone();
    until("one more renewal", async || {
        spec(plane, &name).await["renewTime"] != renewed
    })
    .await;
    drop(leader.leadership);
    assert_eq!(leader.fence.check(), Err(Fenced));
    let dropped = Instant::now();
    let next = standby.await.unwrap();
    let waited = next.since - dropped;
    // The last renewal was up to a retry period, and some trouble, before.
    assert!((ms(2_500)..ms(8_000)).contains(&waited), "waited {waited:?}");
    assert_eq!(spec(plane, &name).await["leaseTransitions"], 1);
    next.leadership.release().await.unwrap();
}

#[rstest]
#[case::far_behind("1970-01-01T00:00:01.000000Z")]
#[case::far_ahead("2999-01-01T00:00:00.000000Z")]
#[tokio::test(flavor = "multi_thread")]
async fn the_holders_clock_does_not_matter(#[case] renewed: &str) {
    let (plane, name) = (ControlPlane::shared(), unique("clock"));
    ghost(plane, &name, 2, renewed).await;
    let start = Instant::now();
    let leader = Replica::new(plane, &name, "one").lead().await;
    let waited = leader.since - start;
    assert!((ms(2_000)..ms(6_000)).contains(&waited), "waited {waited:?}");
    assert_eq!(spec(plane, &name).await["leaseTransitions"], 8);
    leader.leadership.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_is_renewed_is_never_taken_over() {
    let (plane, name) = (ControlPlane::shared(), unique("alive"));
    ghost(plane, &name, 1, "1970-01-01T00:00:00.000000Z").await;
    let candidate = Replica::new(plane, &name, "one").stand_by();
    // For four times the lease, by a clock that stands nearly still.
    for tick in 1..=16 {
        let renewed = format!("1970-01-01T00:00:00.{tick:06}Z");
        meddle(plane, &name, &json!({ "spec": { "renewTime": renewed } })).await;
        tokio::time::sleep(ms(250)).await;
    }
    assert_eq!(spec(plane, &name).await["holderIdentity"], "ghost");
    let leader = candidate.await.unwrap();
    leader.leadership.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_permission_is_named_and_waited_for() {
    let (plane, name) = (ControlPlane::shared(), unique("forbidden"));
    let kubeconfig = user(plane, &name, &["create", "delete"]).await;
    let candidate = Replica::of(&kubeconfig, params(&name, "one")).await;
    let status = candidate.status.clone();
    let candidate = candidate.stand_by();
    until("a problem", async || status.problem().is_some()).await;
    let problem = status.problem().unwrap();
    assert!(
        problem.contains(r#"cannot get resource "leases" in API group "coordination.k8s.io""#),
        "{problem}"
    );
    let roles: Api<Role> = Api::namespaced(plane.client(), NAMESPACE);
    let more = json!({ "rules": rules(&name, &["get", "create", "update"]) });
    roles
        .patch(
            &name,
            &kube::api::PatchParams::default(),
            &kube::api::Patch::Merge(more),
        )
        .await
        .unwrap();
    let leader = candidate.await.unwrap();
    assert_eq!(leader.status.problem(), None);
    leader.leadership.release().await.unwrap();
}
