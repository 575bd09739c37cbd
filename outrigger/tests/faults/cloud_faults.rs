//! A cloud that hangs, throttles or returns garbage, and works again later: without a restart everything is complete in the end.

use crate::{
    fixture::{Fixture, Mark, is_initialised, service_address},
    replica::{ALONE, Replica},
};
use kube::ResourceExt;
use memory_sim::{Failure, Fault, Garbage, Operation};
use rstest::rstest;
use std::time::Duration;

#[tokio::test]
async fn a_call_that_hangs_for_one_service_does_not_hold_up_the_others() {
    let fixture = Fixture::shared().await;
    let manager = Replica::start(&fixture, &[ALONE]).await;
    let node = fixture.join("node").await;
    fixture.initialised(&manager, &node).await;
    let stuck = fixture.named("stuck");
    let fault = Fault::hang()
        .operation(Operation::EnsureLoadBalancer)
        .only(format!("default/{stuck}"));
    let hang = fixture.cloud.inject(fault);
    fixture.create(fixture.balanced("stuck")).await;
    fixture
        .cloud_until(|cloud| cloud.count(Operation::EnsureLoadBalancer) == 1)
        .await;
    for n in 0..5 {
        let service = fixture.create(fixture.balanced(&format!("web-{n}"))).await;
        fixture.served(&manager, &service.name_any()).await;
    }
    let late = fixture.join("late").await;
    fixture.initialised(&manager, &late).await;
    fixture
        .cloud_until(|cloud| {
            cloud
                .load_balancers()
                .iter()
                .all(|balancer| balancer.host_names().len() == 2)
        })
        .await;
    assert_eq!(service_address(&fixture.services().get(&stuck).await.unwrap()), None);
    fixture.cloud.withdraw(hang);
    fixture.served(&manager, &stuck).await;
    assert_eq!(fixture.balancers_made(), 6);
}

#[tokio::test]
async fn a_call_that_hangs_is_cancelled_and_retried() {
    let fixture = Fixture::shared().await;
    // It needs no server of its own: the timeout is tested.
    let config = fixture.folder.write(
        "impatient.yaml",
        &format!("endpoint: {}\ntimeout: 1s\n", fixture.server.url()),
    );
    let hang = fixture.cloud.inject(Fault::hang());
    let flags = [
        ALONE,
        "--cluster-cidr=10.245.0.0/16",
        &format!("--cloud-config={}", config.display()),
    ];
    let manager = Replica::start(&fixture, &flags).await;
    let node = fixture.join("node").await;
    let routed = fixture.register("routed", "ready:True cidr:10.245.7.0/24").await;
    fixture.cloud.boot(&routed);
    let service = fixture.create(fixture.balanced("web")).await;
    fixture
        .cloud_until(|cloud| cloud.count(Operation::ListRoutes) > 1)
        .await;
    let uid = fixture.nodes().get(&node).await.unwrap().uid().unwrap();
    fixture.event(&uid, "FailedToInitialize").await;
    fixture.event(&service.uid().unwrap(), "SyncLoadBalancerFailed").await;
    assert!(!is_initialised(&fixture.nodes().get(&node).await.unwrap()));
    fixture.cloud.withdraw(hang);
    let node = fixture.initialised(&manager, &node).await;
    let conditions = node.status.unwrap().conditions.unwrap();
    assert!(
        conditions.iter().all(|condition| condition.type_ == "Ready"),
        "the trouble is over: {conditions:?}"
    );
    fixture.served(&manager, &service.name_any()).await;
    assert_eq!(fixture.cloud.load_balancers().len(), 1);
    fixture
        .cloud_until(|cloud| cloud.routes(&fixture.name).len() == 1)
        .await;
}

/// The retry-after of a cloud that throttles.
const WAIT: Duration = Duration::from_secs(3);

/// Throttles once.
fn throttle(operation: Operation) -> Fault {
    let failure = Failure::Throttled {
        retry_after: Some(WAIT),
    };
    Fault::fail(failure).operation(operation).times(1)
}

/// How long no requests were sent.
fn pause(fixture: &Fixture, operation: Operation) -> Duration {
    let calls = fixture.cloud.calls_of(operation);
    let refused = calls
        .iter()
        .position(|call| call.effect == memory_sim::Effect::Failed)
        .expect("it was throttled");
    calls[refused + 1].at.saturating_sub(calls[refused].at)
}

#[rstest]
#[case::machines(Operation::Describe)]
#[case::balancers(Operation::EnsureLoadBalancer)]
#[tokio::test]
async fn a_throttling_cloud_is_not_called_before_retry_after(#[case] operation: Operation) {
    let fixture = Fixture::shared().await;
    let manager = Replica::start(&fixture, &[ALONE, "--node-monitor-period=1h"]).await;
    manager.ready().await;
    fixture.cloud.inject(throttle(operation));
    let node = fixture.join("node").await;
    let service = fixture.create(fixture.balanced("web")).await;
    fixture.initialised(&manager, &node).await;
    fixture.served(&manager, &service.name_any()).await;
    let pause = pause(&fixture, operation);
    assert!(pause >= WAIT, "asked again after {pause:?}");
    assert_eq!(fixture.balancers_made(), 1);
}

#[tokio::test]
async fn a_cloud_that_throttles_routes_is_not_called_before_retry_after() {
    let fixture = Fixture::shared().await;
    let operation = Operation::ListRoutes;
    fixture.cloud.inject(throttle(operation));
    let often = "--route-reconciliation-period=200ms";
    let _manager = Replica::start(&fixture, &[ALONE, "--cluster-cidr=10.245.0.0/16", often]).await;
    fixture.cloud_until(|cloud| cloud.count(operation) > 1).await;
    let pause = pause(&fixture, operation);
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
async fn an_invalid_answer_deletes_no_node(#[case] failure: Failure) {
    let fixture = Fixture::shared().await;
    let manager = Replica::start(&fixture, &[ALONE, "--node-deletion-grace-period=0s"]).await;
    let (here, gone) = (fixture.join("here").await, fixture.join("gone").await);
    fixture.all_initialised(2).await;
    let fault = fixture.cloud.inject(Fault::fail(failure));
    fixture.cloud.delete_machine(&gone);
    fixture.cloud.forget_calls();
    fixture.set_ready(&here, "Unknown").await;
    fixture.set_ready(&gone, "Unknown").await;
    fixture.cloud_until(|cloud| cloud.count(Operation::Describe) >= 3).await;
    assert_eq!(fixture.own_nodes().await.len(), 2, "a Node was deleted on doubt");

    fixture.cloud.withdraw(fault);
    fixture.node_gone(&manager, &gone).await;
    fixture.audited().await;
    let mut deletions = manager.changes(&fixture, Mark::default());
    deletions.retain(|change| change.starts_with("delete"));
    assert_eq!(deletions, [format!("delete nodes {gone}")]);
    assert_eq!(fixture.own_nodes().await.len(), 1);
}

#[tokio::test]
async fn a_service_is_served_despite_invalid_answers() {
    let fixture = Fixture::shared().await;
    let manager = Replica::start(&fixture, &[ALONE]).await;
    let node = fixture.join("node").await;
    fixture.initialised(&manager, &node).await;
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
        let service = fixture.balanced(&format!("web-{n}"));
        let subject = format!("default/{}", fixture.named(&format!("web-{n}")));
        for operation in [Operation::EnsureLoadBalancer, Operation::DeleteLoadBalancer] {
            let fault = Fault::fail(failure.clone()).operation(operation).only(&subject);
            fixture.cloud.inject(fault.times(1));
        }
        services.push(fixture.create(service).await);
    }
    fixture.all_served(services.len()).await;
    assert_eq!(
        fixture.balancers_made(),
        services.len(),
        "a load balancer was made twice"
    );
    for service in &services {
        fixture.delete_service(&service.name_any()).await;
    }
    fixture.no_services().await;
    assert_eq!(fixture.cloud.load_balancers(), [], "a load balancer was left behind");
}
