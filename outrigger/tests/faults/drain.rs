//! A signal to stop during a call to the cloud.

use crate::{
    fixture::{Fixture, service_address},
    replica::Replica,
};
use kube::ResourceExt;
use memory_sim::{Fault, FaultId, Operation};
use std::time::{Duration, Instant};

/// A leader whose cloud hangs while it creates a load balancer, and the name of the Service.
async fn hanging(fixture: &Fixture, flags: &[&str]) -> (Replica, FaultId, String) {
    let leader = Replica::start(fixture, flags).await;
    leader.leading().await;
    let node = fixture.join("node").await;
    fixture.initialised(&leader, &node).await;
    let hang = fixture
        .cloud
        .inject(Fault::hang().operation(Operation::EnsureLoadBalancer).times(1));
    let service = fixture.create(fixture.balanced("web")).await.name_any();
    fixture
        .cloud_until(|cloud| cloud.count(Operation::EnsureLoadBalancer) == 1)
        .await;
    (leader, hang, service)
}

#[tokio::test]
async fn work_in_progress_is_finished_before_the_lease_is_released() {
    let fixture = Fixture::shared().await;
    let (leader, hang, service) = hanging(&fixture, &["--shutdown-grace-period=30s"]).await;
    let standby = Replica::start(&fixture, &[]).await;
    standby.stands_by().await;
    leader.signal("TERM");
    leader.logged("received a signal to stop").await;
    let late = fixture.join("late").await;
    fixture.cloud.withdraw(hang);
    let exit = leader.exited().await;
    assert_eq!(exit.code, 0, "{}", leader.log_tail());
    assert!(exit.stderr.contains("released lease"), "{}", leader.log_tail());
    let service = fixture.services().get(&service).await.unwrap();
    assert!(
        service_address(&service).is_some(),
        "the work was not finished{}",
        leader.log_tail()
    );
    let events = fixture.events_about(&service.uid().unwrap()).await;
    assert!(events.contains("EnsuredLoadBalancer"), "no event: {events:?}");
    standby.leading().await;
    fixture.initialised(&standby, &late).await;
}

#[tokio::test]
async fn a_call_that_never_ends_does_not_keep_it_longer_than_the_grace_period() {
    let fixture = Fixture::shared().await;
    let (leader, _hang, service) = hanging(&fixture, &["--shutdown-grace-period=2s"]).await;
    let asked = Instant::now();
    leader.signal("TERM");
    let exit = leader.exited().await;
    let took = asked.elapsed();
    assert_eq!(exit.code, 0, "{}", leader.log_tail());
    assert!(
        (Duration::from_secs(2)..Duration::from_secs(18)).contains(&took),
        "it took {took:?}{}",
        leader.log_tail()
    );
    assert_eq!(
        fixture.holder().await,
        "",
        "the lease was not given away{}",
        leader.log_tail()
    );
    let next = Replica::start(&fixture, &[]).await;
    fixture.served(&next, &service).await;
    assert_eq!(fixture.cloud.load_balancers().len(), 1);
}
