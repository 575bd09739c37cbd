//! Deleted with all its objects.

use super::fixture::{Fixture, annotate, id, scenarios};
use crate::{api::octavia::LoadBalancer, load_balancers::annotations as key};
use cloud::{LoadBalancers, Spec};

scenarios! {
    deleted_completely
    already_deleted
    one_by_one
    keep_floating_ip
    kept_for_a_service_that_is_refused
    of_a_deleted_service
    of_a_service_of_another_type
    detached_by_hand
    deleted_elsewhere_and_recreated
    a_stale_id_does_not_select_another_load_balancer
}

async fn deleted_completely(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    let before = fixture.calls();
    fixture.delete(&mut spec).await.unwrap();
    assert_eq!(
        fixture.since(&before),
        "floating_ip_delete floating_ip_list loadbalancer_delete loadbalancer_get×2 loadbalancer_list security_group_list"
    );
    assert_eq!(fixture.project.floating_ips().await, []);
    assert!(spec.annotations.is_empty(), "{:?}", spec.annotations);
}

// upstream: openstack 62
async fn already_deleted(fixture: &mut Fixture) {
    fixture.row("delete with LB already gone → SG and FIP still cleaned");
    fixture.configure(|config| config.load_balancer.manage_security_groups = true);
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.project.groups().await, 1);
    fixture.delete_outside(&id(&spec)).await;
    assert_eq!(fixture.project.floating_ips().await.len(), 1);
    fixture.restart();
    fixture.delete(&mut spec).await.unwrap();
    assert_eq!(fixture.project.floating_ips().await, []);
    assert_eq!(fixture.project.groups().await, 0);
    assert!(spec.annotations.is_empty(), "{:?}", spec.annotations);
}

/// The Service's own load balancer does not exist, but one of its name does: another cluster has the same name, and a Service
/// of the same name.
async fn a_stale_id_does_not_select_another_load_balancer(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    let name = fixture.balancers.name(&spec.cluster, &spec.service);
    let theirs = fixture.create_outside(&name, &[&name]).await;
    annotate(&mut spec, "load-balancer-id", "8c4d4a2e-0b0c-4f5e-9a5d-2d9a6f1b7c3e");
    annotate(&mut spec, "load-balancer-address", "203.0.113.9");
    assert_eq!(fixture.balancers.find(&spec).await.unwrap(), None);
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.listeners(&theirs.id).await, "", "it is not changed");
    assert_ne!(id(&spec), theirs.id);
    fixture.delete_outside(&id(&spec)).await;
    fixture.restart();
    fixture.delete(&mut spec).await.unwrap();
    let left: Vec<_> = fixture.named(&name).await.into_iter().map(|one| one.id).collect();
    assert_eq!(left, [theirs.id], "nor deleted");
}

async fn one_by_one(fixture: &mut Fixture) {
    fixture.configure(|config| config.load_balancer.cascade_delete = false);
    let mut spec = fixture.service("web");
    annotate(&mut spec, "enable-health-monitor", "true");
    fixture.ensure(&mut spec).await.unwrap();
    let number = id(&spec);
    fixture.delete(&mut spec).await.unwrap();
    assert_eq!(
        fixture
            .octavia
            .find::<LoadBalancer>(&number)
            .await
            .unwrap()
            .map(|one| one.id),
        None
    );
}

async fn keep_floating_ip(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    annotate(&mut spec, "keep-floatingip", "true");
    let address = fixture.address(&mut spec).await;
    fixture.delete(&mut spec).await.unwrap();
    assert_eq!(fixture.project.floating_ips().await, [(address, None)]);
}

/// It is not known whether the Service wants to keep its address.
async fn of_a_deleted_service(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    let address = fixture.address(&mut spec).await;
    fixture.restart();
    let mut departed = Spec {
        cluster: spec.cluster.clone(),
        service: spec.service.clone(),
        ..Spec::default()
    };
    fixture.delete(&mut departed).await.unwrap();
    let name = fixture.balancers.name(&spec.cluster, &spec.service);
    assert_eq!(fixture.named(&name).await, []);
    assert_eq!(fixture.project.floating_ips().await, [(address, None)]);
}

/// An `ExternalName` needs no ports.
async fn of_a_service_of_another_type(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    fixture.address(&mut spec).await;
    spec.ports.clear();
    fixture.delete(&mut spec).await.unwrap();
    assert_eq!(fixture.project.floating_ips().await, []);
}

/// A kept address is not lost with a Service of the same name that requests it and is refused.
async fn kept_for_a_service_that_is_refused(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    annotate(&mut spec, "keep-floatingip", "true");
    let address = fixture.address(&mut spec).await;
    fixture.delete(&mut spec).await.unwrap();
    let mut next = fixture.service("web");
    next.ip = Some(address.clone());
    annotate(&mut next, "class", "nonsense");
    let refused = fixture.refused(&mut next).await;
    assert!(refused.contains("nonsense"), "{refused}");
    fixture.delete(&mut next).await.unwrap();
    assert_eq!(fixture.project.floating_ips().await, [(address, None)]);
}

/// A floating IP that a user detached is not deleted with the load balancer.
async fn detached_by_hand(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    let address = fixture.address(&mut spec).await;
    fixture.project.detach(&address).await;
    fixture.delete(&mut spec).await.unwrap();
    assert_eq!(fixture.project.floating_ips().await, [(address, None)]);
}

/// A load balancer that another client deleted is recreated with its previous address.
async fn deleted_elsewhere_and_recreated(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    let address = fixture.address(&mut spec).await;
    let old = id(&spec);
    fixture.delete_outside(&old).await;
    assert_eq!(fixture.address(&mut spec).await, address);
    assert_ne!(id(&spec), old);
    assert_eq!(spec.annotations[key::LOAD_BALANCER_ADDRESS.key], address);

    // An internal load balancer has no floating IP that would keep the address.
    let mut inside = fixture.service("inside");
    annotate(&mut inside, "internal", "true");
    let address = fixture.address(&mut inside).await;
    fixture.delete_outside(&id(&inside)).await;
    assert_eq!(fixture.address(&mut inside).await, address);
    fixture.delete_outside(&id(&inside)).await;
    let mut taker = fixture.service("taker");
    taker.ip = Some(address.clone());
    annotate(&mut taker, "internal", "true");
    assert_eq!(fixture.address(&mut taker).await, address);
    let other = fixture.address(&mut inside).await;
    assert_ne!(other, address, "another one has it now");
    assert_eq!(inside.annotations[key::LOAD_BALANCER_ADDRESS.key], other);
}
