mod controller;

use super::{
    controller::{affects_routes, backoff, is_in_scope, next},
    *,
};
use crate::nodes::{Scope, conditions::NETWORK_UNAVAILABLE, scope::parse_selector};
use cloud::{Address, AddressKind, Route, RouteTarget};
use ipnet::IpNet;
use k8s_openapi::{
    api::core::v1::{Node, NodeCondition},
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::Timestamp,
};
use rstest::rstest;
use runtime::{informer::Change, queue::Next};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

fn node(name: &str, cidrs: &[&str], address: &str) -> Arc<Node> {
    let cidrs = cidrs.iter().map(|cidr| format!("cidr:{cidr}"));
    let words: Vec<_> = cidrs.chain([format!("InternalIP={address}")]).collect();
    Arc::new(testkit::node::node(name, &words.join(" ")))
}

/// `node cidr` is a route of a cloud without addresses in routes, `node cidr @ip` of one with (`@` has none). The nodes
/// `blackhole` and `?` stand for these targets.
fn route(text: &str) -> Route {
    let mut words = text.split(' ');
    let target = match words.next().unwrap() {
        "blackhole" => RouteTarget::Blackhole,
        "?" => RouteTarget::Unknown,
        node => RouteTarget::Node(node.into()),
    };
    let destination = words.next().unwrap().parse().unwrap();
    let addresses = words.next().map(|word| {
        let ips = word.trim_start_matches('@').split(',').filter(|ip| !ip.is_empty());
        ips.map(|ip| Address::new(AddressKind::InternalIP, ip)).collect()
    });
    Route {
        name: text.replace(' ', "-"),
        destination,
        target,
        addresses,
    }
}

fn nets(text: &[&str]) -> Vec<IpNet> {
    text.iter().map(|cidr| cidr.parse::<IpNet>().unwrap().trunc()).collect()
}

const SINGLE: &[&str] = &["10.120.0.0/16"];
const DUAL: &[&str] = &["10.120.0.0/16", "ace:cab:deca::/8"];

fn single() -> Vec<Arc<Node>> {
    vec![
        node("node-1", &["10.120.0.0/24"], "10.0.1.1"),
        node("node-2", &["10.120.1.0/24"], "10.0.2.1"),
    ]
}

fn dual() -> Vec<Arc<Node>> {
    vec![
        node("node-3", &["10.120.0.0/24", "a00:100::/24"], "10.0.3.1"),
        node("node-4", &["10.120.1.0/24", "a00:200::/24"], "10.0.4.1"),
    ]
}

#[rstest]
#[case::zone("aws:///us-east-1a/i-1", "web")]
#[case::short("i-1", "web")]
#[case::another("aws:///us-east-1a/i-11", "?")]
fn machines_are_named_by_provider_ids(#[case] id: &str, #[case] expected: &str) {
    let node = Arc::new(testkit::node::node("web", &format!("id:{id}")));
    let mut routes = [Route {
        target: RouteTarget::Machine("i-1".into()),
        ..route("? 10.120.0.0/24")
    }];
    plan::name_targets(&mut routes, &[node]);
    assert_eq!(routes[0].target, route(&format!("{expected} 10.120.0.0/24")).target);
}

// upstream: TestIsResponsibleForRoute
#[rstest]
#[case("10.244.0.0/16 10.244.0.0/24", true)]
#[case("10.244.0.0/16 10.244.10.0/24", true)]
#[case("10.244.0.0/16 10.244.255.0/24", true)]
#[case("10.244.0.0/16 10.224.0.0/24", false)]
#[case("10.244.0.0/16 10.0.10.0/24", false)]
#[case("10.244.0.0/16 10.255.255.0/24", false)]
#[case("10.244.0.0/14 10.244.0.0/24", true)]
#[case("10.244.0.0/14 10.247.255.0/24", true)]
#[case("10.244.0.0/14 10.248.0.0/24", false)]
#[case("10.244.0.0/14 10.243.255.0/24", false)]
#[case("a00:100::/10 a00:100::/24", true)]
#[case("a00:100::/10 b00:100::/24", false)]
fn responsible(#[case] cluster_and_route: &str, #[case] expected: bool) {
    let (cluster, route) = cluster_and_route.split_once(' ').unwrap();
    assert_eq!(is_ours(&route.parse().unwrap(), &nets(&[cluster])), expected);
}

#[test]
fn a_route_that_contains_the_whole_range_is_not_ours() {
    assert!(!is_ours(&"10.0.0.0/8".parse().unwrap(), &nets(&["10.244.0.0/16"])));
    assert!(!is_ours(&"0.0.0.0/0".parse().unwrap(), &nets(&["10.244.0.0/16"])));
}

// upstream: TestReconcile
#[rstest]
#[case(
    "routes have no TargetNodeAddresses at the beginning",
    dual(), DUAL,
    &["node-3 10.120.0.0/24 @", "node-4 10.120.1.0/24 @", "node-3 a00:100::/24 @", "node-4 a00:200::/24 @"],
    "-node-3 10.120.0.0/24, -node-3 a00:100::/24, -node-4 10.120.1.0/24, -node-4 a00:200::/24, \
     +node-3 10.120.0.0/24, +node-3 a00:100::/24, +node-4 10.120.1.0/24, +node-4 a00:200::/24"
)]
#[case(
    "routes' TargetNodeAddresses changed",
    dual(), DUAL,
    &["node-3 10.120.0.0/24 @10.0.13.1", "node-4 10.120.1.0/24 @10.0.14.1", "node-3 a00:100::/24 @10.0.13.1", "node-4 a00:200::/24 @10.0.14.1"],
    "-node-3 10.120.0.0/24, -node-3 a00:100::/24, -node-4 10.120.1.0/24, -node-4 a00:200::/24, \
     +node-3 10.120.0.0/24, +node-3 a00:100::/24, +node-4 10.120.1.0/24, +node-4 a00:200::/24"
)]
#[case(
    "multicidr 2 nodes and no routes",
    dual(), DUAL, &[],
    "+node-3 10.120.0.0/24, +node-3 a00:100::/24, +node-4 10.120.1.0/24, +node-4 a00:200::/24"
)]
#[case(
    "multicidr 2 nodes and all routes created",
    dual(), DUAL,
    &["node-3 10.120.0.0/24 @10.0.3.1", "node-4 10.120.1.0/24 @10.0.4.1", "node-3 a00:100::/24 @10.0.3.1", "node-4 a00:200::/24 @10.0.4.1"],
    "keep"
)]
#[case(
    "multicidr 2 nodes and few wrong routes",
    dual(), DUAL,
    &["node-4 10.120.0.0/24", "node-3 10.120.1.0/24", "node-4 a00:100::/24", "node-3 a00:200::/24"],
    "-node-3 10.120.1.0/24, -node-3 a00:200::/24, -node-4 10.120.0.0/24, -node-4 a00:100::/24, \
     +node-3 10.120.0.0/24, +node-3 a00:100::/24, +node-4 10.120.1.0/24, +node-4 a00:200::/24"
)]
#[case(
    "multicidr 2 nodes and some routes created",
    dual(), DUAL, &["node-3 10.120.0.0/24", "node-4 a00:200::/24"],
    "+node-3 a00:100::/24, +node-4 10.120.1.0/24"
)]
#[case(
    "multicidr 2 nodes and too many routes",
    dual(), DUAL,
    &["node-3 10.120.0.0/24", "node-4 10.120.1.0/24", "node-3 a00:100::/24", "node-4 a00:200::/24", "node-x 10.120.2.0/24", "node-y a00:300::/24"],
    "-node-x 10.120.2.0/24, -node-y a00:300::/24"
)]
#[case(
    "single cidr 2 nodes and routes created",
    single(), SINGLE, &["node-1 10.120.0.0/24", "node-2 10.120.1.0/24"],
    "keep"
)]
#[case(
    "single cidr node ips changed",
    single(), SINGLE, &["node-1 10.120.0.0/24 @10.0.11.1", "node-2 10.120.1.0/24 @10.0.12.1"],
    "-node-1 10.120.0.0/24, -node-2 10.120.1.0/24, +node-1 10.120.0.0/24, +node-2 10.120.1.0/24"
)]
#[case("one route created", single(), SINGLE, &["node-1 10.120.0.0/24"], "+node-2 10.120.1.0/24")]
#[case("no routes", single(), SINGLE, &[], "+node-1 10.120.0.0/24, +node-2 10.120.1.0/24")]
#[case(
    "too many routes",
    single(), SINGLE,
    &["node-1 10.120.0.0/24", "node-2 10.120.1.0/24", "node-3 10.120.2.0/24", "node-4 10.120.3.0/24"],
    "-node-3 10.120.2.0/24, -node-4 10.120.3.0/24"
)]
#[case(
    "2 routes with 1 incorrect",
    single(), SINGLE, &["node-1 10.120.0.0/24", "node-2 10.120.2.0/24"],
    "-node-2 10.120.2.0/24, +node-2 10.120.1.0/24"
)]
#[case(
    "one node without cidr assigned",
    vec![node("node-1", &["10.120.0.0/24"], "10.0.1.1"), node("node-2", &[], "10.0.2.1")], SINGLE, &[],
    "+node-1 10.120.0.0/24"
)]
#[case(
    "extra blackhole route in our range",
    single(), SINGLE, &["node-1 10.120.0.0/24", "node-2 10.120.1.0/24", "blackhole 10.120.2.0/24"],
    "-blackhole 10.120.2.0/24"
)]
#[case(
    "extra blackhole route not in our range",
    single(), SINGLE, &["node-1 10.120.0.0/24", "node-2 10.120.1.0/24", "blackhole 10.1.2.0/24"],
    "keep"
)]
#[case(
    "duplicate pod cidr on one node",
    vec![node("node-1", &["10.120.0.0/24", "10.120.0.0/24"], "10.0.1.1")], SINGLE, &[],
    "+node-1 10.120.0.0/24"
)]
fn plans(
    #[case] name: &str,
    #[case] nodes: Vec<Arc<Node>>,
    #[case] cluster: &[&str],
    #[case] there: &[&str],
    #[case] expected: &str,
) {
    let there: Vec<_> = there.iter().map(|text| route(text)).collect();
    let plan = plan(&nodes, &BTreeSet::new(), &there, &nets(cluster));
    assert_eq!(plan.to_string(), expected, "{name}");
}

#[rstest]
#[case::unknown_target_in_range(&["? 10.120.7.0/24"], "-? 10.120.7.0/24, +node-1 a00:100::/24")]
#[case::other_order_of_addresses(&["node-1 a00:100::/24 @10.0.1.1"], "keep")]
#[case::other_spelling_of_a_cidr(&["node-1 a00:0100:0000::/24"], "keep")]
#[case::host_bits_in_a_cidr(&["node-1 a00:100::1/24"], "keep")]
#[case::twice_the_same(&["node-1 a00:100::/24", "node-1 a00:100::/24"], "keep")]
fn plans_more_than_upstream(#[case] there: &[&str], #[case] expected: &str) {
    let nodes = vec![node("node-1", &["0a00:100:0::/24"], "10.0.1.1")];
    let there: Vec<_> = there.iter().map(|text| route(text)).collect();
    assert_eq!(
        plan(&nodes, &BTreeSet::new(), &there, &nets(DUAL)).to_string(),
        expected
    );
}

/// Another manager manages the Node `others`; there is no Node `gone`.
#[rstest]
#[case::others("others 10.120.5.0/24", "keep")]
#[case::others_overlap("others 10.120.0.0/24", "keep")]
#[case::gone("gone 10.120.5.0/24", "-gone 10.120.5.0/24")]
fn routes_to_nodes_of_other_managers_are_kept(#[case] there: &str, #[case] expected: &str) {
    let others = BTreeSet::from(["others".to_owned()]);
    let there = ["node-1 10.120.0.0/24", "node-2 10.120.1.0/24", there].map(route);
    let plan = plan(&single(), &others, &there, &nets(SINGLE));
    assert_eq!(plan.to_string(), expected);
    assert!(
        !plan.nodes.contains("others"),
        "its condition is written by its manager"
    );
}

#[test]
fn only_nodes_with_pod_cidrs_or_routes_have_a_condition() {
    let nodes = vec![
        node("pods", &["10.120.0.0/24"], "10.0.1.1"),
        node("none", &[], "10.0.2.1"),
        node("old", &[], "10.0.3.1"),
    ];
    let plan = plan(
        &nodes,
        &BTreeSet::new(),
        &[route("old 10.120.9.0/24"), route("gone 10.120.8.0/24")],
        &nets(SINGLE),
    );
    assert_eq!(
        plan.nodes.iter().map(String::as_str).collect::<Vec<_>>(),
        ["old", "pods"]
    );
    assert_eq!(plan.unroutable.iter().map(String::as_str).collect::<Vec<_>>(), ["old"]);
}

// upstream: TestHandleNodeUpdate
#[rstest]
#[case("internal IP updated", &["10.120.0.0/24"], "10.0.1.2", true)]
#[case("pod CIDR updated", &["10.120.5.0/24"], "10.0.1.1", true)]
#[case("node object not updated", &["10.120.0.0/24"], "10.0.1.1", false)]
#[case("unrelated update", &["10.120.0.0/24"], "10.0.1.1", false)]
fn node_updates(#[case] name: &str, #[case] cidrs: &[&str], #[case] address: &str, #[case] expected: bool) {
    let old = node("node-1", &["10.120.0.0/24"], "10.0.1.1");
    let mut new = (*node("node-1", cidrs, address)).clone();
    if name == "unrelated update" {
        new.status.as_mut().unwrap().images = Some(vec![]);
        new.metadata.resource_version = Some("2".into());
    }
    assert_eq!(
        affects_routes(&Change::Updated {
            old,
            new: Arc::new(new)
        }),
        expected,
        "{name}"
    );
}

/// After a gap in the watch, a Node that was recreated is reported as updated. It has no condition yet.
#[test]
fn another_node_of_the_same_name_affects_routes() {
    let old = node("node-1", &["10.120.0.0/24"], "10.0.1.1");
    let mut new = (*old).clone();
    new.metadata.uid = Some("other".into());
    let new = Arc::new(new);
    assert!(affects_routes(&Change::Updated { old, new }));
}

const ROUTED: &str = "False/RouteCreated/RouteController created a route";
const UNROUTED: &str = "True/NoRouteCreated/RouteController failed to create a route";

/// A Node with a condition like `status/reason`, or none.
fn with_condition(text: &str) -> Node {
    let mut node = testkit::node::node("node-1", "");
    let condition = text.split_once('/').map(|(status, reason)| NodeCondition {
        reason: Some(reason.into()),
        ..testkit::node::condition(NETWORK_UNAVAILABLE, status)
    });
    node.status.as_mut().unwrap().conditions = Some(condition.into_iter().collect());
    node
}

// upstream: TestUpdateNetworkingCondition
#[rstest]
#[case("none + created", "", Networking::Routed, ROUTED)]
#[case("none + not created", "", Networking::Unrouted, UNROUTED)]
#[case("False/RouteCreated + created", "False/RouteCreated", Networking::Routed, "")]
#[case("False/CalicoIsUp + created", "False/CalicoIsUp", Networking::Routed, ROUTED)]
#[case("False/ExternalCNI + created", "False/ExternalCNI", Networking::Routed, ROUTED)]
#[case(
    "True/SomeOtherReason + not created",
    "True/SomeOtherReason",
    Networking::Unrouted,
    UNROUTED
)]
#[case(
    "False/RouteCreated + not created",
    "False/RouteCreated",
    Networking::Unrouted,
    UNROUTED
)]
#[case("True/NoRouteCreated + not created", "True/NoRouteCreated", Networking::Unrouted, "")]
// upstream: TestUpdateNetworkingConditionWithCalicoScenario
#[case("False/CalicoIsUp, created", "False/CalicoIsUp", Networking::Routed, ROUTED)]
fn conditions(#[case] name: &str, #[case] current: &str, #[case] networking: Networking, #[case] expected: &str) {
    let now = Time(Timestamp::UNIX_EPOCH);
    let written = networking.condition(&with_condition(current), &now);
    let written = written.map(|condition| {
        assert_eq!(condition.type_, NETWORK_UNAVAILABLE);
        assert_eq!(condition.last_transition_time, Some(now));
        let (reason, message) = (condition.reason.unwrap(), condition.message.unwrap());
        format!("{}/{reason}/{message}", condition.status)
    });
    assert_eq!(written.unwrap_or_default(), expected, "{name}");
}

/// A route that always fails does not delay the others for longer than the period.
#[rstest]
#[case::default(Some(10), (1, 10))]
#[case::short(Some(0), (0, 0))]
#[case::rare(Some(12 * 60 * 60), (1, 300))]
#[case::no_period(None, (1, 300))]
fn the_back_off_is_limited_by_the_period(#[case] period: Option<u64>, #[case] expected: (u64, u64)) {
    let (first, last) = backoff(period.map(Duration::from_secs));
    assert_eq!((first.as_secs(), last.as_secs()), expected);
}

#[test]
fn changes_of_other_nodes_are_ignored() {
    let [ours, others] = ["ours=", ""].map(|words| Arc::new(testkit::node::node("n", words)));
    let scope = Scope {
        selector: parse_selector("ours").unwrap(),
        ..Scope::default()
    };
    let changes = [
        Change::Added(ours.clone()),
        Change::Deleted(ours.clone()),
        Change::Updated {
            old: ours,
            new: others.clone(),
        },
        Change::Added(others.clone()),
        Change::Deleted(others),
    ];
    let in_scope = changes.map(|change| is_in_scope(&change, &scope));
    assert_eq!(in_scope, [true, true, true, false, false]);
}

#[rstest]
#[case::success(Ok(()), Next::Poll(Duration::from_secs(10)))]
#[case::rejected(Err(cloud::Retry::Never), Next::Poll(Duration::from_secs(10)))]
#[case::retry_after(
    Err(cloud::Retry::After(Duration::from_secs(42))),
    Next::After(Duration::from_secs(42))
)]
#[case::at_least_a_second(Err(cloud::Retry::After(Duration::ZERO)), Next::After(Duration::from_secs(1)))]
#[case::failed(Err(cloud::Retry::Backoff), Next::Retry)]
fn next_attempt(#[case] outcome: Result<(), cloud::Retry>, #[case] expected: Next) {
    assert_eq!(next(outcome, Some(Duration::from_secs(10))), expected);
}
