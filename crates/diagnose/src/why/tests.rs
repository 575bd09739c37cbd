//! Golden texts: a snapshot, and the report that a user reads.

use super::*;
use k8s_openapi::{
    api::core::v1::NodeCondition,
    jiff::{SignedDuration, Timestamp},
};
use kube::ResourceExt;
use rstest::rstest;
use serde_json::{Value, json};
use testkit::service::load_balancer;

/// The time of all snapshots; objects are older than that.
const NOW: &str = "2026-01-02T12:00:00Z";

fn at(minutes_ago: i64) -> String {
    let now: Timestamp = NOW.parse().unwrap();
    format!("{:.6}", now - SignedDuration::from_mins(minutes_ago))
}

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn service(status: Value) -> Object {
    let mut service = load_balancer("web")
        .finalizer("service.kubernetes.io/load-balancer-cleanup")
        .build();
    service.metadata.creation_timestamp = Some(object(json!(at(20))));
    service.status = Some(object(status));
    Object::Service(Box::new(service))
}

fn not_ready(reason: &str, message: &str) -> Object {
    service(json!({"conditions": [{
        "type": "outrigger.dev/LoadBalancerReady", "status": "False", "reason": reason, "message": message,
        "lastTransitionTime": at(12),
    }]}))
}

fn node(words: &str, conditions: Value) -> Object {
    let mut node = testkit::node::node("worker-1", words);
    node.metadata.creation_timestamp = Some(object(json!(at(5))));
    let status = node.status.get_or_insert_default();
    let more: Vec<NodeCondition> = object(conditions);
    status.conditions.get_or_insert_default().extend(more);
    Object::Node(Box::new(node))
}

fn event(minutes_ago: i64, kind: &str, reason: &str, message: &str, count: i32) -> Event {
    object(json!({
        "metadata": {}, "involvedObject": {}, "type": kind, "reason": reason, "message": message, "count": count,
        "firstTimestamp": at(minutes_ago + 1), "lastTimestamp": at(minutes_ago),
    }))
}

/// A leader on `control-1` that renewed its lease as many minutes ago.
fn led(object_: Object, renewed: i64) -> Snapshot {
    let lease = json!({
        "metadata": {"namespace": "kube-system", "name": "cloud-controller-manager"},
        "spec": {"holderIdentity": "control-1_6f0e", "leaseDurationSeconds": 15, "renewTime": at(renewed)},
    });
    let pod = json!({
        "metadata": {"namespace": "kube-system", "name": "ccm-abcde"},
        "spec": {"nodeName": "control-1", "containers": []},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    Snapshot {
        now: NOW.parse().unwrap(),
        object: object_,
        events: Vec::new(),
        leases: Some(vec![object(lease)]),
        pods: Some(vec![object(pod)]),
        log: Vec::new(),
        cloud: None,
        unknown: Vec::new(),
    }
}

const LED: &str = "lease    kube-system/cloud-controller-manager is held by control-1_6f0e (Pod ccm-abcde on control-1); last renewed 0 s ago";

#[test]
fn a_service_whose_load_balancer_is_being_created() {
    let mut snapshot = led(
        not_ready("Provisioning", "load balancer \"kube_web\" is PENDING_CREATE"),
        0,
    );
    snapshot.events = vec![
        event(11, "Normal", "EnsuringLoadBalancer", "Ensuring load balancer", 1),
        event(
            2,
            "Normal",
            "WaitingForLoadBalancer",
            "Waiting since 2026-01-02T11:48:00Z: it is PENDING_CREATE",
            3,
        ),
    ];
    snapshot.cloud = Some("it has the load balancer kube_web, without an address yet".to_owned());
    snapshot.unknown = vec!["the log of Pod kube-system/ccm-abcde: pods/log is forbidden".to_owned()];
    let expected = format!(
        "Service default/web waits for a load balancer, since 2026-01-02T11:48:00Z (12 min).\n\
         The manager reports Provisioning: load balancer \"kube_web\" is PENDING_CREATE.\n\
         \n\
         Whose turn:  the cloud's\n\
         What to do:  nothing, unless it takes longer than usual: then look at the load balancer in the cloud\n\
         \n\
         Seen:\n  {LED}\n  \
         event    2 min ago, Normal WaitingForLoadBalancer (3 times): Waiting since 2026-01-02T11:48:00Z: it is PENDING_CREATE\n  \
         event    11 min ago, Normal EnsuringLoadBalancer: Ensuring load balancer\n  \
         cloud    it has the load balancer kube_web, without an address yet\n\
         \n\
         Not known:\n  the log of Pod kube-system/ccm-abcde: pods/log is forbidden\n"
    );
    assert_eq!(explain(&snapshot).to_string(), expected);
}

#[test]
fn a_service_without_a_running_manager() {
    let mut snapshot = led(service(json!({})), 9);
    let pod = json!({
        "metadata": {"namespace": "kube-system", "name": "ccm-abcde"}, "spec": {"containers": []},
        "status": {"containerStatuses": [{
            "name": "ccm", "image": "", "imageID": "", "ready": false, "restartCount": 4,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}},
            "lastState": {"terminated": {"exitCode": 1}},
        }]},
    });
    snapshot.pods = Some(vec![object(pod)]);
    snapshot.log = vec![LogLine {
        pod: "ccm-abcde".to_owned(),
        line: "Error: unknown flag: --cloud-confg".to_owned(),
    }];
    let expected = "Service default/web waits for a load balancer, since 2026-01-02T11:40:00Z (20 min).\n\
         No cloud controller manager is at work: control-1_6f0e last renewed Lease kube-system/cloud-controller-manager 9 min ago.\n\
         \n\
         Whose turn:  the cluster administrator's\n\
         What to do:  start the cloud controller manager, or correct what keeps its Pods from running\n\
         \n\
         Seen:\n  \
         lease    kube-system/cloud-controller-manager was held by control-1_6f0e; last renewed 9 min ago\n  \
         Pod      ccm-abcde: CrashLoopBackOff, last exit code 1: back-off 5m0s\n  \
         log      ccm-abcde: Error: unknown flag: --cloud-confg\n";
    assert_eq!(explain(&snapshot).to_string(), expected);
}

/// The state, whose turn it is, and the last sentence.
fn summary(snapshot: &Snapshot) -> (State, Turn, String) {
    let Finding {
        state,
        mut sentences,
        turn,
        advice,
    } = explain(snapshot).finding;
    assert!(!advice.is_empty() && !advice.ends_with('.'), "{advice}");
    (state, turn, sentences.pop().unwrap())
}

#[rstest]
#[case::provisioning("Provisioning", State::Waiting, Turn::Cloud)]
#[case::deleting("Deleting", State::Waiting, Turn::Cloud)]
#[case::invalid("Invalid", State::Stuck, Turn::Owner)]
#[case::not_supported("NotSupported", State::Stuck, Turn::Owner)]
#[case::quota("QuotaExceeded", State::Stuck, Turn::Account)]
#[case::denied("Denied", State::Stuck, Turn::Cluster)]
#[case::throttled("Throttled", State::Waiting, Turn::Cloud)]
#[case::unavailable("CloudUnavailable", State::Waiting, Turn::Cloud)]
#[case::failed("Failed", State::Stuck, Turn::Cluster)]
fn conditions_of_services(#[case] reason: &str, #[case] state: State, #[case] turn: Turn) {
    let expected = format!("The manager reports {reason}: because.");
    assert_eq!(summary(&led(not_ready(reason, "because."), 0)), (state, turn, expected));
}

/// Other managers set no condition.
#[rstest]
#[case::failed(&[(9, "EnsuringLoadBalancer"), (8, "SyncLoadBalancerFailed")], State::Stuck, Turn::Cluster, "The last event of a manager is: m.")]
#[case::failed_before(&[(9, "SyncLoadBalancerFailed"), (8, "EnsuringLoadBalancer")], State::Waiting, Turn::Cloud, "The last event of a manager is: m.")]
#[case::of_another(&[(9, "Scheduled")], State::Stuck, Turn::Cluster, "No manager has started to reconcile it, or its events have expired.")]
fn events_of_services(
    #[case] events: &[(i64, &str)],
    #[case] state: State,
    #[case] turn: Turn,
    #[case] expected: &str,
) {
    let mut snapshot = led(service(json!({})), 0);
    let events = events
        .iter()
        .map(|(ago, reason)| event(*ago, "Normal", reason, "m.", 1));
    snapshot.events = events.collect();
    assert_eq!(summary(&snapshot), (state, turn, expected.to_owned()));
}

#[test]
fn a_class_that_no_manager_serves_is_named() {
    let mut web = load_balancer("web").class("example.com/east").build();
    web.metadata.creation_timestamp = None;
    let (state, _, sentence) = summary(&led(Object::Service(Box::new(web)), 0));
    assert_eq!(state, State::Stuck);
    assert!(sentence.contains("\"example.com/east\""), "{sentence}");
}

#[test]
fn a_service_that_is_served_waits_for_nothing_even_without_a_manager() {
    let status = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "a.example"}]}});
    let mut snapshot = led(service(status), 9);
    snapshot.pods = Some(Vec::new());
    let expected = "Service default/web is served at 192.0.2.1, a.example.";
    assert_eq!(summary(&snapshot), (State::Fine, Turn::Nobody, expected.to_owned()));
}

#[test]
fn finalizers_of_others_are_named() {
    let mut web = load_balancer("web").finalizer("example.com/dns").build();
    web.metadata.deletion_timestamp = Some(object(json!(at(3))));
    assert_eq!(web.name_any(), "web");
    let (state, turn, sentence) = summary(&led(Object::Service(Box::new(web)), 0));
    assert_eq!((state, turn), (State::Stuck, Turn::Owner));
    assert!(
        sentence.contains("kept by the finalizers example.com/dns"),
        "{sentence}"
    );
}

#[rstest]
#[case::machine_not_found("MachineNotFound", State::Stuck, Turn::Owner)]
#[case::no_provider_id("NoProviderID", State::Stuck, Turn::Owner)]
#[case::invalid_node_ip("InvalidNodeIP", State::Stuck, Turn::Owner)]
#[case::denied("CloudDenied", State::Stuck, Turn::Cluster)]
#[case::throttled("CloudThrottled", State::Waiting, Turn::Cloud)]
#[case::unavailable("CloudUnavailable", State::Waiting, Turn::Cloud)]
#[case::error("CloudError", State::Stuck, Turn::Cluster)]
#[case::write_refused("WriteRefused", State::Stuck, Turn::Cluster)]
fn conditions_of_nodes(#[case] reason: &str, #[case] state: State, #[case] turn: Turn) {
    let conditions =
        json!([{"type": "CloudProviderInitialized", "status": "False", "reason": reason, "message": "because"}]);
    let expected = format!("The condition CloudProviderInitialized has {reason}: because.");
    assert_eq!(summary(&led(node("tainted", conditions), 0)), (state, turn, expected));
}

#[rstest]
#[case::not_seen("tainted", json!([]), State::Stuck, "No manager has reported why.")]
#[case::shut_down("shutdown", json!([]), State::Stuck, "Node worker-1 is tainted because its machine is shut down.")]
#[case::no_route("ready:True", json!([{"type": "NetworkUnavailable", "status": "True", "reason": "NoRouteCreated", "message": "m"}]), State::Stuck, "The condition NetworkUnavailable has NoRouteCreated: m.")]
#[case::kubelet("ready:False", json!([]), State::Stuck, "Node worker-1 is initialized, but its kubelet is not ready.")]
#[case::fine("ready:True id:x://1", json!([]), State::Fine, "Node worker-1 is initialized, has the provider ID x://1, and is ready.")]
fn nodes(#[case] words: &str, #[case] conditions: Value, #[case] state: State, #[case] expected: &str) {
    let (found, _, sentence) = summary(&led(node(words, conditions), 0));
    assert_eq!((found, sentence.as_str()), (state, expected));
}

#[rstest]
#[case::not_seen(json!({}), State::Stuck, "The operator has not seen the current version of CloudControllerManager west, since an unknown time.")]
#[case::degraded(json!([["Degraded", "True"], ["Progressing", "True"]]), State::Stuck, "The operator reports R: Degraded m.")]
#[case::progressing(json!([["Progressing", "True"], ["Available", "False"]]), State::Waiting, "The operator reports R: Progressing m.")]
#[case::unavailable(json!([["Available", "False"]]), State::Stuck, "The operator reports R: Available m.")]
#[case::available(json!([["Available", "True"]]), State::Fine, "CloudControllerManager west is available: 2 of its replicas are ready.")]
fn managers_of_the_operator(#[case] conditions: Value, #[case] state: State, #[case] expected: &str) {
    let condition = |pair: &Value| {
        json!({"type": pair[0], "status": pair[1], "reason": "R", "message": format!("{} m.", pair[0].as_str().unwrap()),
            "lastTransitionTime": at(4)})
    };
    let list = conditions.as_array();
    let status = list.map(|list| {
        let conditions: Vec<_> = list.iter().map(condition).collect();
        json!({"observedGeneration": 1, "readyReplicas": 2, "conditions": conditions})
    });
    let manager = json!({
        "apiVersion": "outrigger.dev/v1alpha1", "kind": "CloudControllerManager",
        "metadata": {"name": "west", "generation": 1}, "spec": {"provider": "memory"}, "status": status,
    });
    let (found, _, sentence) = summary(&led(Object::Manager(Box::new(object(manager))), 0));
    assert_eq!((found, sentence.as_str()), (state, expected));
}

#[rstest]
#[case::led(|_: &mut Snapshot| (), managers::Work::Running)]
#[case::without_election(|it: &mut Snapshot| it.leases = Some(Vec::new()), managers::Work::Running)]
#[case::released(|it: &mut Snapshot| release(it), managers::Work::Absent("the last leader released Lease kube-system/cloud-controller-manager 0 s ago, and no other replica has taken it".into()))]
#[case::nothing(|it: &mut Snapshot| (it.leases, it.pods) = (Some(Vec::new()), Some(Vec::new())), managers::Work::Absent("there is neither a Pod nor a Lease of one".into()))]
#[case::may_not_read_leases(|it: &mut Snapshot| (it.leases, it.pods) = (None, Some(Vec::new())), managers::Work::Unknown)]
#[case::may_not_read_pods(|it: &mut Snapshot| (it.leases, it.pods) = (Some(Vec::new()), None), managers::Work::Unknown)]
#[case::may_read_nothing(|it: &mut Snapshot| (it.leases, it.pods) = (None, None), managers::Work::Unknown)]
fn whether_a_manager_is_at_work(#[case] change: fn(&mut Snapshot), #[case] expected: managers::Work) {
    let mut snapshot = led(service(json!({})), 0);
    change(&mut snapshot);
    assert_eq!(Managers::of(&snapshot).work, expected);
}

fn release(snapshot: &mut Snapshot) {
    let lease = &mut snapshot.leases.as_mut().unwrap()[0];
    lease.spec.as_mut().unwrap().holder_identity = Some(String::new());
}

#[test]
fn what_does_not_exist_is_named() {
    let missing = Object::Missing {
        what: "Service default/wbe".to_owned(),
        list: "kubectl get services".to_owned(),
    };
    let snapshot = Snapshot {
        leases: None,
        pods: None,
        ..led(missing, 0)
    };
    let expected = "Service default/wbe does not exist.\n\nWhose turn:  nobody's\nWhat to do:  check name and namespace: `kubectl get services`\n";
    assert_eq!(explain(&snapshot).to_string(), expected);
}
