//! SIGTERM: work in progress is finished, the lease is released, the exit code is 0.

use crate::fixture::{Fixture, Manager};
use memory_sim::{Fault, Operation};
use std::time::{Duration, Instant};

#[tokio::test]
async fn stops_cleanly_and_hands_over() {
    let fixture = Fixture::shared().await;
    let leader = fixture.manager().start();
    leader.logged("acquired lease").await;
    let node = fixture.join("a").await;
    fixture.initialised(&leader, &node).await;
    let standby = fixture.manager().start();
    standby.logged("new leader elected").await;
    standby.ready().await;

    let asked = Instant::now();
    leader.signal("TERM");
    let exit = leader.exited().await;
    assert_eq!(exit.code, 0, "{}", leader.log_tail());
    standby.logged("acquired lease").await;
    // A lease that is not released ends after 15 s.
    assert!(
        asked.elapsed() < Duration::from_secs(13),
        "the lease was not released: {:?}",
        asked.elapsed()
    );
    let node = fixture.join("b").await;
    fixture.initialised(&standby, &node).await;
}

#[tokio::test]
async fn releases_the_lease() {
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().start();
    manager.logged("acquired lease").await;
    assert_ne!(fixture.holder().await, "");
    // Like timeout(1) and some supervisors: to the process, and again to its group.
    manager.signal(&format!("TERM {pid}; kill -TERM", pid = manager.pid()));
    let exit = manager.exited().await;
    assert_eq!(exit.code, 0, "{}", exit.stderr);
    assert_eq!(fixture.holder().await, "");
    let spec = fixture.lease().await.unwrap().spec.unwrap();
    assert_eq!(spec.lease_duration_seconds, Some(1), "as client-go leaves it");
}

/// A manager whose cloud does not answer.
async fn stuck(fixture: &Fixture, grace: &str) -> Manager {
    fixture
        .cloud
        .inject(Fault::hang().operation(Operation::EnsureLoadBalancer));
    let manager = fixture
        .manager()
        .flag(&format!("--shutdown-grace-period={grace}"))
        .start();
    fixture.create(fixture.balanced("slow")).await;
    let asked = |cloud: &memory_sim::Cloud| cloud.count(Operation::EnsureLoadBalancer) > 0;
    fixture.cloud.until(asked).await;
    manager
}

#[tokio::test]
async fn does_not_wait_longer_than_the_grace_period() {
    let fixture = Fixture::shared().await;
    let manager = stuck(&fixture, "1s").await;
    let asked = Instant::now();
    manager.signal("TERM");
    let exit = manager.exited().await;
    let took = asked.elapsed();
    assert_eq!(exit.code, 0, "{}", exit.stderr);
    // The default is 20 s.
    assert!((900..18_000).contains(&took.as_millis()), "it took {took:?}");
    assert!(exit.stderr.contains("work was not finished in time"), "{}", exit.stderr);
    assert_eq!(fixture.holder().await, "");
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let fixture = Fixture::shared().await;
    let manager = stuck(&fixture, "30s").await;
    let asked = Instant::now();
    manager.signal("TERM");
    manager
        .logged("received a signal to stop; finishing the work in progress")
        .await;
    let exit = testkit::wait::until("an end", async || {
        manager.ended().ok_or_else(|| {
            manager.signal("TERM");
            manager.log_tail()
        })
    })
    .await;
    assert_eq!(exit.code, 130, "{}", exit.stderr);
    assert!(
        asked.elapsed() < Duration::from_secs(25),
        "it took {:?}",
        asked.elapsed()
    );
    assert!(
        exit.stderr
            .contains("received a second signal to stop; exiting at once"),
        "{}",
        exit.stderr
    );
}
