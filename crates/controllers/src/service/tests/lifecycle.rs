//! The life of one Service, on a real API server.

use super::{
    fixture::{CLUSTER, Fixture, condition, ingress},
    patches::Patches,
};
use crate::service::{
    Classes, Classless, Options,
    spec::predicates::{FINALIZER, has_finalizer},
    status::conditions::{self, Readiness},
    write::{self, Writer},
};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::jiff::Timestamp;
use kube::api::DeleteParams;
use kube::{ResourceExt, api::Patch};
use memory::{Failure, Fault, Memory, Operation};
use rstest::rstest;
use runtime::{events::Kind, queue::Next};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use testkit::service::{cluster_ip, load_balancer};

const SOON: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_hours(1);
const ENSURED: [&str; 2] = ["EnsuringLoadBalancer", "EnsuredLoadBalancer"];

#[tokio::test]
async fn a_new_service_has_two_events_and_two_writes() {
    let mut fixture = Fixture::new().await;
    fixture.set_nodes(&["node1"]);
    fixture.create(load_balancer("s")).await;
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.reasons(), ENSURED);
    let status = format!("/api/v1/namespaces/{}/services/s/status", fixture.namespace);
    assert_eq!(fixture.patches.all(), [status.clone(), status]);
    assert_eq!(
        fixture.reconcile("s").await,
        Next::Done,
        "also before the informer has caught up"
    );
    assert_eq!((fixture.calls().len(), fixture.patches.count()), (1, 2));
}

#[tokio::test]
async fn without_nodes_there_is_a_warning() {
    let mut fixture = Fixture::new().await;
    fixture.create(load_balancer("s")).await;
    fixture.reconcile("s").await;
    assert_eq!(
        fixture.reasons(),
        ["EnsuringLoadBalancer", "UnAvailableLoadBalancer", "EnsuredLoadBalancer"]
    );
}

/// The condition is absent if another manager ensured the load balancer.
#[rstest]
#[case::of_ours("[]")]
#[case::of_another_manager(r#"[{"op": "remove", "path": "/status/conditions"}]"#)]
#[tokio::test]
async fn a_restart_costs_one_call_and_no_write(#[case] before: &str) {
    let mut fixture = Fixture::new().await;
    fixture.create_ready().await;
    fixture
        .patch_status("s", Patch::Json(serde_json::from_str(before).unwrap()))
        .await;
    fixture.refresh("s").await;
    fixture.restart(|_| ());
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.cloud.writes(), []);
    assert_eq!(fixture.calls(), ["ensure-load-balancer s"]);
    assert_eq!(fixture.patches.all(), [""; 0]);
    assert_eq!(fixture.reasons(), [""; 0]);
}

#[tokio::test]
async fn a_change_has_events() {
    let mut fixture = Fixture::new().await;
    fixture.set_nodes(&["node1"]);
    fixture.create_ready().await;
    fixture
        .change("s", json!({"metadata": {"annotations": {"a": "b"}}}))
        .await;
    fixture.reconcile("s").await;
    assert_eq!((fixture.reasons(), fixture.patches.count()), (ENSURED.to_vec(), 0));
}

#[rstest]
#[case::for_a_moment(Options::new(CLUSTER).patience, "", 2)]
#[case::for_long(Duration::ZERO, "False Provisioning", 3)]
#[tokio::test]
async fn a_pending_load_balancer_is_polled_and_reported_once_if_it_lasts(
    #[case] patience: Duration,
    #[case] reported: &str,
    #[case] patches: usize,
) {
    let mut fixture = Fixture::new().await;
    fixture.restart(|reconciler| reconciler.options.patience = patience);
    fixture.set_nodes(&["node1"]);
    fixture.cloud.configure(|settings| settings.provisioning = SOON);
    fixture.create(load_balancer("s")).await;
    assert!(matches!(fixture.reconcile("s").await, Next::Poll(after) if after <= SOON));
    let service = fixture.refresh("s").await.unwrap();
    assert_eq!((condition(&service).as_str(), ingress(&service).len()), (reported, 0));
    let waiting = conditions::find(&service);
    assert!(waiting.is_none_or(|waiting| waiting.message.ends_with("is being created")));
    assert!(matches!(fixture.reconcile("s").await, Next::Poll(_)));
    assert_eq!(
        (fixture.reasons(), fixture.patches.count()),
        (vec![ENSURED[0]], patches - 1)
    );
    assert_eq!(fixture.reconciler.metrics.pending.get(), 1);

    let uid = service.uid().unwrap();
    let ready = |cloud: &memory::Cloud| cloud.load_balancer(&uid).unwrap().phase == memory::Phase::Ready;
    testkit::wait::until("the load balancer", || async {
        ready(&fixture.cloud).then_some(()).ok_or("pending")
    })
    .await;
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    let service = fixture.refresh("s").await.unwrap();
    assert_eq!(
        (condition(&service).as_str(), ingress(&service).len()),
        ("True Ensured", 1)
    );
    assert_eq!(
        (fixture.reasons(), fixture.patches.count()),
        (vec![ENSURED[1]], patches)
    );
    assert_eq!(fixture.reconciler.metrics.pending.get(), 0);
    assert_eq!(fixture.reconciler.metrics.ready.get_sample_count(), 1);
}

/// `kubectl describe service` shows events and no conditions.
#[tokio::test]
async fn a_wait_that_lasts_has_an_event() {
    let mut fixture = Fixture::new().await;
    fixture.set_nodes(&["node1"]);
    fixture.cloud.configure(|settings| settings.provisioning = LONG);
    fixture.create(load_balancer("s")).await;
    let patience = Options::new(CLUSTER).patience;
    let next = fixture.reconcile("s").await;
    assert!(
        matches!(next, Next::Poll(after) if after <= patience),
        "the condition would be late: {next:?}"
    );
    assert_eq!(fixture.reasons(), ["EnsuringLoadBalancer"], "it has just begun");

    fixture.restart(|reconciler| reconciler.options.report_wait_after = Duration::ZERO);
    fixture.reconcile("s").await;
    let waiting = fixture.events().pop().unwrap();
    assert_eq!((waiting.reason, waiting.kind), ("WaitingForLoadBalancer", Kind::Normal));
    let (since, what) = waiting.message.split_once(": ").unwrap();
    assert!(since.starts_with("Waiting since 2"), "{since}");
    assert!(what.ends_with("is being created"), "{what}");

    let long_ago =
        json!([{"op": "replace", "path": "/status/conditions/0/lastTransitionTime", "value": "2020-01-02T03:04:05Z"}]);
    fixture.restart(|reconciler| {
        reconciler.options.patience = Duration::ZERO;
        reconciler.options.report_wait_after = Duration::ZERO;
    });
    fixture.reconcile("s").await;
    fixture
        .patch_status("s", Patch::Json(serde_json::from_value(long_ago).unwrap()))
        .await;
    fixture.refresh("s").await;
    fixture.restart(|reconciler| reconciler.options.report_wait_after = Duration::ZERO);
    fixture.events();
    fixture.reconcile("s").await;
    let again = fixture.events().pop().unwrap();
    assert_eq!(again.message, format!("Waiting since 2020-01-02T03:04:05Z: {what}"));
}

#[tokio::test]
async fn a_deletion_that_lasts_has_an_event() {
    let mut fixture = Fixture::new().await;
    fixture.cloud.configure(|settings| settings.deletion = LONG);
    fixture.create_ready().await;
    fixture.restart(|reconciler| reconciler.options.report_wait_after = Duration::ZERO);
    fixture.delete("s").await;
    fixture.reconcile("s").await;
    assert_eq!(fixture.reasons(), ["DeletingLoadBalancer", "WaitingForLoadBalancer"]);
}

#[rstest]
#[case::invalid(Failure::Invalid { field: "annotation x".into(), reason: "must be a number".into() }, "False Invalid", "failed to ensure load balancer: invalid annotation x: must be a number")]
#[case::not_supported(
    Failure::NotSupported,
    "False NotSupported",
    "failed to ensure load balancer: ensure-load-balancer is not supported by this cloud"
)]
#[tokio::test]
async fn a_rejected_service_is_retried_when_it_changes(
    #[case] failure: Failure,
    #[case] expected: &str,
    #[case] report: &str,
) {
    let mut fixture = Fixture::new().await;
    fixture.create(load_balancer("s")).await;
    fixture.cloud.inject(Fault::fail(failure).times(1));
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    let service = fixture.refresh("s").await.unwrap();
    assert_eq!(condition(&service), expected);
    assert_eq!(conditions::find(&service).unwrap().message, report);
    assert_eq!(fixture.failures(), [format!("Error syncing load balancer: {report}")]);
    assert!(
        fixture.reconciler.pulse.failing(Duration::ZERO).is_ok(),
        "the controller is healthy"
    );

    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.calls().len(), 1, "nothing changed");
    fixture
        .change("s", json!({"metadata": {"annotations": {"x": "1"}}}))
        .await;
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.condition("s").await, "True Ensured");
}

#[rstest]
#[case::unavailable(Failure::Unavailable("down".into()), "False CloudUnavailable")]
#[case::garbage(Failure::Garbage(memory::Garbage::NotJson), "False CloudUnavailable")]
#[case::denied(Failure::Denied("no".into()), "False Denied")]
#[case::quota(Failure::Quota("10 of 10".into()), "False QuotaExceeded")]
#[case::throttled(Failure::Throttled { retry_after: None }, "False Throttled")]
#[case::lost(Failure::LostAnswer, "False CloudUnavailable")]
#[tokio::test]
async fn failures_are_reported_and_retried(#[case] failure: Failure, #[case] expected: &str) {
    let mut fixture = Fixture::new().await;
    fixture.set_nodes(&["node1"]);
    fixture.create(load_balancer("s")).await;
    fixture
        .cloud
        .inject(Fault::fail(failure).operation(Operation::EnsureLoadBalancer).times(2));
    assert_eq!(fixture.reconcile("s").await, Next::Retry);
    assert_eq!(fixture.condition("s").await, expected);
    let patches = fixture.patches.count();
    assert_eq!(fixture.reconcile("s").await, Next::Retry);
    assert_eq!(fixture.patches.count(), patches, "it is reported once");
    assert_eq!(
        fixture.reasons(),
        [
            "EnsuringLoadBalancer",
            "SyncLoadBalancerFailed",
            "SyncLoadBalancerFailed"
        ]
    );
    assert_eq!(
        fixture.reconciler.metrics.failures.with_label_values(&["ensure"]).get(),
        2
    );

    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.condition("s").await, "True Ensured");
    assert_eq!(fixture.reasons(), ["EnsuredLoadBalancer"]);
    assert_eq!(fixture.cloud.load_balancers().len(), 1);
}

#[tokio::test]
async fn another_controller_implements_the_load_balancer() {
    let mut fixture = Fixture::new().await;
    fixture.set_nodes(&["node1"]);
    fixture.create(load_balancer("s")).await;
    fixture.cloud.inject(Fault::fail(Failure::ImplementedElsewhere));
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!((fixture.reasons(), fixture.patches.count()), (vec![ENSURED[0]], 1));
    fixture.set_nodes(&["node1", "node2"]);
    fixture.fan_out(1).await;
    assert_eq!(fixture.calls().len(), 1);

    fixture.delete("s").await;
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.refresh("s").await, None, "the finalizer is removed");
}

#[tokio::test]
async fn another_controller_implements_the_hosts() {
    let mut fixture = Fixture::new().await;
    fixture.create_ready().await;
    fixture
        .cloud
        .inject(Fault::fail(Failure::ImplementedElsewhere).operation(Operation::UpdateHosts));
    fixture.set_nodes(&["node1"]);
    fixture.fan_out(1).await;
    fixture.fan_out(1).await;
    assert_eq!(
        (fixture.calls().len(), fixture.reasons().len(), fixture.patches.count()),
        (1, 0, 0)
    );
}

#[tokio::test]
async fn a_failed_update_of_hosts_is_reported_until_it_succeeds() {
    let mut fixture = Fixture::new().await;
    fixture.create_ready().await;
    fixture.set_nodes(&["node1"]);
    fixture
        .cloud
        .inject(Fault::fail(Failure::Unavailable("down".into())).times(1));
    assert_eq!(fixture.reconcile("s").await, Next::Retry);
    assert_eq!(fixture.condition("s").await, "True HostsOutdated");
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.condition("s").await, "True Ensured");
}

#[tokio::test]
async fn nothing_is_created_without_the_finalizer() {
    let mut fixture = Fixture::new().await;
    fixture.create(load_balancer("s")).await;
    fixture.patches.refuse(403, "Forbidden");
    assert_eq!(fixture.reconcile("s").await, Next::Retry);
    assert_eq!(fixture.calls(), [""; 0]);
    let expected = "Error syncing load balancer: failed to add load balancer cleanup finalizer: refused: Forbidden";
    assert_eq!(fixture.failures(), [expected]);
    assert_eq!(fixture.reconcile("s").await, Next::Done);
}

#[tokio::test]
async fn a_deletion_waits_for_the_cloud() {
    let mut fixture = Fixture::new().await;
    fixture.cloud.configure(|settings| settings.deletion = SOON);
    fixture.create_ready().await;
    fixture.delete("s").await;
    assert!(matches!(fixture.reconcile("s").await, Next::Poll(_)));
    let service = fixture.refresh("s").await.unwrap();
    assert!(has_finalizer(&service));
    assert_eq!(condition(&service), "False Deleting");
    assert!(matches!(fixture.reconcile("s").await, Next::Poll(_)));
    assert_eq!(
        (fixture.reasons(), fixture.patches.count()),
        (vec!["DeletingLoadBalancer"], 1)
    );

    let gone = || async {
        fixture
            .cloud
            .load_balancers()
            .is_empty()
            .then_some(())
            .ok_or("it exists")
    };
    testkit::wait::until("the deletion", gone).await;
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.refresh("s").await, None);
    assert_eq!(fixture.reasons(), ["DeletedLoadBalancer"]);
    assert!(!fixture.has_state("s"));
}

#[tokio::test]
async fn the_deletion_of_a_rejected_service_is_retried() {
    let mut fixture = Fixture::new().await;
    fixture.create_ready().await;
    fixture.delete("s").await;
    let invalid = Failure::Invalid {
        field: "annotation x".into(),
        reason: "bad".into(),
    };
    fixture.cloud.inject(Fault::fail(invalid).times(1));
    assert_eq!(fixture.reconcile("s").await, Next::Retry);
    let expected = "Error syncing load balancer: failed to delete load balancer: invalid annotation x: bad";
    assert_eq!(fixture.failures(), [expected]);
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.refresh("s").await, None);
}

/// The user makes a mistake, and then all Nodes are replaced: the existing load balancer continues to serve.
#[rstest]
#[case::refused(Failure::Invalid { field: "annotation x".into(), reason: "bad".into() }, Next::Done)]
#[case::failing(Failure::Unavailable("the key manager is down".into()), Next::Retry)]
#[tokio::test]
async fn hosts_of_a_load_balancer_that_cannot_be_ensured_follow_the_nodes(
    #[case] failure: Failure,
    #[case] next: Next,
) {
    let mut fixture = Fixture::new().await;
    fixture.set_nodes(&["node1"]);
    fixture.create_ready().await;
    fixture.calls();
    fixture
        .cloud
        .inject(Fault::fail(failure).operation(Operation::EnsureLoadBalancer));
    fixture
        .change("s", json!({"metadata": {"annotations": {"x": "bad"}}}))
        .await;
    assert_eq!(fixture.reconcile("s").await, next);
    let reported = fixture.condition("s").await;
    fixture.reasons();

    fixture.set_nodes(&["node2"]);
    assert_eq!(fixture.reconcile("s").await, next);
    assert_eq!(fixture.host_names(), ["node2"]);
    assert!(fixture.reasons().contains(&"UpdatedLoadBalancer"));
    assert_eq!(fixture.condition("s").await, reported, "the mistake is still reported");
    fixture.calls();
    assert_eq!(fixture.reconcile("s").await, next);
    assert!(
        !fixture.calls().iter().any(|call| call.starts_with("update")),
        "they are updated once"
    );
}

/// After a restart the previous hosts are not known.
#[tokio::test]
async fn only_known_changes_of_hosts_are_reported() {
    let mut fixture = Fixture::new().await;
    fixture.set_nodes(&["node1"]);
    fixture.create_ready().await;
    let down = Failure::Unavailable("the key manager is down".into());
    fixture
        .cloud
        .inject(Fault::fail(down).operation(Operation::EnsureLoadBalancer));
    fixture.restart(|_| ());
    assert_eq!(fixture.reconcile("s").await, Next::Retry);
    assert_eq!(
        fixture.calls(),
        ["ensure-load-balancer s node1", "update-hosts s node1"]
    );
    assert_eq!(fixture.reasons(), ["SyncLoadBalancerFailed"]);

    fixture.set_nodes(&[]);
    assert_eq!(fixture.reconcile("s").await, Next::Retry);
    assert_eq!(fixture.reasons(), ["SyncLoadBalancerFailed", "UnAvailableLoadBalancer"]);
    fixture.set_nodes(&["node2"]);
    assert_eq!(fixture.reconcile("s").await, Next::Retry);
    assert_eq!(fixture.reasons(), ["SyncLoadBalancerFailed", "UpdatedLoadBalancer"]);
}

#[tokio::test]
async fn rejected_hosts_do_not_block_others() {
    let mut fixture = Fixture::new().await;
    fixture.set_nodes(&["node1"]);
    fixture.create_ready().await;
    let invalid = Failure::Invalid {
        field: "member".into(),
        reason: "bad".into(),
    };
    fixture
        .cloud
        .inject(Fault::fail(invalid).operation(Operation::UpdateHosts).times(1));
    fixture.set_nodes(&["node2"]);
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.host_names(), ["node1"]);
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.host_names(), ["node1"], "the same hosts are not tried twice");
    fixture.set_nodes(&["node3"]);
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.host_names(), ["node3"]);
}

#[tokio::test]
async fn a_change_of_type_deletes_and_can_be_reverted() {
    let mut fixture = Fixture::new().await;
    fixture.set_nodes(&["node1"]);
    fixture.create_ready().await;
    fixture.change("s", json!({"spec": {"type": "NodePort"}})).await;
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.reasons(), ["DeletingLoadBalancer", "DeletedLoadBalancer"]);
    let service = fixture.refresh("s").await.unwrap();
    assert!(!has_finalizer(&service) && ingress(&service).is_empty() && condition(&service).is_empty());

    fixture.change("s", json!({"spec": {"type": "LoadBalancer"}})).await;
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.reasons(), ENSURED);
    assert_eq!(fixture.cloud.load_balancers().len(), 1);
}

/// As in the Go framework: there is no event that the deletion begins.
#[tokio::test]
async fn a_finalizer_without_a_load_balancer_is_removed() {
    let mut fixture = Fixture::new().await;
    fixture.create(cluster_ip("s").finalizer(FINALIZER)).await;
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.reasons(), ["DeletedLoadBalancer"]);
    assert!(!has_finalizer(&fixture.refresh("s").await.unwrap()));
}

/// Deletes the Service without its finalizer, and creates another one with its name.
async fn replace(fixture: &Fixture) -> Arc<Service> {
    fixture.strip_finalizers("s").await;
    fixture.delete("s").await;
    fixture.create(load_balancer("s")).await
}

#[tokio::test]
async fn another_service_of_the_same_name_gets_a_load_balancer_of_its_own() {
    let mut fixture = Fixture::new().await;
    fixture.set_nodes(&["node1"]);
    let old = fixture.create_ready().await;
    let new = replace(&fixture).await;
    assert_ne!(old.uid(), new.uid());
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(
        fixture.calls(),
        ["delete-load-balancer s", "ensure-load-balancer s node1"]
    );
    let mut reasons = vec!["DeletingLoadBalancer", "DeletedLoadBalancer"];
    reasons.extend(ENSURED);
    assert_eq!(fixture.reasons(), reasons);
    assert_eq!(fixture.cloud.load_balancers()[0].service.uid, new.uid().unwrap());
}

#[tokio::test]
async fn a_write_does_not_reach_another_service_of_the_same_name() {
    let mut fixture = Fixture::new().await;
    let old = fixture.create_ready().await;
    replace(&fixture).await;
    let readiness = Readiness::provisioning("x");
    let new = write::with_status(&old, &cloud::Status::default(), &readiness, Timestamp::now()).unwrap();
    let writer = Writer::new(fixture.client.clone());
    assert!(matches!(writer.write(&old, &new).await, Err(write::Error::NotFound)));
    let current = fixture.refresh("s").await.unwrap();
    assert!(condition(&current).is_empty() && !has_finalizer(&current));
}

// upstream: TestPatchService
#[rstest]
#[case("concurrent annotation update is preserved, finalizer+status applied, spec change discarded")]
#[tokio::test]
async fn patches_only_its_own_fields(#[case] name: &str) {
    let fixture = Fixture::new().await;
    let origin = fixture.create(load_balancer("s")).await;
    fixture
        .change("s", json!({"metadata": {"annotations": {"foo": "bar"}}}))
        .await;
    let mut new = (*origin).clone();
    new.metadata.finalizers = Some(vec!["example.com/foo".into()]);
    new.spec.as_mut().unwrap().cluster_ip = Some("10.0.0.2".into());
    new.status = load_balancer("s").ingress_ip("8.8.8.8").build().status;
    let writer = Writer::new(fixture.client.clone());
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
async fn other_finalizers_and_conditions_are_kept() {
    let fixture = Fixture::new().await;
    fixture.create(load_balancer("s").finalizer("example.com/first")).await;
    fixture.reconcile("s").await;
    let others = json!({"metadata": {"finalizers": ["example.com/first", FINALIZER, "example.com/last"]}});
    fixture.change("s", others).await;
    let theirs = json!({"status": {"conditions": [{
        "type": "example.com/Other", "status": "True", "reason": "X", "message": "", "lastTransitionTime": "2020-01-01T00:00:00Z",
    }]}});
    fixture.patch_status("s", Patch::Strategic(theirs)).await;
    fixture.delete("s").await;
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    let left = fixture.refresh("s").await.unwrap();
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
    let mut fixture = Fixture::new().await;
    fixture.create(load_balancer("s").finalizer(FINALIZER)).await;
    fixture.create(load_balancer("t")).await;
    let gated = Memory::new(&fixture.cloud).with_gate(Arc::new(|| Err(cloud::Error::NotLeader)));
    let fenced = Writer::new(Patches::fenced());
    fixture.restart(|reconciler| {
        reconciler.provider = Arc::new(gated);
        reconciler.writer = fenced;
    });
    assert_eq!(
        (fixture.reconcile("s").await, fixture.reconcile("t").await),
        (Next::Retry, Next::Retry)
    );
    assert_eq!((fixture.cloud.load_balancers().len(), fixture.patches.count()), (0, 0));
    assert_eq!(fixture.failures(), [""; 0]);
}

#[tokio::test]
async fn a_class_can_be_served() {
    let mut fixture = Fixture::new().await;
    let classes = Classes {
        named: ["example.com/ours".to_owned()].into(),
        classless: Classless::Ignored,
    };
    fixture.restart(|reconciler| reconciler.options.classes = classes);
    fixture.create(load_balancer("ours").class("example.com/ours")).await;
    fixture
        .create(load_balancer("theirs").class("example.com/theirs"))
        .await;
    fixture.create(load_balancer("classless")).await;
    for name in ["ours", "theirs", "classless"] {
        fixture.reconcile(name).await;
    }
    assert_eq!(fixture.calls(), ["ensure-load-balancer ours"]);

    // It may have a load balancer of another manager.
    fixture.create(cluster_ip("unknown").finalizer(FINALIZER)).await;
    fixture.reconcile("unknown").await;
    assert_eq!(fixture.calls(), ["find-load-balancer unknown"]);
    assert!(has_finalizer(&fixture.refresh("unknown").await.unwrap()));

    // It has a load balancer of this manager, which has restarted.
    fixture
        .change(
            "ours",
            json!({"spec": {"type": "ClusterIP", "loadBalancerClass": null}}),
        )
        .await;
    fixture.restart(|_| ());
    fixture.reconcile("ours").await;
    assert_eq!(
        fixture.calls(),
        ["find-load-balancer ours", "delete-load-balancer ours"]
    );
    assert!(!has_finalizer(&fixture.refresh("ours").await.unwrap()));
}

#[tokio::test]
async fn a_service_that_is_deleted_before_the_first_call_is_forgotten() {
    let mut fixture = Fixture::new().await;
    fixture.create(load_balancer("s")).await;
    fixture.api().delete("s", &DeleteParams::default()).await.unwrap();
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.calls(), [""; 0]);
    assert_eq!(fixture.failures(), [""; 0]);
    assert!(!fixture.has_state("s"));
}

#[tokio::test]
async fn a_service_that_is_deleted_during_the_creation_leaves_nothing() {
    let fixture = Fixture::new().await;
    fixture.create(load_balancer("s").finalizer(FINALIZER)).await;
    let hang = fixture
        .cloud
        .inject(Fault::hang().operation(Operation::EnsureLoadBalancer));
    let meanwhile = async {
        fixture
            .cloud
            .until(|cloud| cloud.count(Operation::EnsureLoadBalancer) == 1)
            .await;
        fixture.strip_finalizers("s").await;
        fixture.delete("s").await;
        fixture.cloud.withdraw(hang);
    };
    let (next, ()) = tokio::join!(fixture.reconcile("s"), meanwhile);
    assert_eq!(next, Next::Poll(Duration::ZERO));
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.cloud.load_balancers(), []);
}

#[tokio::test]
async fn a_deletion_after_a_restart_continues_without_the_service() {
    let mut fixture = Fixture::new().await;
    fixture.create_ready().await;
    fixture.delete("s").await;
    fixture.restart(|_| ());
    fixture
        .cloud
        .inject(Fault::fail(Failure::Unavailable("down".into())).times(1));
    assert_eq!(fixture.reconcile("s").await, Next::Retry);
    fixture.strip_finalizers("s").await;
    assert_eq!(fixture.refresh("s").await, None);
    assert_eq!(fixture.reconcile("s").await, Next::Done);
    assert_eq!(fixture.cloud.load_balancers(), []);
}

/// As in the Go framework, it is retried every half minute.
#[tokio::test]
async fn a_deletion_that_fails_is_retried_often() {
    let mut fixture = Fixture::new().await;
    fixture.create_ready().await;
    fixture.delete("s").await;
    fixture.cloud.inject(Fault::fail(Failure::Unavailable("down".into())));
    assert_eq!(fixture.reconcile("s").await, Next::Retry);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::time::resume();
    assert_eq!(fixture.reconcile("s").await, Next::After(Duration::from_secs(30)));
}
