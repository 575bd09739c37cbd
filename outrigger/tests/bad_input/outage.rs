//! The API server is not there when the process starts, or goes away and comes back.

use crate::rig::{Manager, Rig};

/// The lease is longer than an API server takes to start on a busy machine.
fn start(rig: &Rig) -> Manager {
    rig.manager()
        .flag("--leader-elect-lease-duration=90s")
        .flag("--leader-elect-renew-deadline=60s")
        .flag("--leader-elect-retry-period=1s")
        .start()
}

#[tokio::test]
async fn waits_for_an_api_server_that_is_down() {
    let rig = Rig::private().await;
    let node = rig.join("a").await;
    rig.stop_apiserver().await;

    let manager = start(&rig);
    let line = manager.logged("cannot use the lease; trying again").await;
    let reason = format!("cannot connect to {}: Connection refused", rig.plane().url());
    assert!(line.contains(&reason), "{line}");
    manager.answers("/readyz", 500).await;
    manager.answers("/livez", 200).await;
    assert!(manager.ended().is_none());

    rig.start_apiserver().await;
    rig.initialised(&manager, &node).await;
    manager.ready().await;
}

#[tokio::test]
async fn goes_on_after_a_restart_of_the_api_server() {
    let rig = Rig::private().await;
    let manager = start(&rig);
    let before = rig.join("before").await;
    rig.initialised(&manager, &before).await;
    let holder = rig.holder().await;

    rig.stop_apiserver().await;
    manager.answers("/readyz", 500).await;
    manager.answers("/livez", 200).await;
    rig.start_apiserver().await;

    let after = rig.join("after").await;
    rig.initialised(&manager, &after).await;
    let service = rig.create(rig.balanced("web")).await;
    rig.served(&manager, service.metadata.name.as_deref().unwrap()).await;
    manager.ready().await;
    assert_eq!(rig.holder().await, holder, "it must still be the same leader");
}
