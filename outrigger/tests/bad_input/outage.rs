//! The API server does not run when the process starts, or stops and starts again.

use crate::fixture::{Fixture, Manager};

/// The lease is longer than an API server takes to start on a busy machine.
fn start(fixture: &Fixture) -> Manager {
    fixture
        .manager()
        .flag("--leader-elect-lease-duration=90s")
        .flag("--leader-elect-renew-deadline=60s")
        .flag("--leader-elect-retry-period=1s")
        .start()
}

#[tokio::test]
async fn waits_for_an_api_server_that_is_down() {
    let fixture = Fixture::private().await;
    let node = fixture.join("a").await;
    fixture.stop_apiserver().await;

    let manager = start(&fixture);
    let line = manager.logged("cannot use the lease; retrying").await;
    let reason = format!("cannot connect to {}: Connection refused", fixture.plane().url());
    assert!(line.contains(&reason), "{line}");
    manager.answers("/readyz", 500).await;
    manager.answers("/livez", 200).await;
    assert!(manager.ended().is_none());

    fixture.start_apiserver().await;
    fixture.initialised(&manager, &node).await;
    manager.ready().await;
}

#[tokio::test]
async fn goes_on_after_a_restart_of_the_api_server() {
    let fixture = Fixture::private().await;
    let manager = start(&fixture);
    let before = fixture.join("before").await;
    fixture.initialised(&manager, &before).await;
    let holder = fixture.holder().await;

    fixture.stop_apiserver().await;
    manager.answers("/readyz", 500).await;
    manager.answers("/livez", 200).await;
    fixture.start_apiserver().await;

    let after = fixture.join("after").await;
    fixture.initialised(&manager, &after).await;
    let service = fixture.create(fixture.balanced("web")).await;
    fixture
        .served(&manager, service.metadata.name.as_deref().unwrap())
        .await;
    manager.ready().await;
    assert_eq!(fixture.holder().await, holder, "it must still be the same leader");
}
