//! A cloud that hangs, throttles or answers nonsense, and works again later: without a restart all is well in the end.

use crate::{
    replica::{ALONE, Replica},
    rig::{Mark, Rig, is_initialised, service_address},
};
use kube::ResourceExt;
use memory::{Failure, Fault, Garbage, Operation};
use rstest::rstest;
use std::time::Duration;

#[tokio::test]
async fn a_call_that_hangs_for_one_service_does_not_hold_up_the_others() {
    let rig = Rig::shared().await;
    let manager = Replica::start(&rig, &[ALONE]).await;
    let node = rig.join("node").await;
    rig.initialised(&manager, &node).await;
    let stuck = rig.named("stuck");
    let fault = Fault::hang()
        .operation(Operation::EnsureLoadBalancer)
        .only(format!("default/{stuck}"));
    let hang = rig.cloud.inject(fault);
    rig.create(rig.balanced("stuck")).await;
    rig.cloud_until(|cloud| cloud.count(Operation::EnsureLoadBalancer) == 1)
        .await;
    for n in 0..5 {
        let service = rig.create(rig.balanced(&format!("web-{n}"))).await;
        rig.served(&manager, &service.name_any()).await;
    }
    let late = rig.join("late").await;
    rig.initialised(&manager, &late).await;
    rig.cloud_until(|cloud| {
        cloud
            .load_balancers()
            .iter()
            .all(|balancer| balancer.host_names().len() == 2)
    })
    .await;
    assert_eq!(service_address(&rig.services().get(&stuck).await.unwrap()), None);
    rig.cloud.withdraw(hang);
    rig.served(&manager, &stuck).await;
    assert_eq!(rig.balancers_made(), 6);
}

#[tokio::test]
async fn a_cloud_that_hangs_is_given_up_and_asked_again() {
    let rig = Rig::shared().await;
    // A door of its own is not needed: what counts is the timeout.
    let config = rig.folder.write(
        "impatient.yaml",
        &format!("endpoint: {}\ntimeout: 1s\n", rig.server.url()),
    );
    let hang = rig.cloud.inject(Fault::hang());
    let flags = [
        ALONE,
        "--cluster-cidr=10.245.0.0/16",
        &format!("--cloud-config={}", config.display()),
    ];
    let manager = Replica::start(&rig, &flags).await;
    let node = rig.join("node").await;
    let routed = rig.register("routed", "ready:True cidr:10.245.7.0/24").await;
    rig.cloud.boot(&routed);
    let service = rig.create(rig.balanced("web")).await;
    rig.cloud_until(|cloud| cloud.count(Operation::ListRoutes) > 1).await;
    let uid = rig.nodes().get(&node).await.unwrap().uid().unwrap();
    rig.event(&uid, "FailedToInitialize").await;
    rig.event(&service.uid().unwrap(), "SyncLoadBalancerFailed").await;
    assert!(!is_initialised(&rig.nodes().get(&node).await.unwrap()));
    rig.cloud.withdraw(hang);
    let node = rig.initialised(&manager, &node).await;
    let told = node.status.unwrap().conditions.unwrap();
    assert!(
        told.iter().all(|condition| condition.type_ == "Ready"),
        "the trouble is over: {told:?}"
    );
    rig.served(&manager, &service.name_any()).await;
    assert_eq!(rig.cloud.load_balancers().len(), 1);
    rig.cloud_until(|cloud| cloud.routes(&rig.name).len() == 1).await;
}

/// How long a cloud should be left alone that throttles.
const WAIT: Duration = Duration::from_secs(3);

/// Asks once to be left alone.
fn throttle(operation: Operation) -> Fault {
    let failure = Failure::Throttled {
        retry_after: Some(WAIT),
    };
    Fault::fail(failure).operation(operation).times(1)
}

/// How long it was left alone.
fn pause(rig: &Rig, operation: Operation) -> Duration {
    let calls = rig.cloud.calls_of(operation);
    let refused = calls
        .iter()
        .position(|call| call.effect == memory::Effect::Failed)
        .expect("it was throttled");
    calls[refused + 1].at.saturating_sub(calls[refused].at)
}

#[rstest]
#[case::machines(Operation::Describe)]
#[case::balancers(Operation::EnsureLoadBalancer)]
#[tokio::test]
async fn a_cloud_that_throttles_is_left_alone_for_as_long_as_it_asks(#[case] operation: Operation) {
    let rig = Rig::shared().await;
    let manager = Replica::start(&rig, &[ALONE, "--node-monitor-period=1h"]).await;
    manager.ready().await;
    rig.cloud.inject(throttle(operation));
    let node = rig.join("node").await;
    let service = rig.create(rig.balanced("web")).await;
    rig.initialised(&manager, &node).await;
    rig.served(&manager, &service.name_any()).await;
    let pause = pause(&rig, operation);
    assert!(pause >= WAIT, "asked again after {pause:?}");
    assert_eq!(rig.balancers_made(), 1);
}

#[tokio::test]
async fn a_cloud_that_throttles_routes_is_left_alone_for_as_long_as_it_asks() {
    let rig = Rig::shared().await;
    let operation = Operation::ListRoutes;
    rig.cloud.inject(throttle(operation));
    let often = "--route-reconciliation-period=200ms";
    let _manager = Replica::start(&rig, &[ALONE, "--cluster-cidr=10.245.0.0/16", often]).await;
    rig.cloud_until(|cloud| cloud.count(operation) > 1).await;
    let pause = pause(&rig, operation);
    assert!(pause >= WAIT, "asked again after {pause:?}");
}

#[rstest]
#[case::truncated(Failure::Garbage(Garbage::Truncated))]
#[case::not_json(Failure::Garbage(Garbage::NotJson))]
#[case::wrong_shape(Failure::Garbage(Garbage::WrongShape))]
#[case::empty(Failure::Garbage(Garbage::Empty))]
#[case::not_found(Failure::NotFound)]
#[case::unavailable(Failure::Unavailable("maintenance".into()))]
#[case::denied(Failure::Denied("expired".into()))]
#[tokio::test]
async fn no_node_is_deleted_by_an_answer_that_is_none(#[case] failure: Failure) {
    let rig = Rig::shared().await;
    let manager = Replica::start(&rig, &[ALONE, "--node-deletion-grace-period=0s"]).await;
    let (here, gone) = (rig.join("here").await, rig.join("gone").await);
    rig.all_initialised(2).await;
    let fault = rig.cloud.inject(Fault::fail(failure));
    rig.cloud.delete_machine(&gone);
    rig.cloud.forget_calls();
    rig.set_ready(&here, "Unknown").await;
    rig.set_ready(&gone, "Unknown").await;
    rig.cloud_until(|cloud| cloud.count(Operation::Describe) >= 3).await;
    assert_eq!(rig.own_nodes().await.len(), 2, "a Node was deleted on doubt");

    rig.cloud.withdraw(fault);
    rig.node_gone(&manager, &gone).await;
    rig.audited().await;
    let mut deletions = manager.changes(&rig, Mark::default());
    deletions.retain(|change| change.starts_with("delete"));
    assert_eq!(deletions, [format!("delete nodes {gone}")]);
    assert_eq!(rig.own_nodes().await.len(), 1);
}

#[tokio::test]
async fn a_service_is_served_in_spite_of_answers_that_make_no_sense() {
    let rig = Rig::shared().await;
    let manager = Replica::start(&rig, &[ALONE]).await;
    let node = rig.join("node").await;
    rig.initialised(&manager, &node).await;
    let garbage = [
        Garbage::Truncated,
        Garbage::NotJson,
        Garbage::WrongShape,
        Garbage::Empty,
    ]
    .map(Failure::Garbage);
    let failures = [
        Failure::NotFound,
        Failure::LostAnswer,
        Failure::Denied("expired".into()),
    ];
    let mut services = Vec::new();
    for (n, failure) in garbage.into_iter().chain(failures).enumerate() {
        let service = rig.balanced(&format!("web-{n}"));
        let subject = format!("default/{}", rig.named(&format!("web-{n}")));
        for operation in [Operation::EnsureLoadBalancer, Operation::DeleteLoadBalancer] {
            let fault = Fault::fail(failure.clone()).operation(operation).only(&subject);
            rig.cloud.inject(fault.times(1));
        }
        services.push(rig.create(service).await);
    }
    rig.all_served(services.len()).await;
    assert_eq!(rig.balancers_made(), services.len(), "a load balancer was made twice");
    for service in &services {
        rig.delete_service(&service.name_any()).await;
    }
    rig.no_services().await;
    assert_eq!(rig.cloud.load_balancers(), [], "a load balancer was left behind");
}
