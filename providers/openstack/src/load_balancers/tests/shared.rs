//! Load balancers that several Services, or other clients, use.

use super::fixture::{Fixture, annotate, id, port, scenarios};
use crate::api::octavia::LoadBalancer;
use cloud::{LoadBalancers, Protocol, Retry, Spec};

scenarios! {
    shared
    a_load_balancer_of_the_user
    the_load_balancer_of_another_cluster
    two_at_the_same_time
    broken_before_one_came
}

fn on(fixture: &Fixture, name: &str, number: u16, balancer: &str) -> Spec {
    let mut spec = fixture.service(name);
    spec.ports = vec![port(Protocol::Tcp, number)];
    annotate(&mut spec, "load-balancer-id", balancer);
    spec
}

// upstream: openstack 56
async fn shared(fixture: &mut Fixture) {
    fixture.row("shared LB: 2nd Service tagged; 3rd refused at max 2; delete owner first → LB stays with tag of 2nd, FIP stays; delete last → LB and our FIP gone");
    let mut first = fixture.service("first");
    let address = fixture.address(&mut first).await;
    let balancer = id(&first);
    let mut second = on(fixture, "second", 81, &balancer);
    assert_eq!(fixture.address(&mut second).await, address);
    assert_eq!(fixture.listeners(&balancer).await, "TCP/80 TCP/81");
    let mut third = on(fixture, "third", 82, &balancer);
    let refused = fixture.refused(&mut third).await;
    assert!(refused.contains("max-shared-lb is 2"), "{refused}");
    let mut taken = on(fixture, "second", 80, &balancer);
    let refused = fixture.refused(&mut taken).await;
    assert!(refused.contains("belongs to another owner"), "{refused}");

    // The second Service does not change the load balancer of the first one.
    fixture.ensure(&mut first).await.unwrap();
    fixture.delete(&mut first).await.unwrap();
    assert_eq!(fixture.listeners(&balancer).await, "TCP/81");
    assert_eq!(fixture.address(&mut second).await, address);
    let tags = fixture.tree(&balancer).await.balancer.tags;
    assert_eq!(tags, [fixture.balancers.name(&second.cluster, &second.service)]);

    fixture.delete(&mut second).await.unwrap();
    assert_eq!(
        fixture
            .octavia
            .find::<LoadBalancer>(&balancer)
            .await
            .unwrap()
            .map(|one| one.id),
        None
    );
    assert_eq!(fixture.project.floating_ips().await, []);
}

// upstream: openstack 57
async fn a_load_balancer_of_the_user(fixture: &mut Fixture) {
    fixture.row("user LB by id: listeners added/removed, LB never deleted, foreign tags preserved");
    let own = fixture.create_outside("mine", &["mine"]).await;
    let mut external = on(fixture, "web", 80, &own.id);
    // Internal clients are served, and it becomes ready when another client assigns it a floating IP.
    let refused = fixture.ensure(&mut external).await.unwrap_err();
    assert!(refused.report().contains("no floating IP"), "{}", refused.report());
    assert_eq!(refused.retry(), Retry::Backoff);
    assert_eq!(fixture.listeners(&own.id).await, "TCP/80");
    assert_eq!(fixture.members(&own.id).await, "a b");
    external.hosts = fixture.hosts[1..].into();
    fixture.update_hosts(&mut external).await.unwrap();
    assert_eq!(fixture.members(&own.id).await, "b c");
    fixture.project.lead(own.vip_port_id.as_deref().unwrap()).await;
    fixture.ensure(&mut external).await.unwrap();
    let name = fixture.balancers.name(&external.cluster, &external.service);
    let mut tags = fixture.tree(&own.id).await.balancer.tags;
    tags.sort();
    assert_eq!(tags, [name, "mine".to_owned()]);
    assert_eq!(fixture.listeners(&own.id).await, "TCP/80");
    fixture.delete(&mut external).await.unwrap();
    let tree = fixture.tree(&own.id).await;
    assert_eq!(
        (tree.balancer.tags, tree.listeners.len(), tree.pools.len()),
        (vec!["mine".to_owned()], 0, 0)
    );
    assert_eq!(id(&external), own.id, "what the user wrote stays");
}

// upstream: openstack 58
async fn the_load_balancer_of_another_cluster(fixture: &mut Fixture) {
    fixture.row("other cluster's LB by id → never renamed, live");
    let mut theirs = fixture.service("web");
    theirs.cluster = format!("{}-other", theirs.cluster);
    fixture.ensure(&mut theirs).await.unwrap();
    let before = fixture.tree(&id(&theirs)).await;
    let mut ours = on(fixture, "web", 81, &id(&theirs));
    for _ in 0..3 {
        fixture.ensure(&mut ours).await.unwrap();
    }
    let after = fixture.tree(&id(&theirs)).await;
    assert_eq!(after.balancer.name, before.balancer.name);
    assert!(after.listeners.contains(&before.listeners[0]), "{:?}", after.listeners);
    fixture.delete(&mut ours).await.unwrap();
    fixture.delete(&mut theirs).await.unwrap();
}

/// Two Services change one load balancer one after the other, and neither fails.
async fn two_at_the_same_time(fixture: &mut Fixture) {
    let mut first = fixture.service("first");
    fixture.ensure(&mut first).await.unwrap();
    let mut second = on(fixture, "second", 81, &id(&first));
    first.ports.push(port(Protocol::Tcp, 8080));
    let (one, other) = futures::join!(fixture.ensure(&mut first), fixture.ensure(&mut second));
    assert_eq!(one.unwrap().0, other.unwrap().0);
    assert_eq!(fixture.listeners(&id(&first)).await, "TCP/80 TCP/8080 TCP/81");
}

/// A Service without any object on a load balancer can be deleted, however broken the load balancer is.
async fn broken_before_one_came(fixture: &mut Fixture) {
    let mut first = fixture.service("first");
    fixture.ensure(&mut first).await.unwrap();
    first.ports.push(port(Protocol::Tcp, 443));
    fixture.fail_next(&first);
    fixture.refused(&mut first).await;
    let mut second = on(fixture, "second", 81, &id(&first));
    let refused = fixture.refused(&mut second).await;
    assert!(refused.contains("provisioning status is ERROR"), "{refused}");
    fixture.delete(&mut second).await.unwrap();
    assert_eq!(fixture.octavia.load_balancers().await.unwrap().len(), 1);
}
