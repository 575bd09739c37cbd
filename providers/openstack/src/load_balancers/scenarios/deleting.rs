//! Gone with all that came with it.

use super::stage::{Stage, annotate, id, stories};
use crate::load_balancers::annotations as key;
use cloud::{LoadBalancers, Spec};

stories! {
    without_a_trace
    already_gone
    one_by_one
    kept
    kept_for_one_that_never_gets_it
    of_a_service_that_is_gone
    of_a_service_that_is_of_another_type
    detached_by_hand
    vanished_and_made_again
    an_id_that_leads_nowhere_leads_to_nobody_else_s
}

async fn without_a_trace(stage: &mut Stage) {
    let mut spec = stage.service("web");
    stage.ensure(&mut spec).await.unwrap();
    let before = stage.calls();
    stage.delete(&mut spec).await.unwrap();
    assert_eq!(
        stage.since(&before),
        "floating_ip_delete floating_ip_list loadbalancer_delete loadbalancer_get×2 loadbalancer_list security_group_list"
    );
    assert_eq!(stage.ground.floating_ips().await, []);
    assert!(spec.annotations.is_empty(), "{:?}", spec.annotations);
}

// upstream: openstack 62
async fn already_gone(stage: &mut Stage) {
    stage.row("delete with LB already gone → SG and FIP still cleaned");
    stage.configure(|config| config.load_balancer.manage_security_groups = true);
    let mut spec = stage.service("web");
    stage.ensure(&mut spec).await.unwrap();
    assert_eq!(stage.ground.groups().await, 1);
    stage.vanish(&id(&spec)).await;
    assert_eq!(stage.ground.floating_ips().await.len(), 1);
    stage.restart();
    stage.delete(&mut spec).await.unwrap();
    assert_eq!(stage.ground.floating_ips().await, []);
    assert_eq!(stage.ground.groups().await, 0);
    assert!(spec.annotations.is_empty(), "{:?}", spec.annotations);
}

/// The Service's own load balancer is gone, and there is one of that name: another cluster has our name, and its Service
/// has that of ours.
async fn an_id_that_leads_nowhere_leads_to_nobody_else_s(stage: &mut Stage) {
    let mut spec = stage.service("web");
    let name = stage.balancers.name(&spec.cluster, &spec.service);
    let theirs = stage.foreign(&name, &[&name]).await;
    annotate(&mut spec, "load-balancer-id", "8c4d4a2e-0b0c-4f5e-9a5d-2d9a6f1b7c3e");
    annotate(&mut spec, "load-balancer-address", "203.0.113.9");
    assert_eq!(stage.balancers.find(&spec).await.unwrap(), None);
    stage.ensure(&mut spec).await.unwrap();
    assert_eq!(stage.listeners(&theirs.id).await, "", "it is not changed");
    assert_ne!(id(&spec), theirs.id);
    stage.vanish(&id(&spec)).await;
    stage.restart();
    stage.delete(&mut spec).await.unwrap();
    let left: Vec<_> = stage.named(&name).await.into_iter().map(|one| one.id).collect();
    assert_eq!(left, [theirs.id], "nor deleted");
}

async fn one_by_one(stage: &mut Stage) {
    stage.configure(|config| config.load_balancer.cascade_delete = false);
    let mut spec = stage.service("web");
    annotate(&mut spec, "enable-health-monitor", "true");
    stage.ensure(&mut spec).await.unwrap();
    let number = id(&spec);
    stage.delete(&mut spec).await.unwrap();
    assert_eq!(
        stage.octavia.load_balancer(&number).await.unwrap().map(|one| one.id),
        None
    );
}

async fn kept(stage: &mut Stage) {
    let mut spec = stage.service("web");
    annotate(&mut spec, "keep-floatingip", "true");
    let address = stage.address(&mut spec).await;
    stage.delete(&mut spec).await.unwrap();
    assert_eq!(stage.ground.floating_ips().await, [(address, None)]);
}

/// Nobody knows whether it asked for its address to be kept.
async fn of_a_service_that_is_gone(stage: &mut Stage) {
    let mut spec = stage.service("web");
    let address = stage.address(&mut spec).await;
    stage.restart();
    let mut departed = Spec {
        cluster: spec.cluster.clone(),
        service: spec.service.clone(),
        ..Spec::default()
    };
    stage.delete(&mut departed).await.unwrap();
    let name = stage.balancers.name(&spec.cluster, &spec.service);
    assert_eq!(stage.named(&name).await, []);
    assert_eq!(stage.ground.floating_ips().await, [(address, None)]);
}

/// An `ExternalName` needs no ports.
async fn of_a_service_that_is_of_another_type(stage: &mut Stage) {
    let mut spec = stage.service("web");
    stage.address(&mut spec).await;
    spec.ports.clear();
    stage.delete(&mut spec).await.unwrap();
    assert_eq!(stage.ground.floating_ips().await, []);
}

/// An address that was kept is not lost with a Service of the same name that asks for it and is refused.
async fn kept_for_one_that_never_gets_it(stage: &mut Stage) {
    let mut spec = stage.service("web");
    annotate(&mut spec, "keep-floatingip", "true");
    let address = stage.address(&mut spec).await;
    stage.delete(&mut spec).await.unwrap();
    let mut next = stage.service("web");
    next.ip = Some(address.clone());
    annotate(&mut next, "class", "nonsense");
    let refused = stage.refused(&mut next).await;
    assert!(refused.contains("nonsense"), "{refused}");
    stage.delete(&mut next).await.unwrap();
    assert_eq!(stage.ground.floating_ips().await, [(address, None)]);
}

/// What somebody took off a load balancer is not deleted with it.
async fn detached_by_hand(stage: &mut Stage) {
    let mut spec = stage.service("web");
    let address = stage.address(&mut spec).await;
    stage.ground.detach(&address).await;
    stage.delete(&mut spec).await.unwrap();
    assert_eq!(stage.ground.floating_ips().await, [(address, None)]);
}

/// A load balancer that somebody deleted is made again, with the address it had.
async fn vanished_and_made_again(stage: &mut Stage) {
    let mut spec = stage.service("web");
    let address = stage.address(&mut spec).await;
    let old = id(&spec);
    stage.vanish(&old).await;
    assert_eq!(stage.address(&mut spec).await, address);
    assert_ne!(id(&spec), old);
    assert_eq!(spec.annotations[key::LOAD_BALANCER_ADDRESS.key], address);

    // What is inside only has no floating IP that would keep the address.
    let mut inside = stage.service("inside");
    annotate(&mut inside, "internal", "true");
    let address = stage.address(&mut inside).await;
    stage.vanish(&id(&inside)).await;
    assert_eq!(stage.address(&mut inside).await, address);
    stage.vanish(&id(&inside)).await;
    let mut taker = stage.service("taker");
    taker.ip = Some(address.clone());
    annotate(&mut taker, "internal", "true");
    assert_eq!(stage.address(&mut taker).await, address);
    let other = stage.address(&mut inside).await;
    assert_ne!(other, address, "somebody else has it now");
    assert_eq!(inside.annotations[key::LOAD_BALANCER_ADDRESS.key], other);
}
