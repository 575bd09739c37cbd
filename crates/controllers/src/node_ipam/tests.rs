//! The allocator, and the controller on a real API server.

use super::{reconcile::Reconciler, *};
use crate::nodes::{Scope, fixture::Fixture, pod_cidrs};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use kube::{Api, runtime::watcher};
use rstest::rstest;
use runtime::{
    events::{Kind, Recorder},
    health::Pulse,
    informer::{Change, Informer, Store},
    queue::Next,
};
use std::{collections::BTreeSet, sync::Arc};
use testkit::wait;

/// A Node with these CIDRs; its UID is its name.
fn node(name: &str, cidrs: &[&str]) -> Node {
    let cidrs = cidrs.iter().map(|cidr| format!("cidr:{cidr}"));
    let words: Vec<_> = cidrs.chain([format!("uid:{name}")]).collect();
    testkit::node::node(name, &words.join(" "))
}

fn options(cidrs: &str, services: &str) -> Options {
    let nets = |text: &str| {
        text.split_whitespace()
            .map(|cidr| cidr.parse().unwrap())
            .collect::<Vec<IpNet>>()
    };
    Options::new(&nets(cidrs), &nets(services), MaskSizes::default()).unwrap()
}

fn allocate(allocator: &mut Allocator, uid: &str) -> String {
    let cidrs = allocator.allocate(uid).unwrap_or_default();
    cidrs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn dual_stack_gets_one_of_each() {
    let mut allocator = Allocator::new(&options("10.0.0.0/22 fd00::/62", ""));
    assert_eq!(allocate(&mut allocator, "a"), "10.0.0.0/24 fd00::/64");
    assert_eq!(allocate(&mut allocator, "b"), "10.0.1.0/24 fd00:0:0:1::/64");
}

#[test]
fn allocating_again_returns_the_same() {
    let mut allocator = Allocator::new(&options("10.0.0.0/22", ""));
    assert_eq!(allocate(&mut allocator, "a"), "10.0.0.0/24");
    assert_eq!(allocate(&mut allocator, "a"), "10.0.0.0/24");
}

#[test]
fn cidrs_of_services_and_existing_nodes_are_not_allocated() {
    let mut allocator = Allocator::new(&options("10.0.0.0/22", "10.0.0.0/24"));
    assert_eq!(allocator.record(&node("old", &["10.0.1.0/24"])), Recorded::Managed);
    assert_eq!(allocate(&mut allocator, "new"), "10.0.2.0/24");
    allocator.release("old");
    assert_eq!(allocate(&mut allocator, "newer"), "10.0.3.0/24");
    assert_eq!(allocate(&mut allocator, "newest"), "10.0.1.0/24");
    assert_eq!(allocate(&mut allocator, "none left"), "");
}

#[test]
fn without_a_cidr_of_one_family_none_of_the_other_is_allocated() {
    let mut allocator = Allocator::new(&options("10.0.0.0/24 fd00::/62", ""));
    assert_eq!(allocate(&mut allocator, "a"), "10.0.0.0/24 fd00::/64");
    assert_eq!(allocate(&mut allocator, "b"), "");
    allocator.release("a");
    assert_eq!(allocate(&mut allocator, "b"), "10.0.0.0/24 fd00:0:0:1::/64");
}

#[test]
fn foreign_cidrs_are_reported_and_not_managed() {
    let mut allocator = Allocator::new(&options("10.0.0.0/22", ""));
    let foreign = allocator.record(&node("old", &["192.168.0.0/24", "nonsense"]));
    assert_eq!(
        foreign,
        Recorded::Foreign(vec!["192.168.0.0/24".into(), "nonsense".into()])
    );
    assert_eq!(allocate(&mut allocator, "a"), "10.0.0.0/24");
}

#[test]
fn a_write_without_an_answer_is_recorded_from_the_node() {
    let mut allocator = Allocator::new(&options("10.0.0.0/22", ""));
    assert_eq!(allocate(&mut allocator, "a"), "10.0.0.0/24");
    assert_eq!(allocator.record(&node("a", &["10.0.0.0/24"])), Recorded::Managed);
    allocator.release("a");
    assert_eq!(allocator.allocate("b").map(|cidrs| cidrs.len()), Some(1));
}

/// A reconciler whose API server has this status for every request, and calls `requested` for each.
fn refused(code: u16, range: &str, requested: impl Fn(&Store<Node>) + Clone + Send + Sync + 'static) -> Reconciler {
    let store = Arc::new(std::sync::OnceLock::<Store<Node>>::new());
    let known = store.clone();
    let send = move |_: http::Request<kube::client::Body>| {
        known.get().iter().for_each(|store| requested(store));
        let refusal = kube::core::Status::failure("no", "No").with_code(code);
        let body = kube::client::Body::from(serde_json::to_vec(&refusal).unwrap());
        let answer = http::Response::builder().status(code).body(body).unwrap();
        std::future::ready(Ok::<_, kube::Error>(answer))
    };
    let client = kube::Client::new(tower::service_fn(send), "default");
    let informer = Informer::new(Api::all(client.clone()), watcher::Config::default(), |_| {});
    store.set(informer.store()).ok();
    informer.store().insert(node("a", &[]));
    let (sender, _) = tokio::sync::mpsc::channel(1);
    Reconciler::new(Context {
        client,
        nodes: informer,
        recorder: Recorder::new(COMPONENT, sender),
        queue: queue(None),
        scope: Scope::default(),
        pulse: Pulse::default(),
        options: options(range, ""),
    })
}

/// After a gap in the watch, a list has another Node with the name of the one that had the CIDR.
#[rstest]
#[case::another_node("other", "10.0.0.0/24")]
#[case::the_same_node("a", "")]
#[tokio::test]
async fn the_cidr_of_a_node_is_free_when_another_has_its_name(#[case] uid: &str, #[case] expected: &str) {
    let reconciler = refused(404, "10.0.0.0/24", |_| panic!("a write"));
    let old = Arc::new(node("a", &["10.0.0.0/24"]));
    assert!(reconciler.handle(&Change::Added(old.clone())).is_none());
    let mut new = node("a", &[]);
    new.metadata.uid = Some(uid.to_owned());
    let change = Change::Updated {
        old,
        new: Arc::new(new),
    };
    let returned = reconciler.handle(&change).map(|node| node.metadata.uid.clone());
    assert_eq!(returned, Some(Some(uid.to_owned())), "it has no CIDR");
    assert_eq!(allocate(&mut reconciler.allocator(), "next"), expected);
}

#[tokio::test]
async fn a_cidr_is_free_when_its_node_was_deleted_before_the_allocation() {
    let reconciler = refused(404, "10.0.0.0/24", |nodes| drop(nodes.remove("a")));
    // The deletion is handled before a CIDR is allocated.
    reconciler.handle(&Change::Deleted(Arc::new(node("a", &[]))));
    assert_eq!(reconciler.reconcile("a").await, Next::Done);
    assert_eq!(allocate(&mut reconciler.allocator(), "b"), "10.0.0.0/24");
}

/// The Node that has the name after the write.
#[rstest]
#[case::gone(404, "a", Next::Done)]
#[case::another_has_its_name(409, "other", Next::Done)]
#[case::a_conflict(409, "a", Next::Retry)]
#[tokio::test]
async fn a_refused_write_is_retried_unless_the_node_is_gone(#[case] code: u16, #[case] uid: &str, #[case] next: Next) {
    let mut current = node("a", &[]);
    current.metadata.uid = Some(uid.to_owned());
    let reconciler = refused(code, "10.0.0.0/24", move |nodes| drop(nodes.insert(current.clone())));
    assert_eq!(reconciler.reconcile("a").await, next);
    let expected = if uid == "a" { "" } else { "10.0.0.0/24" };
    assert_eq!(
        allocate(&mut reconciler.allocator(), "b"),
        expected,
        "an existing node keeps its allocation"
    );
}

/// A running controller with this client, and these cluster CIDRs.
fn start(client: Option<kube::Client>, ranges: &str) -> (Fixture, Pulse) {
    let mut fixture = Fixture::new();
    let pulse = Pulse::default();
    let context = Context {
        client: client.unwrap_or_else(|| fixture.client.clone()),
        nodes: fixture.informer.clone(),
        recorder: fixture.recorder(COMPONENT),
        queue: queue(None),
        scope: fixture.scope(),
        pulse: pulse.clone(),
        options: options(ranges, ""),
    };
    fixture.start(|cancel| run(context, cancel));
    (fixture, pulse)
}

async fn register_all(fixture: &Fixture, prefix: &str, count: usize) {
    for index in 0..count {
        fixture.register(&format!("{prefix}-{index}"), "").await;
    }
}

/// The CIDRs of all Nodes, once they have them: one of each family, and none twice.
async fn assigned(fixture: &Fixture, families: usize) -> BTreeSet<Vec<String>> {
    let nodes = wait::until("CIDRs", || async {
        let nodes = fixture.list().await;
        let missing = nodes.iter().filter(|node| pod_cidrs(node).is_empty()).count();
        if missing == 0 { Ok(nodes) } else { Err(missing) }
    })
    .await;
    let mut assigned = BTreeSet::new();
    for node in nodes {
        let cidrs = pod_cidrs(&node).to_vec();
        assert_eq!(cidrs.len(), families, "{cidrs:?}");
        assert_eq!(node.spec.unwrap().pod_cidr.as_ref(), cidrs.first());
        assert!(assigned.insert(cidrs), "assigned twice");
    }
    assigned
}

/// So few CIDRs that the second Nodes can only get those of the first.
#[rstest]
#[case::v4("10.200.0.0/22", 1)]
#[case::v6("fd00:200::/62", 1)]
#[case::dual("10.205.0.0/22 fd00:205::/62", 2)]
#[tokio::test]
async fn nodes_get_disjoint_cidrs_and_release_them(#[case] ranges: &str, #[case] families: usize) {
    let (fixture, _) = start(None, ranges);
    register_all(&fixture, "old", 4).await;
    let old = assigned(&fixture, families).await;
    for index in 0..4 {
        fixture.delete(&format!("old-{index}")).await;
    }
    register_all(&fixture, "new", 4).await;
    assert_eq!(assigned(&fixture, families).await, old);
    fixture.finish().await;
}

#[tokio::test]
async fn reports_that_no_cidr_is_left() {
    let (mut fixture, pulse) = start(None, "10.202.0.0/24");
    fixture.register("a", "").await;
    assigned(&fixture, 1).await;
    fixture.register("b", "").await;
    let (event, name) = (fixture.until_event("CIDRNotAvailable").await, fixture.name("b"));
    assert_eq!(event.message, format!("Node {name} status is now: CIDRNotAvailable"));
    assert_eq!((event.kind, event.regarding.name), (Kind::Normal, Some(name)));
    Fixture::until_failing(&pulse, "no range is left in --cluster-cidr").await;
    fixture.finish().await;
}

#[tokio::test]
async fn reports_that_a_cidr_could_not_be_written() {
    let user = lab::unique("powerless");
    let file = lab::ControlPlane::shared().kubeconfig_for(&user, &[]);
    let file = kube::config::Kubeconfig::read_from(file).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &kube::config::KubeConfigOptions::default()).await;
    let powerless = kube::Client::try_from(config.unwrap()).unwrap();
    let (mut fixture, pulse) = start(Some(powerless), "10.204.0.0/16");
    fixture.register("a", "").await;
    let (event, name) = (fixture.until_event("CIDRAssignmentFailed").await, fixture.name("a"));
    assert_eq!(
        event.message,
        format!("Node {name} status is now: CIDRAssignmentFailed")
    );
    assert_eq!((event.kind, event.regarding.name), (Kind::Normal, Some(name)));
    let reason = format!("User \"{user}\" cannot patch resource \"nodes\"");
    Fixture::until_failing(&pulse, &reason).await;
    assert_eq!(pod_cidrs(&fixture.get("a").await), [""; 0]);
    fixture.finish().await;
}
