//! Load balancers that Octavia calls broken.

use super::stage::{Stage, id, port, stories};
use crate::load_balancers::{annotations as key, names};
use cloud::Protocol;
use std::time::Duration;

stories! {
    error_while_it_is_made
    error_while_it_is_in_use
    error_that_another_program_left
    error_of_one_that_is_made_again
    error_of_one_that_only_bears_the_name
}

// upstream: openstack 52
async fn error_while_it_is_made(stage: &mut Stage) {
    stage.row("ERROR during create → LB deleted, error, next try creates again");
    let mut spec = stage.service("web");
    stage.fail_next(&spec);
    let refused = stage.refused(&mut spec).await;
    assert!(refused.contains("gone into ERROR state"), "{refused}");
    // Not at once: a cloud that cannot is not asked over and over. Nothing is awaited before, for that time is short.
    let refused = stage.refused(&mut spec).await;
    assert!(refused.contains("1 times in a row"), "{refused}");
    stage.reload();
    let refused = stage.refused(&mut spec).await;
    assert!(refused.contains("1 times in a row"), "after a reload: {refused}");
    stage.settled().await;
    assert_eq!(stage.octavia.load_balancers().await.unwrap(), []);
    stage.later(Duration::from_secs(5)).await;
    stage.ensure(&mut spec).await.unwrap();
    assert_eq!(stage.listeners(&id(&spec)).await, "TCP/80");
}

/// One that is in use is never deleted, and not tried to be repaired over and over.
async fn error_while_it_is_in_use(stage: &mut Stage) {
    let mut spec = stage.service("web");
    stage.ensure(&mut spec).await.unwrap();
    spec.ports.push(port(Protocol::Tcp, 443));
    stage.fail_next(&spec);
    let refused = stage.refused(&mut spec).await;
    assert!(refused.contains("provisioning status is ERROR"), "{refused}");
    let before = stage.calls();
    for _ in 0..3 {
        stage.refused(&mut spec).await;
    }
    assert_eq!(stage.since(&before), "loadbalancer_get×3", "a repair was tried once");
    stage.reload();
    stage.refused(&mut spec).await;
    assert!(
        !stage.since(&before).contains("failover"),
        "and not again after a reload"
    );
    assert_eq!(stage.octavia.load_balancers().await.unwrap().len(), 1);
    // Somebody else repairs it, by deleting it.
    stage.vanish(&id(&spec)).await;
    stage.ensure(&mut spec).await.unwrap();
    assert_eq!(stage.listeners(&id(&spec)).await, "TCP/443 TCP/80");
}

/// A load balancer that was never well while we looked after it is told of, and nothing is done about it.
async fn error_that_another_program_left(stage: &mut Stage) {
    let mut spec = stage.service("web");
    stage.ensure(&mut spec).await.unwrap();
    spec.ports.push(port(Protocol::Tcp, 443));
    stage.fail_next(&spec);
    stage.refused(&mut spec).await;
    stage.restart();
    stage.refused(&mut spec).await;
    assert!(
        stage.calls().contains_key("loadbalancer_failover"),
        "{:?}",
        stage.calls()
    );

    spec.annotations.remove(key::RECORD.key);
    stage.restart();
    let refused = stage.refused(&mut spec).await;
    assert!(refused.contains("provisioning status is ERROR"), "{refused}");
    let calls = stage.calls();
    assert!(!calls.contains_key("loadbalancer_failover"), "{calls:?}");
}

/// It is not in use yet, although its Service was served by the one before.
async fn error_of_one_that_is_made_again(stage: &mut Stage) {
    let mut spec = stage.service("web");
    let address = stage.address(&mut spec).await;
    stage.vanish(&id(&spec)).await;
    stage.fail_next(&spec);
    let refused = stage.refused(&mut spec).await;
    assert!(refused.contains("gone into ERROR state"), "{refused}");
    stage.settled().await;
    stage.later(Duration::from_secs(5)).await;
    assert_eq!(stage.address(&mut spec).await, address);
}

/// Another cluster of our name may have made it, or occm: it is told of. Only what bears the Service's own UID is made again.
async fn error_of_one_that_only_bears_the_name(stage: &mut Stage) {
    let mut spec = stage.service("web");
    let name = names::load_balancer(&spec.cluster, &spec.service);
    stage.fail_next(&spec);
    let theirs = stage.foreign(&name, &[&name]).await;
    let refused = stage.refused(&mut spec).await;
    assert!(refused.contains("provisioning status is ERROR"), "{refused}");
    assert_eq!(stage.octavia.load_balancers().await.unwrap().len(), 1, "it is left");

    stage.vanish(&theirs.id).await;
    stage.fail_next(&spec);
    stage.foreign(&name, &[&name, &names::uid_tag(&spec.service.uid)]).await;
    let refused = stage.refused(&mut spec).await;
    assert!(refused.contains("gone into ERROR state"), "{refused}");
    stage.settled().await;
    assert_eq!(stage.octavia.load_balancers().await.unwrap(), []);
}
