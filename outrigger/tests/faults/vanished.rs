//! A cloud that says at once that everything is gone.

use crate::{
    replica::{ALONE, Replica},
    rig::{Rig, service_address},
};
use kube::ResourceExt;
use memory::{Failure, Fault, Operation};

const NODES: usize = 20;

const FLAGS: [&str; 4] = [
    ALONE,
    "--node-deletion-grace-period=0s",
    "--node-deletion-confirmation=8s",
    "--authorization-always-allow-paths=/metrics,/readyz",
];

#[tokio::test]
async fn all_machines_vanish_at_once_and_the_cloud_is_doubted() {
    let rig = Rig::shared().await;
    let manager = Replica::start(&rig, &FLAGS).await;
    for n in 0..NODES {
        rig.join(&format!("node-{n}")).await;
    }
    let service = rig.create(rig.balanced("web")).await.name_any();
    rig.all_initialised(NODES).await;
    rig.served(&manager, &service).await;
    for node in rig.own_nodes().await {
        rig.set_ready(&node.name_any(), "Unknown").await;
    }

    let blind = rig.cloud.inject(Fault::fail(Failure::Blind));
    manager.logged("the cloud says that too many machines are gone").await;
    let nodes = rig.own_nodes().await;
    rig.event(&nodes[0].uid().unwrap(), "DeletionHeld").await;
    manager
        .until("the metric to count them", async || held(&manager).await)
        .await;
    rig.cloud.forget_calls();
    rig.cloud_until(|cloud| cloud.count(Operation::Describe) >= 3).await;
    assert_eq!(rig.own_nodes().await.len(), NODES, "Nodes were deleted");

    // Sight is back: one machine is really gone, and all others are there.
    rig.cloud.withdraw(blind);
    let gone = nodes[0].name_any();
    rig.cloud.delete_machine(&gone);
    rig.node_gone(&manager, &gone).await;
    let left: Vec<_> = rig.own_nodes().await.iter().map(ResourceExt::name_any).collect();
    assert_eq!(left.len(), NODES - 1);
    rig.all_have_hosts(left).await;
}

/// The metric says that all of them are held.
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
    let rig = Rig::shared().await;
    let manager = Replica::start(&rig, &FLAGS).await;
    let node = rig.join("node").await;
    rig.initialised(&manager, &node).await;
    let service = rig.create(rig.balanced("web")).await.name_any();
    let before = rig.served(&manager, &service).await;

    let blind = rig.cloud.inject(Fault::fail(Failure::Blind));
    let late = rig
        .register("late", "ready:True id:memory://late InternalIP=10.9.9.9")
        .await;
    rig.event(&before.uid().unwrap(), "SyncLoadBalancerFailed").await;
    let now = rig.services().get(&service).await.unwrap();
    assert_eq!(service_address(&now), service_address(&before));
    assert_eq!(now.finalizers(), before.finalizers());
    assert_eq!(rig.own_nodes().await.len(), 2);

    rig.cloud.withdraw(blind);
    rig.all_have_hosts(vec![node, late]).await;
    assert_eq!(rig.balancers_made(), 1, "there are two load balancers for one Service");
}
