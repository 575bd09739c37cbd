//! What can happen to a Service, on a real API server.

use super::{
    node,
    rig::{CLUSTER, Rig},
    sync::{condition, ingress},
    wire::Wire,
};
use crate::service::{
    Classes, Classless, Options,
    conditions::{self, Say},
    predicates::{FINALIZER, has_finalizer},
    write::{self, Writer},
};
use k8s_openapi::{api::core::v1::Service, jiff::Timestamp};
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use memory::{Failure, Fault, Memory, Operation};
use rstest::rstest;
use runtime::queue::Next;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use testkit::service::{cluster_ip, load_balancer};

const SOON: Duration = Duration::from_millis(200);
const ENSURED: [&str; 2] = ["EnsuringLoadBalancer", "EnsuredLoadBalancer"];

/// A Service that is in order; what it took is forgotten.
async fn in_order(rig: &mut Rig) -> Arc<Service> {
    rig.create(load_balancer("s")).await;
    rig.sync("s").await;
    forget(rig);
    rig.look("s").await.unwrap()
}

fn forget(rig: &mut Rig) {
    rig.calls();
    rig.reasons();
    rig.wire.forget();
}

fn failures(rig: &mut Rig) -> Vec<String> {
    let failures = rig
        .events()
        .into_iter()
        .filter(|event| event.reason.ends_with("Failed"));
    failures.map(|event| event.message).collect()
}

#[tokio::test]
async fn a_new_service_is_told_of_twice_and_written_twice() {
    let mut rig = Rig::new().await;
    rig.set_nodes([node("node1", "")]);
    rig.create(load_balancer("s")).await;
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.reasons(), ENSURED);
    let status = format!("/api/v1/namespaces/{}/services/s/status", rig.namespace);
    assert_eq!(rig.wire.patches(), [status.clone(), status]);
    assert_eq!(
        rig.sync("s").await,
        Next::Done,
        "also before the informer has caught up"
    );
    assert_eq!((rig.calls().len(), rig.wire.patches().len()), (1, 2));
}

#[tokio::test]
async fn without_nodes_the_user_is_warned() {
    let mut rig = Rig::new().await;
    rig.create(load_balancer("s")).await;
    rig.sync("s").await;
    assert_eq!(
        rig.reasons(),
        ["EnsuringLoadBalancer", "UnAvailableLoadBalancer", "EnsuredLoadBalancer"]
    );
}

#[tokio::test]
async fn a_restart_costs_one_look_and_no_write() {
    let mut rig = Rig::new().await;
    in_order(&mut rig).await;
    rig.restart(|_| ());
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.cloud.writes(), []);
    assert_eq!(rig.calls(), ["ensure-load-balancer s"]);
    assert_eq!(rig.wire.patches(), [""; 0]);
    assert_eq!(rig.reasons(), [""; 0]);
}

#[tokio::test]
async fn taking_over_from_another_manager_costs_no_write_either() {
    let mut rig = Rig::new().await;
    let service = in_order(&mut rig).await;
    let without_ours = json!([{"op": "remove", "path": "/status/conditions"}]);
    let patch = Patch::<()>::Json(serde_json::from_value(without_ours).unwrap());
    rig.api()
        .patch_status("s", &PatchParams::default(), &patch)
        .await
        .unwrap();
    let service_now = rig.look("s").await.unwrap();
    assert_eq!(
        (condition(&service_now), ingress(&service_now)),
        (String::new(), ingress(&service))
    );
    rig.restart(|_| ());
    rig.sync("s").await;
    assert_eq!(
        (rig.wire.patches().len(), rig.reasons().len(), rig.cloud.writes().len()),
        (0, 0, 0)
    );
}

#[tokio::test]
async fn a_change_is_told_of() {
    let mut rig = Rig::new().await;
    rig.set_nodes([node("node1", "")]);
    in_order(&mut rig).await;
    rig.change("s", json!({"metadata": {"annotations": {"a": "b"}}})).await;
    rig.sync("s").await;
    assert_eq!((rig.reasons(), rig.wire.patches().len()), (ENSURED.to_vec(), 0));
}

#[rstest]
#[case::for_a_moment(Options::new(CLUSTER).patience, "", 2)]
#[case::for_long(Duration::ZERO, "False Provisioning", 3)]
#[tokio::test]
async fn what_is_pending_is_polled_and_said_once_if_it_lasts(
    #[case] patience: Duration,
    #[case] said: &str,
    #[case] patches: usize,
) {
    let mut rig = Rig::new().await;
    rig.restart(|reconciler| reconciler.options.patience = patience);
    rig.set_nodes([node("node1", "")]);
    rig.cloud.configure(|settings| settings.provisioning = SOON);
    rig.create(load_balancer("s")).await;
    assert!(matches!(rig.sync("s").await, Next::Poll(after) if after <= SOON));
    let service = rig.look("s").await.unwrap();
    assert_eq!((condition(&service).as_str(), ingress(&service).len()), (said, 0));
    let waiting = conditions::find(&service);
    assert!(waiting.is_none_or(|waiting| waiting.message.ends_with("is being made")));
    assert!(matches!(rig.sync("s").await, Next::Poll(_)));
    assert_eq!(
        (rig.reasons(), rig.wire.patches().len()),
        (vec![ENSURED[0]], patches - 1)
    );
    assert_eq!(rig.reconciler.metrics.pending.get(), 1);

    let uid = service.uid().unwrap();
    let ready = |cloud: &memory::Cloud| cloud.load_balancer(&uid).unwrap().phase == memory::Phase::Ready;
    testkit::wait::until("the load balancer", || async {
        ready(&rig.cloud).then_some(()).ok_or("pending")
    })
    .await;
    assert_eq!(rig.sync("s").await, Next::Done);
    let service = rig.look("s").await.unwrap();
    assert_eq!(
        (condition(&service).as_str(), ingress(&service).len()),
        ("True Ensured", 1)
    );
    assert_eq!((rig.reasons(), rig.wire.patches().len()), (vec![ENSURED[1]], patches));
    assert_eq!(rig.reconciler.metrics.pending.get(), 0);
    assert_eq!(rig.reconciler.metrics.ready.get_sample_count(), 1);
}

#[tokio::test]
async fn what_is_pending_is_no_failure() {
    let mut rig = Rig::new().await;
    rig.create(load_balancer("s")).await;
    rig.cloud
        .inject(Fault::fail(Failure::Pending { poll_after: SOON }).times(1));
    assert_eq!(rig.sync("s").await, Next::Poll(SOON));
    assert_eq!(failures(&mut rig), [""; 0]);
    assert_eq!(condition(&rig.look("s").await.unwrap()), "");
}

#[rstest]
#[case::invalid(Failure::Invalid { field: "annotation x".into(), reason: "must be a number".into() }, "False Invalid", "failed to ensure load balancer: invalid annotation x: must be a number")]
#[case::not_supported(
    Failure::NotSupported,
    "False NotSupported",
    "failed to ensure load balancer: ensure-load-balancer is not supported by this cloud"
)]
#[tokio::test]
async fn what_only_the_user_can_mend_is_tried_when_he_does(
    #[case] failure: Failure,
    #[case] expected: &str,
    #[case] report: &str,
) {
    let mut rig = Rig::new().await;
    rig.create(load_balancer("s")).await;
    rig.cloud.inject(Fault::fail(failure).times(1));
    assert_eq!(rig.sync("s").await, Next::Done);
    let service = rig.look("s").await.unwrap();
    assert_eq!(condition(&service), expected);
    assert_eq!(conditions::find(&service).unwrap().message, report);
    assert_eq!(failures(&mut rig), [format!("Error syncing load balancer: {report}")]);
    assert!(
        rig.reconciler.pulse.failing(Duration::ZERO).is_ok(),
        "the controller is well"
    );

    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.calls().len(), 1, "nothing changed");
    rig.change("s", json!({"metadata": {"annotations": {"x": "1"}}})).await;
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(condition(&rig.look("s").await.unwrap()), "True Ensured");
}

#[rstest]
#[case::unavailable(Failure::Unavailable("down".into()), "False CloudUnavailable")]
#[case::garbage(Failure::Garbage(memory::Garbage::NotJson), "False CloudUnavailable")]
#[case::denied(Failure::Denied("no".into()), "False Denied")]
#[case::quota(Failure::Quota("10 of 10".into()), "False QuotaExceeded")]
#[case::throttled(Failure::Throttled { retry_after: None }, "False Throttled")]
#[case::lost(Failure::LostAnswer, "False CloudUnavailable")]
#[tokio::test]
async fn failures_are_said_and_tried_again(#[case] failure: Failure, #[case] expected: &str) {
    let mut rig = Rig::new().await;
    rig.set_nodes([node("node1", "")]);
    rig.create(load_balancer("s")).await;
    rig.cloud
        .inject(Fault::fail(failure).operation(Operation::EnsureLoadBalancer).times(2));
    assert_eq!(rig.sync("s").await, Next::Retry);
    assert_eq!(condition(&rig.look("s").await.unwrap()), expected);
    let patches = rig.wire.patches().len();
    assert_eq!(rig.sync("s").await, Next::Retry);
    assert_eq!(rig.wire.patches().len(), patches, "it has been said");
    assert_eq!(
        rig.reasons(),
        [
            "EnsuringLoadBalancer",
            "SyncLoadBalancerFailed",
            "SyncLoadBalancerFailed"
        ]
    );
    assert_eq!(rig.reconciler.metrics.failures.with_label_values(&["ensure"]).get(), 2);

    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(condition(&rig.look("s").await.unwrap()), "True Ensured");
    assert_eq!(rig.reasons(), ["EnsuredLoadBalancer"]);
    assert_eq!(rig.cloud.load_balancers().len(), 1);
}

#[tokio::test]
async fn a_cloud_that_hangs_is_given_up_on() {
    let mut rig = Rig::new().await;
    rig.restart(|reconciler| reconciler.options.deadline = SOON);
    rig.create(load_balancer("s")).await;
    rig.cloud.inject(Fault::hang());
    assert_eq!(rig.sync("s").await, Next::Retry);
    assert_eq!(failures(&mut rig).len(), 1);
    assert_eq!(rig.sync("s").await, Next::Retry);
    assert!(rig.reconciler.pulse.failing(Duration::ZERO).is_err());
}

#[tokio::test]
async fn implemented_elsewhere_writes_nothing_but_the_finalizer() {
    let mut rig = Rig::new().await;
    rig.set_nodes([node("node1", "")]);
    rig.create(load_balancer("s")).await;
    rig.cloud.inject(Fault::fail(Failure::ImplementedElsewhere));
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!((rig.reasons(), rig.wire.patches().len()), (vec![ENSURED[0]], 1));
    rig.set_nodes([node("node1", ""), node("node2", "")]);
    rig.pass(1).await;
    assert_eq!(rig.calls().len(), 1);

    rig.api().delete("s", &DeleteParams::default()).await.unwrap();
    rig.look("s").await;
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(
        rig.look("s").await,
        None,
        "the finalizer is ours, whoever has the load balancer"
    );
}

#[tokio::test]
async fn hosts_may_be_implemented_elsewhere() {
    let mut rig = Rig::new().await;
    in_order(&mut rig).await;
    rig.cloud
        .inject(Fault::fail(Failure::ImplementedElsewhere).operation(Operation::UpdateHosts));
    rig.set_nodes([node("node1", "")]);
    rig.pass(1).await;
    rig.pass(1).await;
    assert_eq!(
        (rig.calls().len(), rig.reasons().len(), rig.wire.patches().len()),
        (1, 0, 0)
    );
}

#[tokio::test]
async fn hosts_that_fail_are_said_and_taken_back() {
    let mut rig = Rig::new().await;
    in_order(&mut rig).await;
    rig.set_nodes([node("node1", "")]);
    rig.cloud
        .inject(Fault::fail(Failure::Unavailable("down".into())).times(1));
    assert_eq!(rig.sync("s").await, Next::Retry);
    assert_eq!(condition(&rig.look("s").await.unwrap()), "True HostsOutdated");
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(condition(&rig.look("s").await.unwrap()), "True Ensured");
}

#[tokio::test]
async fn nothing_is_created_before_the_finalizer_is_there() {
    let mut rig = Rig::new().await;
    rig.create(load_balancer("s")).await;
    rig.wire.refuse(403, "Forbidden");
    assert_eq!(rig.sync("s").await, Next::Retry);
    assert_eq!(rig.calls(), [""; 0]);
    let expected = "Error syncing load balancer: failed to add load balancer cleanup finalizer: refused: Forbidden";
    assert_eq!(failures(&mut rig), [expected]);
    assert_eq!(rig.sync("s").await, Next::Done);
}

#[tokio::test]
async fn a_deletion_waits_for_the_cloud() {
    let mut rig = Rig::new().await;
    rig.cloud.configure(|settings| settings.deletion = SOON);
    in_order(&mut rig).await;
    rig.api().delete("s", &DeleteParams::default()).await.unwrap();
    rig.look("s").await;
    assert!(matches!(rig.sync("s").await, Next::Poll(_)));
    let service = rig.look("s").await.unwrap();
    assert!(has_finalizer(&service));
    assert_eq!(condition(&service), "False Deleting");
    assert!(matches!(rig.sync("s").await, Next::Poll(_)));
    assert_eq!(
        (rig.reasons(), rig.wire.patches().len()),
        (vec!["DeletingLoadBalancer"], 1)
    );

    let gone = || async { rig.cloud.load_balancers().is_empty().then_some(()).ok_or("still there") };
    testkit::wait::until("the load balancer to go", gone).await;
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.look("s").await, None);
    assert_eq!(rig.reasons(), ["DeletedLoadBalancer"]);
    assert!(!rig.reconciler.ledger.knows(&rig.key("s")));
}

#[tokio::test]
async fn a_deletion_that_fails_is_tried_again_even_if_the_service_is_wrong() {
    let mut rig = Rig::new().await;
    in_order(&mut rig).await;
    rig.api().delete("s", &DeleteParams::default()).await.unwrap();
    rig.look("s").await;
    let invalid = Failure::Invalid {
        field: "annotation x".into(),
        reason: "bad".into(),
    };
    rig.cloud.inject(Fault::fail(invalid).times(1));
    assert_eq!(rig.sync("s").await, Next::Retry);
    let expected = "Error syncing load balancer: failed to delete load balancer: invalid annotation x: bad";
    assert_eq!(failures(&mut rig), [expected]);
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.look("s").await, None);
}

/// Its user makes a mistake, and then all nodes are replaced: what is served by the old load balancer still is.
#[rstest]
#[case::refused(Failure::Invalid { field: "annotation x".into(), reason: "bad".into() }, Next::Done)]
#[case::failing(Failure::Unavailable("the key manager is down".into()), Next::Retry)]
#[tokio::test]
async fn the_hosts_of_what_cannot_be_made_to_match_follow_the_nodes(#[case] failure: Failure, #[case] next: Next) {
    let mut rig = Rig::new().await;
    rig.set_nodes([node("node1", "")]);
    in_order(&mut rig).await;
    rig.calls();
    rig.cloud
        .inject(Fault::fail(failure).operation(Operation::EnsureLoadBalancer));
    rig.change("s", json!({"metadata": {"annotations": {"x": "bad"}}}))
        .await;
    assert_eq!(rig.sync("s").await, next);
    let said = condition(&rig.look("s").await.unwrap());
    rig.reasons();

    rig.set_nodes([node("node2", "")]);
    assert_eq!(rig.sync("s").await, next);
    assert_eq!(rig.cloud.load_balancers()[0].host_names(), ["node2"]);
    assert!(rig.reasons().contains(&"UpdatedLoadBalancer"));
    assert_eq!(
        condition(&rig.look("s").await.unwrap()),
        said,
        "the mistake is still told"
    );
    rig.calls();
    assert_eq!(rig.sync("s").await, next);
    assert!(
        !rig.calls().iter().any(|call| call.starts_with("update")),
        "they are told once"
    );
}

/// A process that has just begun does not know which hosts were there before.
#[tokio::test]
async fn of_hosts_that_follow_only_what_is_known_to_be_news_is_told() {
    let mut rig = Rig::new().await;
    rig.set_nodes([node("node1", "")]);
    in_order(&mut rig).await;
    let down = Failure::Unavailable("the key manager is down".into());
    rig.cloud
        .inject(Fault::fail(down).operation(Operation::EnsureLoadBalancer));
    rig.restart(|_| ());
    assert_eq!(rig.sync("s").await, Next::Retry);
    assert_eq!(rig.calls(), ["ensure-load-balancer s node1", "update-hosts s node1"]);
    assert_eq!(rig.reasons(), ["SyncLoadBalancerFailed"]);

    rig.set_nodes([]);
    assert_eq!(rig.sync("s").await, Next::Retry);
    assert_eq!(rig.reasons(), ["SyncLoadBalancerFailed", "UnAvailableLoadBalancer"]);
    rig.set_nodes([node("node2", "")]);
    assert_eq!(rig.sync("s").await, Next::Retry);
    assert_eq!(rig.reasons(), ["SyncLoadBalancerFailed", "UpdatedLoadBalancer"]);
}

#[tokio::test]
async fn hosts_that_are_refused_do_not_keep_others_out() {
    let mut rig = Rig::new().await;
    rig.set_nodes([node("node1", "")]);
    in_order(&mut rig).await;
    let invalid = Failure::Invalid {
        field: "member".into(),
        reason: "bad".into(),
    };
    rig.cloud
        .inject(Fault::fail(invalid).operation(Operation::UpdateHosts).times(1));
    rig.set_nodes([node("node2", "")]);
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.cloud.load_balancers()[0].host_names(), ["node1"]);
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(
        rig.cloud.load_balancers()[0].host_names(),
        ["node1"],
        "the same hosts are not tried twice"
    );
    rig.set_nodes([node("node3", "")]);
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.cloud.load_balancers()[0].host_names(), ["node3"]);
}

#[tokio::test]
async fn a_type_change_takes_everything_back_and_may_be_taken_back() {
    let mut rig = Rig::new().await;
    rig.set_nodes([node("node1", "")]);
    in_order(&mut rig).await;
    rig.change("s", json!({"spec": {"type": "NodePort"}})).await;
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.reasons(), ["DeletingLoadBalancer", "DeletedLoadBalancer"]);
    let service = rig.look("s").await.unwrap();
    assert!(!has_finalizer(&service) && ingress(&service).is_empty() && condition(&service).is_empty());

    rig.change("s", json!({"spec": {"type": "LoadBalancer"}})).await;
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.reasons(), ENSURED);
    assert_eq!(rig.cloud.load_balancers().len(), 1);
}

/// As with the Go framework: what was never there is not being deleted, but is gone.
#[tokio::test]
async fn a_finalizer_without_a_load_balancer_goes_without_a_deletion() {
    let mut rig = Rig::new().await;
    rig.create(cluster_ip("s").finalizer(FINALIZER)).await;
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.reasons(), ["DeletedLoadBalancer"]);
    assert!(!has_finalizer(&rig.look("s").await.unwrap()));
}

/// The Service is deleted behind our back, and another one takes its name.
async fn replace(rig: &Rig) {
    let strip = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    rig.api().patch("s", &PatchParams::default(), &strip).await.unwrap();
    rig.api().delete("s", &DeleteParams::default()).await.unwrap();
    let service = load_balancer("s")
        .namespace(&rig.namespace)
        .with(|service| service.metadata.uid = None)
        .build();
    rig.api().create(&PostParams::default(), &service).await.unwrap();
}

#[tokio::test]
async fn another_service_of_the_same_name_gets_a_load_balancer_of_its_own() {
    let mut rig = Rig::new().await;
    rig.set_nodes([node("node1", "")]);
    let old = in_order(&mut rig).await;
    replace(&rig).await;
    let new = rig.look("s").await.unwrap();
    assert_ne!(old.uid(), new.uid());
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.calls(), ["delete-load-balancer s", "ensure-load-balancer s node1"]);
    let mut reasons = vec!["DeletingLoadBalancer", "DeletedLoadBalancer"];
    reasons.extend(ENSURED);
    assert_eq!(rig.reasons(), reasons);
    assert_eq!(rig.cloud.load_balancers()[0].service.uid, new.uid().unwrap());
}

#[tokio::test]
async fn what_was_meant_for_one_service_does_not_reach_another_of_its_name() {
    let mut rig = Rig::new().await;
    let old = in_order(&mut rig).await;
    replace(&rig).await;
    let new = write::with_status(
        &old,
        &cloud::Status::default(),
        &Say::provisioning("x"),
        Timestamp::now(),
    )
    .unwrap();
    let writer = Writer::new(rig.client.clone());
    assert!(matches!(writer.write(&old, &new).await, Err(write::Error::Gone)));
    let there = rig.look("s").await.unwrap();
    assert!(condition(&there).is_empty() && !has_finalizer(&there));
}

// upstream: TestPatchService
#[rstest]
#[case("concurrent annotation update is preserved, finalizer+status applied, spec change discarded")]
#[tokio::test]
async fn patches_only_what_is_ours(#[case] name: &str) {
    let rig = Rig::new().await;
    let origin = rig.create(load_balancer("s")).await;
    rig.change("s", json!({"metadata": {"annotations": {"foo": "bar"}}}))
        .await;
    let mut new = (*origin).clone();
    new.metadata.finalizers = Some(vec!["example.com/foo".into()]);
    new.spec.as_mut().unwrap().cluster_ip = Some("10.0.0.2".into());
    new.status = load_balancer("s").ingress_ip("8.8.8.8").build().status;
    let writer = Writer::new(rig.client.clone());
    let written = writer.write(&origin, &new).await.unwrap().unwrap();
    assert_eq!(
        written.annotations().get("foo").map(String::as_str),
        Some("bar"),
        "{name}"
    );
    assert_eq!(written.finalizers(), ["example.com/foo"], "{name}");
    assert_eq!(ingress(&written), ["8.8.8.8"], "{name}");
    assert_eq!(written.spec, origin.spec, "{name}");
}

#[tokio::test]
async fn finalizers_and_conditions_of_others_survive() {
    let rig = Rig::new().await;
    rig.create(load_balancer("s").finalizer("example.com/first")).await;
    rig.sync("s").await;
    let others = json!({"metadata": {"finalizers": ["example.com/first", FINALIZER, "example.com/last"]}});
    rig.api()
        .patch("s", &PatchParams::default(), &Patch::Merge(others))
        .await
        .unwrap();
    let theirs = json!({"status": {"conditions": [{
        "type": "example.com/Other", "status": "True", "reason": "X", "message": "", "lastTransitionTime": "2020-01-01T00:00:00Z",
    }]}});
    rig.api()
        .patch_status("s", &PatchParams::default(), &Patch::Strategic(theirs))
        .await
        .unwrap();
    rig.api().delete("s", &DeleteParams::default()).await.unwrap();
    rig.look("s").await;
    assert_eq!(rig.sync("s").await, Next::Done);
    let left = rig.look("s").await.unwrap();
    assert_eq!(left.finalizers(), ["example.com/first", "example.com/last"]);
    let types: Vec<_> = left
        .status
        .as_ref()
        .unwrap()
        .conditions
        .iter()
        .flatten()
        .map(|one| &one.type_)
        .collect();
    assert_eq!(types, ["example.com/Other"]);
    assert!(ingress(&left).is_empty());
}

#[tokio::test]
async fn a_replica_that_is_not_the_leader_does_nothing() {
    let mut rig = Rig::new().await;
    rig.create(load_balancer("s").finalizer(FINALIZER)).await;
    rig.create(load_balancer("t")).await;
    let gated = Memory::new(&rig.cloud).with_gate(Arc::new(|| Err(cloud::Error::NotLeader)));
    let fenced = Writer::new(Wire::fenced());
    rig.restart(|reconciler| {
        reconciler.provider = Arc::new(gated);
        reconciler.writer = fenced;
    });
    assert_eq!((rig.sync("s").await, rig.sync("t").await), (Next::Retry, Next::Retry));
    assert_eq!((rig.cloud.load_balancers().len(), rig.wire.patches().len()), (0, 0));
    assert_eq!(failures(&mut rig), [""; 0]);
}

#[tokio::test]
async fn a_class_can_be_served() {
    let mut rig = Rig::new().await;
    let classes = Classes {
        named: ["example.com/ours".to_owned()].into(),
        classless: Classless::Ignored,
    };
    rig.restart(|reconciler| reconciler.options.classes = classes);
    rig.create(load_balancer("ours").class("example.com/ours")).await;
    rig.create(load_balancer("theirs").class("example.com/theirs")).await;
    rig.create(load_balancer("classless")).await;
    for name in ["ours", "theirs", "classless"] {
        rig.sync(name).await;
    }
    assert_eq!(rig.calls(), ["ensure-load-balancer ours"]);

    // It was a load balancer of theirs; only they know whether they are done with it.
    rig.create(testkit::service::cluster_ip("whose").finalizer(FINALIZER))
        .await;
    rig.sync("whose").await;
    assert_eq!(rig.calls(), ["find-load-balancer whose"]);
    assert!(has_finalizer(&rig.look("whose").await.unwrap()));

    // One of ours, after a restart.
    rig.change(
        "ours",
        json!({"spec": {"type": "ClusterIP", "loadBalancerClass": null}}),
    )
    .await;
    rig.restart(|_| ());
    rig.sync("ours").await;
    assert_eq!(rig.calls(), ["find-load-balancer ours", "delete-load-balancer ours"]);
    assert!(!has_finalizer(&rig.look("ours").await.unwrap()));
}

#[tokio::test]
async fn a_service_that_goes_before_we_begin_is_forgotten() {
    let mut rig = Rig::new().await;
    rig.create(load_balancer("s")).await;
    rig.api().delete("s", &DeleteParams::default()).await.unwrap();
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.calls(), [""; 0]);
    assert_eq!(failures(&mut rig), [""; 0]);
    assert!(!rig.reconciler.ledger.knows(&rig.key("s")));
}

#[tokio::test]
async fn a_service_that_goes_while_we_create_leaves_nothing_behind() {
    let rig = Rig::new().await;
    rig.create(load_balancer("s").finalizer(FINALIZER)).await;
    let hang = rig.cloud.inject(Fault::hang().operation(Operation::EnsureLoadBalancer));
    let meanwhile = async {
        rig.cloud
            .until(|cloud| cloud.count(Operation::EnsureLoadBalancer) == 1)
            .await;
        let strip = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        rig.api().patch("s", &PatchParams::default(), &strip).await.unwrap();
        rig.api().delete("s", &DeleteParams::default()).await.unwrap();
        rig.look("s").await;
        rig.cloud.withdraw(hang);
    };
    let (next, ()) = tokio::join!(rig.sync("s"), meanwhile);
    assert_eq!(next, Next::Poll(Duration::ZERO));
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.cloud.load_balancers(), []);
}

#[tokio::test]
async fn a_deletion_that_began_after_a_restart_outlives_the_service() {
    let mut rig = Rig::new().await;
    in_order(&mut rig).await;
    rig.api().delete("s", &DeleteParams::default()).await.unwrap();
    rig.look("s").await;
    rig.restart(|_| ());
    rig.cloud
        .inject(Fault::fail(Failure::Unavailable("down".into())).times(1));
    assert_eq!(rig.sync("s").await, Next::Retry);
    let strip = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    rig.api().patch("s", &PatchParams::default(), &strip).await.unwrap();
    assert_eq!(rig.look("s").await, None);
    assert_eq!(rig.sync("s").await, Next::Done);
    assert_eq!(rig.cloud.load_balancers(), []);
}

/// As in the Go framework, one that fails for long is tried every half minute.
#[tokio::test]
async fn a_deletion_that_fails_is_not_left_alone_for_long() {
    let mut rig = Rig::new().await;
    in_order(&mut rig).await;
    rig.api().delete("s", &DeleteParams::default()).await.unwrap();
    rig.look("s").await;
    rig.cloud.inject(Fault::fail(Failure::Unavailable("down".into())));
    assert_eq!(rig.sync("s").await, Next::Retry);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::time::resume();
    assert_eq!(rig.sync("s").await, Next::After(Duration::from_secs(30)));
}
