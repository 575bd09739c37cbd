//! Load balancers that several Services, or somebody else, use.

use super::stage::{Stage, annotate, id, port, stories};
use cloud::{LoadBalancers, Protocol, Retry, Spec};

stories! {
    shared
    a_user_s_own
    another_cluster_s
    two_at_the_same_time
    broken_before_one_came
}

fn on(stage: &Stage, name: &str, number: u16, balancer: &str) -> Spec {
    let mut spec = stage.service(name);
    spec.ports = vec![port(Protocol::Tcp, number)];
    annotate(&mut spec, "load-balancer-id", balancer);
    spec
}

// upstream: openstack 56
async fn shared(stage: &mut Stage) {
    stage.row("shared LB: 2nd Service tagged; 3rd refused at max 2; delete owner first → LB stays with tag of 2nd, FIP stays; delete last → LB and our FIP gone");
    let mut first = stage.service("first");
    let address = stage.address(&mut first).await;
    let balancer = id(&first);
    let mut second = on(stage, "second", 81, &balancer);
    assert_eq!(stage.address(&mut second).await, address);
    assert_eq!(stage.listeners(&balancer).await, "TCP/80 TCP/81");
    let mut third = on(stage, "third", 82, &balancer);
    let refused = stage.refused(&mut third).await;
    assert!(refused.contains("max-shared-lb is 2"), "{refused}");
    let mut taken = on(stage, "second", 80, &balancer);
    let refused = stage.refused(&mut taken).await;
    assert!(refused.contains("belongs to another owner"), "{refused}");

    // The first one is not disturbed by the second.
    stage.ensure(&mut first).await.unwrap();
    stage.delete(&mut first).await.unwrap();
    assert_eq!(stage.listeners(&balancer).await, "TCP/81");
    assert_eq!(stage.address(&mut second).await, address);
    let tags = stage.tree(&balancer).await.balancer.tags;
    assert_eq!(tags, [stage.balancers.name(&second.cluster, &second.service)]);

    stage.delete(&mut second).await.unwrap();
    assert_eq!(
        stage.octavia.load_balancer(&balancer).await.unwrap().map(|one| one.id),
        None
    );
    assert_eq!(stage.ground.floating_ips().await, []);
}

// upstream: openstack 57
async fn a_user_s_own(stage: &mut Stage) {
    stage.row("user LB by id: listeners added/removed, LB never deleted, foreign tags preserved");
    let own = stage.foreign("mine", &["mine"]).await;
    let mut external = on(stage, "web", 80, &own.id);
    // Whoever can reach it inside is served, and it becomes ready when somebody gives it a floating IP.
    let refused = stage.ensure(&mut external).await.unwrap_err();
    assert!(refused.report().contains("no floating IP"), "{}", refused.report());
    assert_eq!(refused.retry(), Retry::Backoff);
    assert_eq!(stage.listeners(&own.id).await, "TCP/80");
    assert_eq!(stage.members(&own.id).await, "a b");
    external.hosts = stage.hosts[1..].into();
    stage.update_hosts(&mut external).await.unwrap();
    assert_eq!(stage.members(&own.id).await, "b c");
    stage.ground.lead(own.vip_port_id.as_deref().unwrap()).await;
    stage.ensure(&mut external).await.unwrap();
    let name = stage.balancers.name(&external.cluster, &external.service);
    let mut tags = stage.tree(&own.id).await.balancer.tags;
    tags.sort();
    assert_eq!(tags, [name, "mine".to_owned()]);
    assert_eq!(stage.listeners(&own.id).await, "TCP/80");
    stage.delete(&mut external).await.unwrap();
    let tree = stage.tree(&own.id).await;
    assert_eq!(
        (tree.balancer.tags, tree.listeners.len(), tree.pools.len()),
        (vec!["mine".to_owned()], 0, 0)
    );
    assert_eq!(id(&external), own.id, "what the user wrote stays");
}

// upstream: openstack 58
async fn another_cluster_s(stage: &mut Stage) {
    stage.row("other cluster's LB by id → never renamed, live");
    let mut theirs = stage.service("web");
    theirs.cluster = format!("{}-other", theirs.cluster);
    stage.ensure(&mut theirs).await.unwrap();
    let before = stage.tree(&id(&theirs)).await;
    let mut ours = on(stage, "web", 81, &id(&theirs));
    for _ in 0..3 {
        stage.ensure(&mut ours).await.unwrap();
    }
    let after = stage.tree(&id(&theirs)).await;
    assert_eq!(after.balancer.name, before.balancer.name);
    assert!(after.listeners.contains(&before.listeners[0]), "{:?}", after.listeners);
    stage.delete(&mut ours).await.unwrap();
    stage.delete(&mut theirs).await.unwrap();
}

/// Changes of one load balancer by two Services take turns, and neither is an error.
async fn two_at_the_same_time(stage: &mut Stage) {
    let mut first = stage.service("first");
    stage.ensure(&mut first).await.unwrap();
    let mut second = on(stage, "second", 81, &id(&first));
    first.ports.push(port(Protocol::Tcp, 8080));
    let (one, other) = futures::join!(stage.ensure(&mut first), stage.ensure(&mut second));
    assert_eq!(one.unwrap().0, other.unwrap().0);
    assert_eq!(stage.listeners(&id(&first)).await, "TCP/80 TCP/8080 TCP/81");
}

/// Who never got anything onto a load balancer can go, however broken that is.
async fn broken_before_one_came(stage: &mut Stage) {
    let mut first = stage.service("first");
    stage.ensure(&mut first).await.unwrap();
    first.ports.push(port(Protocol::Tcp, 443));
    stage.fail_next(&first);
    stage.refused(&mut first).await;
    let mut second = on(stage, "second", 81, &id(&first));
    let refused = stage.refused(&mut second).await;
    assert!(refused.contains("provisioning status is ERROR"), "{refused}");
    stage.delete(&mut second).await.unwrap();
    assert_eq!(stage.octavia.load_balancers().await.unwrap().len(), 1);
}
