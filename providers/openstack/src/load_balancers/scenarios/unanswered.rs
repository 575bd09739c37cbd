//! The cloud does not answer in time that it makes a load balancer, and may make it all the same.

use super::stage::{Stage, id, report};
use cloud::{LoadBalancers, Progress, Spec};
use openstack_sim::Fault;
use std::time::Duration;

/// A Service whose load balancer the cloud was asked for, and did not answer.
async fn unanswered() -> (Stage, Spec) {
    let mut stage = Stage::simulated().await;
    stage.configure(|config| config.request_timeout = Duration::from_secs(3));
    let mut spec = stage.service("web");
    let hang = Fault::hang().operation("loadbalancer_create").times(1);
    stage.sim().inject(hang);
    let error = stage.pass(&mut spec).await.expect_err("no answer");
    assert!(report(&error).contains("timed out"), "{}", report(&error));
    let Progress::Pending { waiting_for, .. } = stage.pass(&mut spec).await.unwrap() else {
        panic!("it is ready")
    };
    assert!(waiting_for.contains("may still be created"), "{waiting_for}");
    assert_eq!(stage.octavia.load_balancers().await.unwrap(), []);
    (stage, spec)
}

/// The cloud has got round to it; returns its ID.
async fn made(stage: &Stage, spec: &Spec) -> String {
    let name = stage.balancers.name(&spec.cluster, &spec.service);
    stage.foreign(&name, &[]).await.id
}

#[tokio::test]
async fn what_is_made_late_is_not_made_twice() {
    let (stage, mut spec) = unanswered().await;
    let late = made(&stage, &spec).await;
    stage.ensure(&mut spec).await.unwrap();
    assert_eq!(id(&spec), late);
    assert_eq!(stage.octavia.load_balancers().await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_made_late_is_deleted_with_the_service() {
    let (stage, mut spec) = unanswered().await;
    let deletion = stage.balancers.delete(&spec).await.unwrap().answer;
    assert!(matches!(deletion, Progress::Pending { .. }), "{deletion:?}");
    made(&stage, &spec).await;
    stage.delete(&mut spec).await.unwrap();
    assert_eq!(stage.octavia.load_balancers().await.unwrap(), []);
}

#[tokio::test]
async fn what_is_never_made_is_made_anew_after_a_while() {
    let (stage, mut spec) = unanswered().await;
    stage.later(Duration::from_secs(4)).await;
    stage.ensure(&mut spec).await.unwrap();
    assert_eq!(stage.octavia.load_balancers().await.unwrap().len(), 1);
}
