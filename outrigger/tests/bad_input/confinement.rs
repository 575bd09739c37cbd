//! A manager can be confined to some Nodes and Services: this is also what lets these tests share a control plane.

use crate::fixture::{Fixture, TAINT, is_initialised};

#[tokio::test]
async fn only_its_own_nodes_and_services() {
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().start();
    let ours = fixture.join("ours").await;
    fixture.cloud.boot(&fixture.named("theirs"));
    let theirs = fixture.register_elsewhere("theirs", "tainted ready:True").await;
    fixture.initialised(&manager, &ours).await;

    fixture
        .create(testkit::service::load_balancer(&fixture.named("classless")))
        .await;
    fixture
        .create(fixture.balanced("other").class("example.com/other"))
        .await;
    let mine = fixture.create(fixture.balanced("mine")).await;
    fixture.served(&manager, mine.metadata.name.as_deref().unwrap()).await;

    let node = fixture.nodes().get(&theirs).await.unwrap();
    assert!(
        !is_initialised(&node),
        "{TAINT} was taken from a Node outside of the scope"
    );
    let balancers = fixture.cloud.load_balancers();
    assert_eq!(balancers.len(), 1, "{balancers:?}");
    assert_eq!(balancers[0].service.name, fixture.named("mine"));
    assert_eq!(
        balancers[0]
            .hosts
            .iter()
            .map(|host| host.name.as_str())
            .collect::<Vec<_>>(),
        [ours]
    );
    let asked: Vec<_> = fixture
        .cloud
        .calls()
        .into_iter()
        .flat_map(|call| call.details.names)
        .collect();
    assert!(
        !asked.contains(&theirs),
        "the cloud was asked about a Node outside of the scope"
    );
}

#[tokio::test]
async fn deletes_none_but_its_own_nodes() {
    let fixture = Fixture::shared().await;
    let ours = fixture.register("ours", "id:memory://gone ready:Unknown").await;
    let theirs = fixture
        .register_elsewhere("theirs", "id:memory://gone-too ready:Unknown")
        .await;
    let manager = fixture
        .manager()
        .flag("--node-deletion-grace-period=0s")
        .flag("--node-deletion-max-fraction=1")
        .flag("--node-monitor-period=1s")
        .start();
    fixture.node_gone(&manager, &ours).await;
    assert!(
        fixture.nodes().get_opt(&theirs).await.unwrap().is_some(),
        "a Node outside of the scope was deleted"
    );
    let asked: Vec<_> = fixture
        .cloud
        .calls()
        .into_iter()
        .flat_map(|call| call.details.names)
        .collect();
    assert!(
        !asked.contains(&theirs),
        "the cloud was asked about a Node outside of the scope"
    );
}
