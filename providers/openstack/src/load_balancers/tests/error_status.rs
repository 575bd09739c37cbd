//! Load balancers in the status ERROR.

use super::fixture::{Fixture, id, port, scenarios};
use crate::load_balancers::{annotations as key, names};
use cloud::Protocol;
use std::time::Duration;

scenarios! {
    error_during_creation
    error_while_in_use
    error_left_by_another_program
    error_of_a_recreated_load_balancer
    error_of_a_load_balancer_with_only_the_name
}

// upstream: openstack 52
async fn error_during_creation(fixture: &mut Fixture) {
    fixture.row("ERROR during create → LB deleted, error, next try creates again");
    let mut spec = fixture.service("web");
    fixture.fail_next(&spec);
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("gone into ERROR state"), "{refused}");
    // Not at once: a load balancer that cannot be created is not requested repeatedly. Nothing is awaited before, because that time is short.
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("1 times in a row"), "{refused}");
    fixture.reload();
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("1 times in a row"), "after a reload: {refused}");
    fixture.settled().await;
    assert_eq!(fixture.octavia.load_balancers().await.unwrap(), []);
    fixture.advance(Duration::from_secs(5)).await;
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.listeners(&id(&spec)).await, "TCP/80");
}

/// One that is in use is never deleted, and a repair is not tried repeatedly.
async fn error_while_in_use(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    spec.ports.push(port(Protocol::Tcp, 443));
    fixture.fail_next(&spec);
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("provisioning status is ERROR"), "{refused}");
    let before = fixture.calls();
    for _ in 0..3 {
        fixture.refused(&mut spec).await;
    }
    assert_eq!(fixture.since(&before), "loadbalancer_get×3", "a repair was tried once");
    fixture.reload();
    fixture.refused(&mut spec).await;
    assert!(
        !fixture.since(&before).contains("failover"),
        "and not again after a reload"
    );
    assert_eq!(fixture.octavia.load_balancers().await.unwrap().len(), 1);
    // Another client repairs it, by deleting it.
    fixture.delete_outside(&id(&spec)).await;
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.listeners(&id(&spec)).await, "TCP/443 TCP/80");
}

/// A load balancer that never worked under this manager is reported, and not changed.
async fn error_left_by_another_program(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    spec.ports.push(port(Protocol::Tcp, 443));
    fixture.fail_next(&spec);
    fixture.refused(&mut spec).await;
    fixture.restart();
    fixture.refused(&mut spec).await;
    assert!(
        fixture.calls().contains_key("loadbalancer_failover"),
        "{:?}",
        fixture.calls()
    );

    spec.annotations.remove(key::RECORD.key);
    fixture.restart();
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("provisioning status is ERROR"), "{refused}");
    let calls = fixture.calls();
    assert!(!calls.contains_key("loadbalancer_failover"), "{calls:?}");
}

/// It is not in use yet, although its Service was served by the previous one.
async fn error_of_a_recreated_load_balancer(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    let address = fixture.address(&mut spec).await;
    fixture.delete_outside(&id(&spec)).await;
    fixture.fail_next(&spec);
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("gone into ERROR state"), "{refused}");
    fixture.settled().await;
    fixture.advance(Duration::from_secs(5)).await;
    assert_eq!(fixture.address(&mut spec).await, address);
}

/// Another cluster of the same name may have created it, or occm: it is reported. Only an object with the Service's own UID is recreated.
async fn error_of_a_load_balancer_with_only_the_name(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    let name = names::load_balancer(&spec.cluster, &spec.service);
    fixture.fail_next(&spec);
    let theirs = fixture.create_outside(&name, &[&name]).await;
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("provisioning status is ERROR"), "{refused}");
    assert_eq!(fixture.octavia.load_balancers().await.unwrap().len(), 1, "it is left");

    fixture.delete_outside(&theirs.id).await;
    fixture.fail_next(&spec);
    fixture
        .create_outside(&name, &[&name, &names::uid_tag(&spec.service.uid)])
        .await;
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("gone into ERROR state"), "{refused}");
    fixture.settled().await;
    assert_eq!(fixture.octavia.load_balancers().await.unwrap(), []);
}
