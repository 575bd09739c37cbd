//! A manager can be confined to some Nodes and Services: this is also what lets these tests share a control plane.

use crate::rig::{Rig, TAINT, is_initialised};

#[tokio::test]
async fn only_its_own_nodes_and_services() {
    let rig = Rig::shared().await;
    let manager = rig.manager().start();
    let ours = rig.join("ours").await;
    rig.cloud.boot(&rig.named("theirs"));
    let theirs = rig.register_elsewhere("theirs", "tainted ready:True").await;
    rig.initialised(&manager, &ours).await;

    rig.create(testkit::service::load_balancer(&rig.named("classless")))
        .await;
    rig.create(rig.balanced("other").class("example.com/other")).await;
    let mine = rig.create(rig.balanced("mine")).await;
    rig.served(&manager, mine.metadata.name.as_deref().unwrap()).await;

    let node = rig.nodes().get(&theirs).await.unwrap();
    assert!(!is_initialised(&node), "{TAINT} was taken from a Node of somebody else");
    let balancers = rig.cloud.load_balancers();
    assert_eq!(balancers.len(), 1, "{balancers:?}");
    assert_eq!(balancers[0].service.name, rig.named("mine"));
    assert_eq!(
        balancers[0]
            .hosts
            .iter()
            .map(|host| host.name.as_str())
            .collect::<Vec<_>>(),
        [ours]
    );
    let asked: Vec<_> = rig
        .cloud
        .calls()
        .into_iter()
        .flat_map(|call| call.details.names)
        .collect();
    assert!(
        !asked.contains(&theirs),
        "the cloud was asked about a Node of somebody else"
    );
}

#[tokio::test]
async fn deletes_none_but_its_own_nodes() {
    let rig = Rig::shared().await;
    let ours = rig.register("ours", "id:memory://gone ready:Unknown").await;
    let theirs = rig
        .register_elsewhere("theirs", "id:memory://gone-too ready:Unknown")
        .await;
    let manager = rig
        .manager()
        .flag("--node-deletion-grace-period=0s")
        .flag("--node-deletion-max-fraction=1")
        .flag("--node-monitor-period=1s")
        .start();
    rig.node_gone(&manager, &ours).await;
    assert!(
        rig.nodes().get_opt(&theirs).await.unwrap().is_some(),
        "a Node of somebody else was deleted"
    );
    let asked: Vec<_> = rig
        .cloud
        .calls()
        .into_iter()
        .flat_map(|call| call.details.names)
        .collect();
    assert!(
        !asked.contains(&theirs),
        "the cloud was asked about a Node of somebody else"
    );
}
