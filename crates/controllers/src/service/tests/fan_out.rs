//! From Nodes to load balancers.

use super::{
    fixture::{CLUSTER, Fixture},
    node,
};
use crate::service::{
    spec,
    state::{CloudObjects, Phase, ServiceState},
};
use memory::{Failure, Fault, Operation};
use rstest::rstest;
use runtime::queue::Next;
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use testkit::service::{Builder, cluster_ip, load_balancer, node_port};

/// Creates and reconciles these Services.
async fn create_ready(fixture: &Fixture, services: impl IntoIterator<Item = Builder>) {
    for service in services {
        let name = fixture.create(service).await.metadata.name.clone().unwrap();
        fixture.reconcile(&name).await;
        fixture.refresh(&name).await;
    }
    fixture.calls();
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
    let fixture = Fixture::new().await;
    create_ready(&fixture, services).await;
    fixture.set_nodes(&["node1", "node2", "node3"]);
    fixture.fan_out(workers).await;
    assert_eq!(
        sorted(fixture.calls()),
        updates(expected, &["node1", "node2", "node3"]),
        "{name}"
    );
    assert_eq!(fixture.reconciler.metrics.syncs.get(), expected.len() as u64, "{name}");
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
    let fixture = Fixture::new().await;
    fixture.set_nodes(before);
    let local = |name| load_balancer(name).traffic_policy("Local");
    create_ready(&fixture, [local("s0"), local("s1"), load_balancer("s2")]).await;
    fixture.set_nodes(after);
    if let Some(failure) = failure {
        fixture.cloud.inject(Fault::fail(failure));
        fixture.fan_out(3).await;
        fixture.cloud.withdraw_all();
    }
    fixture.fan_out(3).await;
    let affected: &[&str] = if hosts.is_empty() { &[] } else { &["s0", "s1", "s2"] };
    assert_eq!(sorted(fixture.calls()), updates(affected, hosts), "{name}");
}

// upstream: TestNodeChangesInExternalLoadBalancer
#[tokio::test]
async fn node_changes_in_external_load_balancer() {
    let rounds: [(&str, usize, &[&str]); 3] = [
        ("only 1 node", 3, &["node1"]),
        ("2 nodes", 1, &["node1", "node2"]),
        ("4 nodes", 3, &["node1", "node2", "node3", "node4"]),
    ];
    let fixture = Fixture::new().await;
    let services = ["s0", "s1", "s3", "s4"];
    create_ready(&fixture, services.map(load_balancer)).await;
    for (name, workers, hosts) in rounds {
        fixture.set_nodes(hosts);
        fixture.fan_out(workers).await;
        assert_eq!(sorted(fixture.calls()), updates(&services, hosts), "{name}");
    }
}

// upstream: TestNodesNotEqual
#[rstest]
#[case("providerIDs newly set on both nodes", &["node1", "node2"], &["node1 id:cumulus/1", "node2 id:cumulus/2"], &["node1", "node2"])]
#[case("unchanged", &["node1 id:cumulus/1", "node2"], &["node1 id:cumulus/1", "node2"], &[])]
#[case("one node replaced (empty/other)", &["node1 id:cumulus/1", "node2"], &["node1 id:cumulus/1", "node3"], &["node1", "node3"])]
#[tokio::test]
async fn nodes_not_equal(#[case] name: &str, #[case] before: &[&str], #[case] after: &[&str], #[case] hosts: &[&str]) {
    let fixture = Fixture::new().await;
    fixture.set_nodes(before);
    create_ready(&fixture, ["s0", "s1"].map(load_balancer)).await;
    fixture.set_nodes(after);
    fixture.fan_out(2).await;
    let affected: &[&str] = if hosts.is_empty() { &[] } else { &["s0", "s1"] };
    assert_eq!(sorted(fixture.calls()), updates(affected, hosts), "{name}");
}

// upstream: TestSlowNodeSync
#[rstest]
#[case("exactly 1 update (hosts 1,2) and 1 ensure (hosts 1,2,3)")]
#[tokio::test]
async fn slow_node_sync(#[case] name: &str) {
    let fixture = Fixture::new().await;
    create_ready(&fixture, ["service1", "service2"].map(load_balancer)).await;
    fixture.set_nodes(&["node1", "node2"]);
    let hang = fixture.cloud.inject(Fault::hang().operation(Operation::UpdateHosts));
    let meanwhile = async {
        fixture
            .cloud
            .until(|cloud| cloud.count(Operation::UpdateHosts) == 1)
            .await;
        let slow = fixture.cloud.calls()[0].service.clone().unwrap().name;
        let other = if slow == "service1" { "service2" } else { "service1" };
        fixture.set_nodes(&["node1", "node2", "node3"]);
        fixture
            .change(other, json!({"metadata": {"annotations": {"changed": "yes"}}}))
            .await;
        fixture.reconcile(other).await;
        fixture.cloud.withdraw(hang);
        [
            format!("update-hosts {slow} node1 node2"),
            format!("ensure-load-balancer {other} node1 node2 node3"),
        ]
    };
    let ((), expected) = tokio::join!(fixture.fan_out(1), meanwhile);
    assert_eq!(fixture.calls(), expected, "{name}");
}

#[tokio::test]
async fn hosts_that_change_during_a_call_are_not_lost() {
    let fixture = Fixture::new().await;
    create_ready(&fixture, [load_balancer("s")]).await;
    fixture.set_nodes(&["node1"]);
    let hang = fixture
        .cloud
        .inject(Fault::hang().operation(Operation::UpdateHosts).times(1));
    let meanwhile = async {
        fixture
            .cloud
            .until(|cloud| cloud.count(Operation::UpdateHosts) == 1)
            .await;
        fixture.set_nodes(&["node1", "node2"]);
        // The Service is being reconciled, so nothing is queued.
        fixture.fan_out(1).await;
        fixture.cloud.withdraw(hang);
    };
    let (next, ()) = tokio::join!(fixture.reconcile("s"), meanwhile);
    assert_eq!(next, Next::Poll(Duration::ZERO));
    fixture.reconcile("s").await;
    assert_eq!(fixture.calls(), ["update-hosts s node1", "update-hosts s node1 node2"]);
}

#[tokio::test]
async fn after_a_failed_update_the_load_balancer_is_ensured_at_once_with_other_hosts() {
    let mut fixture = Fixture::new().await;
    create_ready(&fixture, [load_balancer("s")]).await;
    fixture.reasons();
    fixture.set_nodes(&["node1"]);
    fixture
        .cloud
        .inject(Fault::fail(Failure::Unavailable("down".into())).times(1));
    fixture.fan_out(1).await;
    let events = fixture.events();
    assert_eq!(events[0].reason, "UpdateLoadBalancerFailed");
    assert_eq!(
        events[0].message,
        "Error updating load balancer with new hosts [node1] [node names limited, total number of nodes: 1], error: \
         update-hosts is unavailable: down"
    );
    assert_eq!(fixture.reconciler.metrics.node_sync_errors.get(), 1);

    fixture.set_nodes(&["node1", "node2"]);
    fixture.fan_out(1).await;
    assert_eq!(
        fixture.calls(),
        ["update-hosts s node1", "ensure-load-balancer s node1 node2"],
        "without waiting for the retry"
    );
    assert_eq!(fixture.reasons(), ["EnsuringLoadBalancer", "EnsuredLoadBalancer"]);
    fixture.set_nodes(&["node1"]);
    fixture.fan_out(1).await;
    assert_eq!(fixture.calls(), ["update-hosts s node1"], "only the hosts");
}

/// The metric shows that the failure persists.
#[tokio::test]
async fn every_failed_update_is_counted() {
    let fixture = Fixture::new().await;
    create_ready(&fixture, [load_balancer("s")]).await;
    fixture.set_nodes(&["node1"]);
    fixture.cloud.inject(Fault::fail(Failure::Unavailable("down".into())));
    for attempt in 1..4 {
        assert_eq!(fixture.reconcile("s").await, Next::Retry);
        assert_eq!(fixture.reconciler.metrics.node_sync_errors.get(), attempt);
        fixture.refresh("s").await;
    }
}

#[tokio::test]
async fn a_load_balancer_that_does_not_exist_is_recreated() {
    let mut fixture = Fixture::new().await;
    create_ready(&fixture, [load_balancer("s")]).await;
    fixture.reasons();
    fixture.cloud.inject(
        Fault::fail(Failure::NotFound)
            .operation(Operation::UpdateHosts)
            .times(1),
    );
    fixture.set_nodes(&["node1"]);
    fixture.fan_out(1).await;
    assert_eq!(
        fixture.calls(),
        ["update-hosts s node1", "ensure-load-balancer s node1"]
    );
    assert_eq!(fixture.reasons(), ["EnsuringLoadBalancer", "EnsuredLoadBalancer"]);
}

#[tokio::test]
async fn a_host_change_lasts_until_the_last_load_balancer_has_it() {
    let fixture = Fixture::new().await;
    create_ready(&fixture, ["s0", "s1"].map(load_balancer)).await;
    let changes = || fixture.reconciler.metrics.node_sync.get_sample_count();
    fixture.fan_out(1).await;
    assert_eq!(changes(), 1, "nothing to do");
    fixture.set_nodes(&["node1"]);
    let hang = fixture
        .cloud
        .inject(Fault::hang().operation(Operation::UpdateHosts).only(fixture.key("s1")));
    let meanwhile = async {
        fixture
            .cloud
            .until(|cloud| cloud.count(Operation::UpdateHosts) == 2)
            .await;
        assert_eq!(changes(), 1, "one is in progress");
        fixture.cloud.withdraw(hang);
    };
    tokio::join!(fixture.fan_out(2), meanwhile);
    assert_eq!(changes(), 2);
}

/// An update that is pending in the cloud is one update and one change of hosts.
#[rstest]
#[case::done(None, Next::Done)]
#[case::failed(Some(Failure::Unavailable("down".into())), Next::Retry)]
#[tokio::test]
async fn an_update_that_is_polled_counts_once(#[case] failure: Option<Failure>, #[case] next: Next) {
    let fixture = Fixture::new().await;
    create_ready(&fixture, [load_balancer("s")]).await;
    fixture.set_nodes(&["node1"]);
    let pending = Failure::Pending {
        poll_after: Duration::from_secs(1),
    };
    fixture
        .cloud
        .inject(Fault::fail(pending).operation(Operation::UpdateHosts).times(2));
    let metrics = &fixture.reconciler.metrics;
    let counts = || {
        (
            metrics.syncs.get(),
            metrics.update_hosts.get_sample_count(),
            metrics.node_sync.get_sample_count(),
        )
    };
    fixture.fan_out(1).await;
    let after_the_first = Instant::now();
    assert_eq!(counts(), (1, 0, 0));
    assert!(matches!(fixture.reconcile("s").await, Next::Poll(_)));
    assert_eq!(counts(), (1, 0, 0));
    let polled = after_the_first.elapsed().as_secs_f64();
    if let Some(failure) = failure {
        fixture
            .cloud
            .inject(Fault::fail(failure).operation(Operation::UpdateHosts));
    }
    assert_eq!(fixture.reconcile("s").await, next);
    assert_eq!(counts(), (1, 1, 1));
    for latency in [&metrics.update_hosts, &metrics.node_sync] {
        assert!(
            latency.get_sample_sum() > polled,
            "{} of {polled}",
            latency.get_sample_sum()
        );
    }
}

/// Inserts `count` reconciled Services, without an API server.
async fn insert_ready(fixture: &Fixture, count: usize) {
    let hosts = fixture.reconciler.hosts.current();
    for index in 0..count {
        let service = Arc::new(load_balancer(&format!("s{index}")).build());
        fixture.reconciler.services.insert(service.clone());
        let spec = spec::of(&service, &hosts, CLUSTER, cloud::BadRanges::Refuse).unwrap();
        fixture
            .reconciler
            .provider
            .load_balancers()
            .unwrap()
            .ensure(&spec)
            .await
            .unwrap();
        let mut state = ServiceState::new(service, Phase::Ready);
        state.hosts = Some(hosts.fingerprint());
        state.cloud_objects = CloudObjects::MayExist;
        let (states, key) = (&fixture.reconciler.states, format!("default/s{index}"));
        states.with_or(&key, || state, |_| ());
    }
    fixture.cloud.forget_calls();
}

#[tokio::test]
async fn one_more_node_is_one_call_per_service_and_no_write() {
    let fixture = Fixture::offline();
    let mut nodes: Vec<_> = (0..1000).map(|index| node(&format!("node-{index}"), "")).collect();
    fixture.replace_nodes(nodes.clone());
    insert_ready(&fixture, 500).await;

    nodes.push(node("excluded", "exclude="));
    fixture.replace_nodes(nodes.clone());
    fixture.fan_out(8).await;
    assert_eq!(fixture.cloud.calls(), [], "an excluded node is no host");

    nodes.push(node("new", ""));
    fixture.replace_nodes(nodes);
    fixture.fan_out(8).await;
    assert_eq!(fixture.cloud.count(Operation::UpdateHosts), 500);
    assert_eq!(fixture.cloud.count(Operation::EnsureLoadBalancer), 0);
    assert!(
        fixture
            .cloud
            .load_balancers()
            .iter()
            .all(|balancer| balancer.hosts.len() == 1001)
    );

    fixture.fan_out(8).await;
    assert_eq!(fixture.cloud.count(Operation::UpdateHosts), 500, "once each");
}
