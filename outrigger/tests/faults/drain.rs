//! Asked to stop while a call of the cloud is under way.

use crate::{
    replica::Replica,
    rig::{Rig, service_address},
};
use kube::ResourceExt;
use memory::{Fault, FaultId, Operation};
use std::time::{Duration, Instant};

/// A leader whose cloud hangs while it makes a load balancer, and the name of the Service.
async fn hanging(rig: &Rig, flags: &[&str]) -> (Replica, FaultId, String) {
    let leader = Replica::start(rig, flags).await;
    leader.leading().await;
    let node = rig.join("node").await;
    rig.initialised(&leader, &node).await;
    let hang = rig
        .cloud
        .inject(Fault::hang().operation(Operation::EnsureLoadBalancer).times(1));
    let service = rig.create(rig.balanced("web")).await.name_any();
    rig.cloud_until(|cloud| cloud.count(Operation::EnsureLoadBalancer) == 1)
        .await;
    (leader, hang, service)
}

#[tokio::test]
async fn what_is_under_way_is_finished_before_the_lease_is_given_away() {
    let rig = Rig::shared().await;
    let (leader, hang, service) = hanging(&rig, &["--shutdown-grace-period=30s"]).await;
    let standby = Replica::start(&rig, &[]).await;
    standby.stands_by().await;
    leader.signal("TERM");
    leader.logged("asked to stop").await;
    let late = rig.join("late").await;
    rig.cloud.withdraw(hang);
    let exit = leader.exited().await;
    assert_eq!(exit.code, 0, "{}", leader.told());
    assert!(exit.stderr.contains("released lease"), "{}", leader.told());
    let service = rig.services().get(&service).await.unwrap();
    assert!(
        service_address(&service).is_some(),
        "the work was not finished{}",
        leader.told()
    );
    let told = rig.events_about(&service.uid().unwrap()).await;
    assert!(told.contains("EnsuredLoadBalancer"), "it was not told: {told:?}");
    standby.leading().await;
    rig.initialised(&standby, &late).await;
}

#[tokio::test]
async fn a_call_that_never_ends_does_not_keep_it_longer_than_the_grace_period() {
    let rig = Rig::shared().await;
    let (leader, _hang, service) = hanging(&rig, &["--shutdown-grace-period=2s"]).await;
    let asked = Instant::now();
    leader.signal("TERM");
    let exit = leader.exited().await;
    let took = asked.elapsed();
    assert_eq!(exit.code, 0, "{}", leader.told());
    assert!(
        (Duration::from_secs(2)..Duration::from_secs(18)).contains(&took),
        "it took {took:?}{}",
        leader.told()
    );
    assert_eq!(rig.holder().await, "", "the lease was not given away{}", leader.told());
    let next = Replica::start(&rig, &[]).await;
    rig.served(&next, &service).await;
    assert_eq!(rig.cloud.load_balancers().len(), 1);
}
