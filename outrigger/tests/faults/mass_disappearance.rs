//! A cloud that suddenly reports that no instance exists.

use crate::{
    fixture::{Fixture, service_address},
    replica::{ALONE, Replica},
};
use kube::ResourceExt;
use memory_sim::{Failure, Fault, Operation};

const NODES: usize = 20;

const FLAGS: [&str; 4] = [
    ALONE,
    "--node-deletion-grace-period=0s",
    "--node-deletion-confirmation=8s",
    "--authorization-always-allow-paths=/metrics,/readyz",
];

#[tokio::test]
async fn deletions_are_held_if_all_machines_disappear_at_once() {
    let fixture = Fixture::shared().await;
    let manager = Replica::start(&fixture, &FLAGS).await;
    for n in 0..NODES {
        fixture.join(&format!("node-{n}")).await;
    }
    let service = fixture.create(fixture.balanced("web")).await.name_any();
    fixture.all_initialised(NODES).await;
    fixture.served(&manager, &service).await;
    for node in fixture.own_nodes().await {
        fixture.set_ready(&node.name_any(), "Unknown").await;
    }

    let blind = fixture.cloud.inject(Fault::fail(Failure::Blind));
    manager.logged("too many machines do not exist in the cloud").await;
    let nodes = fixture.own_nodes().await;
    fixture.event(&nodes[0].uid().unwrap(), "DeletionHeld").await;
    manager
        .until("the metric to count them", async || held(&manager).await)
        .await;
    fixture.cloud.forget_calls();
    fixture.cloud_until(|cloud| cloud.count(Operation::Describe) >= 3).await;
    assert_eq!(fixture.own_nodes().await.len(), NODES, "Nodes were deleted");

    // The list is correct again: one machine was really deleted, and all others exist.
    fixture.cloud.withdraw(blind);
    let gone = nodes[0].name_any();
    fixture.cloud.delete_machine(&gone);
    fixture.node_gone(&manager, &gone).await;
    let left: Vec<_> = fixture.own_nodes().await.iter().map(ResourceExt::name_any).collect();
    assert_eq!(left.len(), NODES - 1);
    fixture.all_have_hosts(left).await;
}

/// The metric reports that all of them are held.
async fn held(manager: &Replica) -> Result<(), String> {
    let metrics = manager.port().get("/metrics").await.body;
    let line = format!("node_lifecycle_controller_held_deletions {NODES}");
    let lines = metrics.lines().filter(|line| line.contains("held_deletions"));
    if metrics.lines().any(|other| other == line) {
        Ok(())
    } else {
        Err(lines.collect::<Vec<_>>().join("\n"))
    }
}

#[tokio::test]
async fn a_service_keeps_its_address_when_the_cloud_does_not_find_its_load_balancer() {
    let fixture = Fixture::shared().await;
    let manager = Replica::start(&fixture, &FLAGS).await;
    let node = fixture.join("node").await;
    fixture.initialised(&manager, &node).await;
    let service = fixture.create(fixture.balanced("web")).await.name_any();
    let before = fixture.served(&manager, &service).await;

    let blind = fixture.cloud.inject(Fault::fail(Failure::Blind));
    let late = fixture
        .register("late", "ready:True id:memory://late InternalIP=10.9.9.9")
        .await;
    fixture.event(&before.uid().unwrap(), "SyncLoadBalancerFailed").await;
    let now = fixture.services().get(&service).await.unwrap();
    assert_eq!(service_address(&now), service_address(&before));
    assert_eq!(now.finalizers(), before.finalizers());
    assert_eq!(fixture.own_nodes().await.len(), 2);

    fixture.cloud.withdraw(blind);
    fixture.all_have_hosts(vec![node, late]).await;
    assert_eq!(
        fixture.balancers_made(),
        1,
        "there are two load balancers for one Service"
    );
}
