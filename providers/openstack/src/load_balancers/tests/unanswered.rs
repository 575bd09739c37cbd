//! The cloud does not answer the creation of a load balancer in time, and may create it nevertheless.

use super::fixture::{Fixture, id, report};
use cloud::{LoadBalancers, Progress, Spec};
use openstack_sim::Fault;
use std::time::Duration;

/// A Service for which the creation of the load balancer was not answered.
async fn unanswered() -> (Fixture, Spec) {
    let mut fixture = Fixture::simulated().await;
    fixture.configure(|config| config.request_timeout = Duration::from_secs(3));
    let mut spec = fixture.service("web");
    let hang = Fault::hang().operation("loadbalancer_create").times(1);
    fixture.sim().inject(hang);
    let error = fixture.pass(&mut spec).await.expect_err("no answer");
    assert!(report(&error).contains("timed out"), "{}", report(&error));
    let Progress::Pending { waiting_for, .. } = fixture.pass(&mut spec).await.unwrap() else {
        panic!("it is ready")
    };
    assert!(waiting_for.contains("may still be created"), "{waiting_for}");
    assert_eq!(fixture.octavia.load_balancers().await.unwrap(), []);
    (fixture, spec)
}

/// The cloud has created it; returns its ID.
async fn made(fixture: &Fixture, spec: &Spec) -> String {
    let name = fixture.balancers.name(&spec.cluster, &spec.service);
    fixture.create_outside(&name, &[]).await.id
}

#[tokio::test]
async fn a_late_creation_is_not_repeated() {
    let (fixture, mut spec) = unanswered().await;
    let late = made(&fixture, &spec).await;
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(id(&spec), late);
    assert_eq!(fixture.octavia.load_balancers().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_late_creation_is_deleted_with_the_service() {
    let (fixture, mut spec) = unanswered().await;
    let deletion = fixture.balancers.delete(&spec).await.unwrap().answer;
    assert!(matches!(deletion, Progress::Pending { .. }), "{deletion:?}");
    made(&fixture, &spec).await;
    fixture.delete(&mut spec).await.unwrap();
    assert_eq!(fixture.octavia.load_balancers().await.unwrap(), []);
}

#[tokio::test]
async fn a_lost_creation_is_repeated_after_a_while() {
    let (fixture, mut spec) = unanswered().await;
    fixture.advance(Duration::from_secs(4)).await;
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.octavia.load_balancers().await.unwrap().len(), 1);
}
