//! From nodes to load balancers.

use super::{node, rig::Rig};
use crate::service::{
    ledger::{Known, Phase, Reach},
    spec,
};
use k8s_openapi::api::core::v1::Node;
use memory::{Failure, Fault, Operation};
use rstest::rstest;
use runtime::queue::Next;
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use testkit::service::{Builder, cluster_ip, load_balancer, node_port};

/// Nodes from texts like `node1 doomed`.
fn nodes(texts: &[&str]) -> Vec<Node> {
    let split = |text: &&str| {
        text.split_once(' ')
            .map_or_else(|| node(text, ""), |(name, words)| node(name, words))
    };
    texts.iter().map(split).collect()
}

/// These Services are in order, with the nodes of now.
async fn in_order(rig: &Rig, services: impl IntoIterator<Item = Builder>) {
    for service in services {
        let name = rig.create(service).await.metadata.name.clone().unwrap();
        rig.sync(&name).await;
        rig.look(&name).await;
    }
    rig.calls();
}

fn sorted(mut calls: Vec<String>) -> Vec<String> {
    calls.sort();
    calls
}

/// `update-hosts` of each of these Services with these hosts.
fn updates(services: &[&str], hosts: &[&str]) -> Vec<String> {
    services
        .iter()
        .map(|name| format!("update-hosts {name} {}", hosts.join(" ")).trim_end().to_owned())
        .collect()
}

// upstream: TestUpdateNodesInExternalLoadBalancer
#[rstest]
#[case("no services", vec![], 1, &[])]
#[case("ClusterIP+NodePort", vec![cluster_ip("s0"), node_port("s1")], 2, &[])]
#[case("one LB", vec![load_balancer("s0")], 3, &["s0"])]
#[case("three LBs", vec![load_balancer("s0"), load_balancer("s1"), load_balancer("s2")], 4, &["s0", "s1", "s2"])]
#[case("two LB + two others", vec![node_port("s0"), load_balancer("s1"), load_balancer("s3"), cluster_ip("s4")], 5, &["s1", "s3"])]
#[case("four LBs with 2 workers", vec![load_balancer("s0"), load_balancer("s1"), load_balancer("s3"), load_balancer("s4")], 2, &["s0", "s1", "s3", "s4"])]
#[tokio::test]
async fn updates_nodes_in_external_load_balancer(
    #[case] name: &str,
    #[case] services: Vec<Builder>,
    #[case] workers: usize,
    #[case] expected: &[&str],
) {
    let rig = Rig::new().await;
    in_order(&rig, services).await;
    rig.set_nodes(nodes(&["node1", "node2", "node3"]));
    rig.pass(workers).await;
    assert_eq!(
        sorted(rig.calls()),
        updates(expected, &["node1", "node2", "node3"]),
        "{name}"
    );
    assert_eq!(rig.reconciler.metrics.syncs.get(), expected.len() as u64, "{name}");
}

// upstream: TestNodeChangesForStableNodeSetEnabled
#[rstest]
#[case("no changes", &["node1", "node2", "node3"], &["node1", "node2", "node3"], None, &[])]
#[case("node3 added", &["node1", "node2"], &["node1", "node2", "node3"], None, &["node1", "node2", "node3"])]
#[case("node3 added with first pass failing then same set", &["node1", "node2"], &["node1", "node2", "node3"], Some(Failure::Unavailable("error please".into())), &["node1", "node2", "node3"])]
#[case("node2 NotReady", &["node1", "node2 ready:True", "node3"], &["node1", "node2 ready:False", "node3"], None, &[])]
#[case("node2 gets ToBeDeleted taint", &["node1", "node2", "node3"], &["node1", "node2 doomed", "node3"], None, &["node1", "node3"])]
#[case("node2 becomes Ready", &["node1", "node2 ready:False", "node3"], &["node1", "node2 ready:True", "node3"], None, &[])]
#[case("node2 gets exclude label", &["node1", "node2", "node3"], &["node1", "node2 exclude=", "node3"], None, &["node1", "node3"])]
#[case("node3 removed", &["node1", "node2", "node3"], &["node1", "node2"], None, &["node1", "node2"])]
#[case("node2 deletionTimestamp", &["node1", "node2", "node3"], &["node1", "node2 going", "node3"], None, &["node1", "node3"])]
#[case("node2 unrelated taint", &["node1", "node2", "node3"], &["node1", "node2 taint:Other", "node3"], None, &[])]
#[tokio::test]
async fn node_changes_for_stable_node_set(
    #[case] name: &str,
    #[case] before: &[&str],
    #[case] after: &[&str],
    #[case] failure: Option<Failure>,
    #[case] hosts: &[&str],
) {
    let rig = Rig::new().await;
    rig.set_nodes(nodes(before));
    let local = |name| load_balancer(name).traffic_policy("Local");
    in_order(&rig, [local("s0"), local("s1"), load_balancer("s2")]).await;
    rig.set_nodes(nodes(after));
    if let Some(failure) = failure {
        rig.cloud.inject(Fault::fail(failure));
        rig.pass(3).await;
        rig.cloud.withdraw_all();
    }
    rig.pass(3).await;
    let affected: &[&str] = if hosts.is_empty() { &[] } else { &["s0", "s1", "s2"] };
    assert_eq!(sorted(rig.calls()), updates(affected, hosts), "{name}");
}

// upstream: TestNodeChangesInExternalLoadBalancer
#[tokio::test]
async fn node_changes_in_external_load_balancer() {
    let rounds: [(&str, usize, &[&str]); 3] = [
        ("only 1 node", 3, &["node1"]),
        ("2 nodes", 1, &["node1", "node2"]),
        ("4 nodes", 3, &["node1", "node2", "node3", "node4"]),
    ];
    let rig = Rig::new().await;
    let services = ["s0", "s1", "s3", "s4"];
    in_order(&rig, services.map(load_balancer)).await;
    for (name, workers, hosts) in rounds {
        rig.set_nodes(nodes(hosts));
        rig.pass(workers).await;
        assert_eq!(sorted(rig.calls()), updates(&services, hosts), "{name}");
    }
}

// upstream: TestNodesNotEqual
#[rstest]
#[case("providerIDs newly set on both nodes", &["node1", "node2"], &["node1 id:cumulus/1", "node2 id:cumulus/2"], &["node1", "node2"])]
#[case("unchanged", &["node1 id:cumulus/1", "node2"], &["node1 id:cumulus/1", "node2"], &[])]
#[case("one node replaced (empty/other)", &["node1 id:cumulus/1", "node2"], &["node1 id:cumulus/1", "node3"], &["node1", "node3"])]
#[tokio::test]
async fn nodes_not_equal(#[case] name: &str, #[case] before: &[&str], #[case] after: &[&str], #[case] hosts: &[&str]) {
    let rig = Rig::new().await;
    rig.set_nodes(nodes(before));
    in_order(&rig, ["s0", "s1"].map(load_balancer)).await;
    rig.set_nodes(nodes(after));
    rig.pass(2).await;
    let affected: &[&str] = if hosts.is_empty() { &[] } else { &["s0", "s1"] };
    assert_eq!(sorted(rig.calls()), updates(affected, hosts), "{name}");
}

#[tokio::test]
async fn a_host_whose_address_appears_later_is_told_of() {
    let rig = Rig::new().await;
    rig.set_nodes(nodes(&["node1"]));
    in_order(&rig, [load_balancer("s")]).await;
    rig.set_nodes(nodes(&["node1 InternalIP=10.0.0.1"]));
    rig.pass(1).await;
    assert_eq!(rig.calls(), ["update-hosts s node1"]);
    assert_eq!(rig.cloud.load_balancers()[0].hosts[0].addresses[0].address, "10.0.0.1");
}

// upstream: TestSlowNodeSync
#[rstest]
#[case("exactly 1 update (hosts 1,2) and 1 ensure (hosts 1,2,3)")]
#[tokio::test]
async fn slow_node_sync(#[case] name: &str) {
    let rig = Rig::new().await;
    in_order(&rig, ["service1", "service2"].map(load_balancer)).await;
    rig.set_nodes(nodes(&["node1", "node2"]));
    let hang = rig.cloud.inject(Fault::hang().operation(Operation::UpdateHosts));
    let meanwhile = async {
        rig.cloud.until(|cloud| cloud.count(Operation::UpdateHosts) == 1).await;
        let slow = rig.cloud.calls()[0].service.clone().unwrap().name;
        let other = if slow == "service1" { "service2" } else { "service1" };
        rig.set_nodes(nodes(&["node1", "node2", "node3"]));
        rig.change(other, json!({"metadata": {"annotations": {"changed": "yes"}}}))
            .await;
        rig.sync(other).await;
        rig.cloud.withdraw(hang);
        [
            format!("update-hosts {slow} node1 node2"),
            format!("ensure-load-balancer {other} node1 node2 node3"),
        ]
    };
    let ((), expected) = tokio::join!(rig.pass(1), meanwhile);
    assert_eq!(rig.calls(), expected, "{name}");
}

#[tokio::test]
async fn hosts_that_change_during_a_call_are_not_forgotten() {
    let rig = Rig::new().await;
    in_order(&rig, [load_balancer("s")]).await;
    rig.set_nodes(nodes(&["node1"]));
    let hang = rig
        .cloud
        .inject(Fault::hang().operation(Operation::UpdateHosts).times(1));
    let meanwhile = async {
        rig.cloud.until(|cloud| cloud.count(Operation::UpdateHosts) == 1).await;
        rig.set_nodes(nodes(&["node1", "node2"]));
        // The Service is being worked on, so that nothing is queued.
        rig.pass(1).await;
        rig.cloud.withdraw(hang);
    };
    let (next, ()) = tokio::join!(rig.sync("s"), meanwhile);
    assert_eq!(next, Next::Poll(Duration::ZERO));
    rig.sync("s").await;
    assert_eq!(rig.calls(), ["update-hosts s node1", "update-hosts s node1 node2"]);
}

#[tokio::test]
async fn a_failed_update_is_tried_again_as_a_whole_and_at_once_with_other_hosts() {
    let mut rig = Rig::new().await;
    in_order(&rig, [load_balancer("s")]).await;
    rig.reasons();
    rig.set_nodes(nodes(&["node1"]));
    rig.cloud
        .inject(Fault::fail(Failure::Unavailable("down".into())).times(1));
    rig.pass(1).await;
    let events = rig.events();
    assert_eq!(events[0].reason, "UpdateLoadBalancerFailed");
    assert_eq!(
        events[0].message,
        "Error updating load balancer with new hosts [node1] [node names limited, total number of nodes: 1], error: \
         update-hosts is unavailable: down"
    );
    assert_eq!(rig.reconciler.metrics.node_sync_errors.get(), 1);

    rig.set_nodes(nodes(&["node1", "node2"]));
    rig.pass(1).await;
    assert_eq!(
        rig.calls(),
        ["update-hosts s node1", "ensure-load-balancer s node1 node2"],
        "nobody waits for the time of the next attempt"
    );
    assert_eq!(rig.reasons(), ["EnsuringLoadBalancer", "EnsuredLoadBalancer"]);
    rig.set_nodes(nodes(&["node1"]));
    rig.pass(1).await;
    assert_eq!(
        rig.calls(),
        ["update-hosts s node1"],
        "what is in order is not looked at"
    );
}

/// The hosts follow, though the whole cannot be had.
#[rstest]
#[case::refused(Failure::Invalid { field: "annotation x".into(), reason: "bad".into() }, Next::Done)]
#[case::failing(Failure::Unavailable("the key manager is down".into()), Next::Retry)]
#[tokio::test]
async fn a_failed_update_whose_load_balancer_cannot_be_ensured(#[case] failure: Failure, #[case] next: Next) {
    let rig = Rig::new().await;
    in_order(&rig, [load_balancer("s")]).await;
    rig.set_nodes(nodes(&["node1"]));
    let down = Fault::fail(Failure::Unavailable("down".into()));
    rig.cloud.inject(down.operation(Operation::UpdateHosts).times(1));
    rig.cloud
        .inject(Fault::fail(failure).operation(Operation::EnsureLoadBalancer));
    assert_eq!(rig.sync("s").await, Next::Retry);
    rig.look("s").await;
    assert_eq!(rig.sync("s").await, next);
    assert_eq!(
        rig.calls(),
        [
            "update-hosts s node1",
            "ensure-load-balancer s node1",
            "update-hosts s node1"
        ]
    );
    assert_eq!(rig.cloud.load_balancers()[0].host_names(), ["node1"]);
}

/// Who watches the metrics sees that it is not over.
#[tokio::test]
async fn hosts_that_can_still_not_be_given_are_counted() {
    let rig = Rig::new().await;
    in_order(&rig, [load_balancer("s")]).await;
    rig.set_nodes(nodes(&["node1"]));
    rig.cloud.inject(Fault::fail(Failure::Unavailable("down".into())));
    for attempt in 1..4 {
        assert_eq!(rig.sync("s").await, Next::Retry);
        assert_eq!(rig.reconciler.metrics.node_sync_errors.get(), attempt);
        rig.look("s").await;
    }
}

#[tokio::test]
async fn a_load_balancer_that_vanished_is_made_again() {
    let mut rig = Rig::new().await;
    in_order(&rig, [load_balancer("s")]).await;
    rig.reasons();
    rig.cloud.inject(
        Fault::fail(Failure::NotFound)
            .operation(Operation::UpdateHosts)
            .times(1),
    );
    rig.set_nodes(nodes(&["node1"]));
    rig.pass(1).await;
    assert_eq!(rig.calls(), ["update-hosts s node1", "ensure-load-balancer s node1"]);
    assert_eq!(rig.reasons(), ["EnsuringLoadBalancer", "EnsuredLoadBalancer"]);
}

#[tokio::test]
async fn a_pass_lasts_until_the_last_load_balancer_has_its_hosts() {
    let rig = Rig::new().await;
    in_order(&rig, ["s0", "s1"].map(load_balancer)).await;
    let passes = || rig.reconciler.metrics.node_sync.get_sample_count();
    rig.pass(1).await;
    assert_eq!(passes(), 1, "nothing to do");
    rig.set_nodes(nodes(&["node1"]));
    let hang = rig
        .cloud
        .inject(Fault::hang().operation(Operation::UpdateHosts).only(rig.key("s1")));
    let meanwhile = async {
        rig.cloud.until(|cloud| cloud.count(Operation::UpdateHosts) == 2).await;
        assert_eq!(passes(), 1, "one is still at it");
        rig.cloud.withdraw(hang);
    };
    tokio::join!(rig.pass(2), meanwhile);
    assert_eq!(passes(), 2);
}

/// The cloud takes its time: that is one update, from the first look to the last, and one pass.
#[rstest]
#[case::done(None, Next::Done)]
#[case::failed(Some(Failure::Unavailable("down".into())), Next::Retry)]
#[tokio::test]
async fn an_update_that_is_polled_counts_once(#[case] failure: Option<Failure>, #[case] next: Next) {
    let rig = Rig::new().await;
    in_order(&rig, [load_balancer("s")]).await;
    rig.set_nodes(nodes(&["node1"]));
    let pending = Failure::Pending {
        poll_after: Duration::from_secs(1),
    };
    rig.cloud
        .inject(Fault::fail(pending).operation(Operation::UpdateHosts).times(2));
    let metrics = &rig.reconciler.metrics;
    let counts = || {
        (
            metrics.syncs.get(),
            metrics.update_hosts.get_sample_count(),
            metrics.node_sync.get_sample_count(),
        )
    };
    rig.pass(1).await;
    let after_the_first = Instant::now();
    assert_eq!(counts(), (1, 0, 0));
    assert!(matches!(rig.sync("s").await, Next::Poll(_)));
    assert_eq!(counts(), (1, 0, 0));
    let polled = after_the_first.elapsed().as_secs_f64();
    if let Some(failure) = failure {
        rig.cloud.inject(Fault::fail(failure).operation(Operation::UpdateHosts));
    }
    assert_eq!(rig.sync("s").await, next);
    assert_eq!(counts(), (1, 1, 1));
    for latency in [&metrics.update_hosts, &metrics.node_sync] {
        assert!(
            latency.get_sample_sum() > polled,
            "{} of {polled}",
            latency.get_sample_sum()
        );
    }
}

/// `count` Services that are in order, with the nodes of now, without an API server.
async fn many_in_order(rig: &Rig, count: usize) {
    let hosts = rig.reconciler.hosts.current();
    for index in 0..count {
        let service = Arc::new(load_balancer(&format!("s{index}")).build());
        rig.reconciler.services.insert(service.clone());
        let spec = spec::of(&service, &hosts, super::rig::CLUSTER, cloud::BadRanges::Refuse).unwrap();
        rig.reconciler
            .provider
            .load_balancers()
            .unwrap()
            .ensure(&spec)
            .await
            .unwrap();
        let mut known = Known::new(service, Phase::Settled);
        known.hosts = Some(hosts.fingerprint());
        known.reach = Reach::Cloud;
        rig.reconciler
            .ledger
            .with_or(&format!("default/s{index}"), || known, |_| ());
    }
    rig.cloud.forget_calls();
}

#[tokio::test]
async fn one_node_more_is_one_call_a_service_and_no_write() {
    let rig = Rig::offline();
    let mut nodes: Vec<_> = (0..1000).map(|index| node(&format!("node-{index}"), "")).collect();
    rig.set_nodes(nodes.clone());
    many_in_order(&rig, 500).await;

    nodes.push(node("excluded", "exclude="));
    rig.set_nodes(nodes.clone());
    rig.pass(8).await;
    assert_eq!(rig.cloud.calls(), [], "a node that is no host concerns nobody");

    nodes.push(node("new", ""));
    rig.set_nodes(nodes);
    rig.pass(8).await;
    assert_eq!(rig.cloud.count(Operation::UpdateHosts), 500);
    assert_eq!(rig.cloud.count(Operation::EnsureLoadBalancer), 0);
    assert!(
        rig.cloud
            .load_balancers()
            .iter()
            .all(|balancer| balancer.hosts.len() == 1001)
    );

    rig.pass(8).await;
    assert_eq!(rig.cloud.count(Operation::UpdateHosts), 500, "once each");
}
