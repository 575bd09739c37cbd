//! A Service gets another load balancer: its `load-balancer-id` is changed, or what it names is gone.

use super::stage::{Stage, annotate, id, port, stories};
use crate::load_balancers::annotations as key;
use cloud::{Error, LoadBalancers, Protocol, Spec};
use provider_kit::load_balancer::Record;

stories! {
    own_to_another_s
    own_to_another_s_with_an_address_that_is_kept
    own_that_others_use
    own_of_occm
    guest_to_none
    guest_to_another_host
    guest_of_a_broken_host
    deleted_before_it_moved
    deleted_before_it_moved_as_a_guest
    a_host_that_is_gone
    a_user_s_own_that_is_gone
    restored_from_a_backup
}

/// A Service with this port.
fn service(stage: &Stage, name: &str, number: u16) -> Spec {
    let mut spec = stage.service(name);
    spec.ports = vec![port(Protocol::Tcp, number)];
    spec
}

/// A Service that is served by a load balancer of its own.
async fn served(stage: &Stage, name: &str, number: u16) -> Spec {
    let mut spec = service(stage, name, number);
    stage.ensure(&mut spec).await.unwrap();
    spec
}

/// A Service that is served by that of another one.
async fn guest(stage: &Stage, name: &str, number: u16, host: &Spec) -> Spec {
    let mut spec = service(stage, name, number);
    annotate(&mut spec, "load-balancer-id", &id(host));
    stage.ensure(&mut spec).await.unwrap();
    spec
}

/// The load balancers that are there.
async fn balancers(stage: &Stage) -> Vec<String> {
    stage.settled().await;
    let mut ids: Vec<String> = stage
        .octavia
        .load_balancers()
        .await
        .unwrap()
        .into_iter()
        .map(|balancer| balancer.id)
        .collect();
    ids.sort();
    ids
}

fn sorted<const N: usize>(mut ids: [String; N]) -> [String; N] {
    ids.sort();
    ids
}

/// Nothing of a Service is on a load balancer.
async fn is_left(stage: &Stage, spec: &Spec, balancer: &str) -> bool {
    let tree = stage.tree(balancer).await;
    let name = stage.balancers.name(&spec.cluster, &spec.service);
    let of = |tags: &[String]| tags.contains(&name);
    let pools = tree.pools.iter().any(|pool| pool.name.ends_with(&name));
    !of(&tree.balancer.tags) && !pools && !tree.listeners.iter().any(|listener| of(&listener.tags))
}

/// After a restart it costs a look, and nothing is written.
async fn stays_as_it_is(stage: &mut Stage, spec: &mut Spec) {
    stage.restart();
    let (before, annotations) = (stage.calls(), spec.annotations.clone());
    stage.ensure(spec).await.unwrap();
    let calls = stage.since(&before);
    assert_eq!(
        calls,
        "floating_ip_list loadbalancer_list security_group_list version_list"
    );
    assert_eq!(spec.annotations, annotations);
}

async fn own_to_another_s(stage: &mut Stage) {
    let host = served(stage, "host", 80).await;
    let mut spec = served(stage, "web", 81).await;
    annotate(&mut spec, "load-balancer-id", &id(&host));
    let address = stage.address(&mut spec).await;
    assert_eq!(Some(&address), host.annotations.get(key::LOAD_BALANCER_ADDRESS.key));
    assert_eq!(balancers(stage).await, [id(&host)]);
    assert_eq!(stage.ground.floating_ips().await.len(), 1, "its own went, too");
    assert_eq!(stage.listeners(&id(&host)).await, "TCP/80 TCP/81");
    stays_as_it_is(stage, &mut spec).await;
}

async fn own_to_another_s_with_an_address_that_is_kept(stage: &mut Stage) {
    let host = served(stage, "host", 80).await;
    let mut spec = service(stage, "web", 81);
    annotate(&mut spec, "keep-floatingip", "true");
    let address = stage.address(&mut spec).await;
    annotate(&mut spec, "load-balancer-id", &id(&host));
    stage.ensure(&mut spec).await.unwrap();
    assert_eq!(balancers(stage).await, [id(&host)]);
    assert!(stage.ground.floating_ips().await.contains(&(address, None)));
}

/// What others use is left, not deleted, and goes with the last of them.
async fn own_that_others_use(stage: &mut Stage) {
    let host = served(stage, "host", 80).await;
    let mut spec = served(stage, "web", 81).await;
    let own = id(&spec);
    let mut other = guest(stage, "other", 82, &spec).await;
    annotate(&mut spec, "load-balancer-id", &id(&host));
    stage.ensure(&mut spec).await.unwrap();
    assert_eq!(balancers(stage).await, sorted([own.clone(), id(&host)]));
    assert_eq!(stage.listeners(&own).await, "TCP/82");
    assert!(is_left(stage, &spec, &own).await);
    stage.delete(&mut other).await.unwrap();
    assert_eq!(balancers(stage).await, [id(&host)]);
}

/// Another cluster of our name may have made it: it is told of, and left as it is.
async fn own_of_occm(stage: &mut Stage) {
    let host = served(stage, "host", 80).await;
    let mut spec = service(stage, "web", 81);
    let name = stage.balancers.name(&spec.cluster, &spec.service);
    let own = stage.foreign(&name, &[&name]).await.id;
    stage.ensure(&mut spec).await.unwrap();
    assert_eq!(id(&spec), own);
    annotate(&mut spec, "load-balancer-id", &id(&host));
    let (_, warnings) = stage.ensure(&mut spec).await.unwrap();
    let told = warnings.iter().find(|warning| warning.reason == "LoadBalancerLeft");
    assert!(told.is_some_and(|told| told.message.contains(&own)), "{warnings:?}");
    assert_eq!(stage.listeners(&own).await, "TCP/81");
    stays_as_it_is(stage, &mut spec).await;
}

async fn guest_to_none(stage: &mut Stage) {
    let mut host = served(stage, "host", 80).await;
    let mut spec = guest(stage, "web", 81, &host).await;
    spec.annotations.remove(key::LOAD_BALANCER_ID.key);
    // What happens in between is no matter: it is known from the Service.
    stage.pass(&mut spec).await.unwrap();
    stage.settled().await;
    stage.restart();
    stage.ensure(&mut spec).await.unwrap();
    assert_ne!(id(&spec), id(&host));
    assert_eq!(stage.listeners(&id(&spec)).await, "TCP/81");
    assert_eq!(stage.listeners(&id(&host)).await, "TCP/80");
    assert!(is_left(stage, &spec, &id(&host)).await);
    stays_as_it_is(stage, &mut spec).await;
    stage.delete(&mut host).await.unwrap();
    assert_eq!(balancers(stage).await, [id(&spec)], "nobody keeps the other from going");
}

async fn guest_to_another_host(stage: &mut Stage) {
    let (first, second) = (served(stage, "first", 80).await, served(stage, "second", 80).await);
    let mut spec = guest(stage, "web", 81, &first).await;
    annotate(&mut spec, "load-balancer-id", &id(&second));
    for _ in 0..100 {
        if stage.members(&id(&second)).await == "a a b b" {
            break;
        }
        stage.pass(&mut spec).await.unwrap();
        stage.settled().await;
    }
    // New nodes that come before it has left the first one do not make it forget that.
    spec.hosts = stage.hosts[1..].into();
    stage.update_hosts(&mut spec).await.unwrap();
    stage.ensure(&mut spec).await.unwrap();
    assert_eq!(stage.listeners(&id(&first)).await, "TCP/80");
    assert!(is_left(stage, &spec, &id(&first)).await);
    assert_eq!(stage.listeners(&id(&second)).await, "TCP/80 TCP/81");
    stays_as_it_is(stage, &mut spec).await;
}

/// Nothing comes off a broken load balancer: the Service is served elsewhere all the same, and leaves later.
async fn guest_of_a_broken_host(stage: &mut Stage) {
    let mut host = served(stage, "host", 80).await;
    let mut spec = guest(stage, "web", 81, &host).await;
    host.ports.push(port(Protocol::Tcp, 443));
    stage.fail_next(&host);
    stage.refused(&mut host).await;
    stage.settled().await;
    spec.annotations.remove(key::LOAD_BALANCER_ID.key);
    let (_, warnings) = stage.ensure(&mut spec).await.unwrap();
    let told = warnings.iter().find(|warning| warning.reason == "LoadBalancerNotLeft");
    assert!(
        told.is_some_and(|told| told.message.contains(&id(&host))),
        "{warnings:?}"
    );
    let record = Record::of(&spec).unwrap();
    assert_eq!(record.previous, [id(&host)], "{:?}", spec.annotations);
    stage.vanish(&id(&host)).await;
    stage.ensure(&mut spec).await.unwrap();
    let record = Record::of(&spec).unwrap();
    assert!(record.previous.is_empty(), "{:?}", spec.annotations);
}

async fn deleted_before_it_moved(stage: &mut Stage) {
    let host = served(stage, "host", 80).await;
    let mut spec = served(stage, "web", 80).await;
    annotate(&mut spec, "load-balancer-id", &id(&host));
    let refused = stage.refused(&mut spec).await;
    assert!(refused.contains("belongs to another owner"), "{refused}");
    assert_eq!(balancers(stage).await.len(), 2, "what serves it stays");
    stage.restart();
    stage.delete(&mut spec).await.unwrap();
    assert_eq!(balancers(stage).await, [id(&host)]);
    assert_eq!(stage.ground.floating_ips().await.len(), 1);
    assert!(is_left(stage, &spec, &id(&host)).await);
}

async fn deleted_before_it_moved_as_a_guest(stage: &mut Stage) {
    let (first, second) = (served(stage, "first", 80).await, served(stage, "second", 81).await);
    let mut spec = guest(stage, "web", 81, &first).await;
    annotate(&mut spec, "load-balancer-id", &id(&second));
    stage.refused(&mut spec).await;
    assert_eq!(
        stage.listeners(&id(&first)).await,
        "TCP/80 TCP/81",
        "what serves it stays"
    );
    stage.restart();
    stage.delete(&mut spec).await.unwrap();
    for host in [&first, &second] {
        assert!(is_left(stage, &spec, &id(host)).await);
    }
    assert_eq!(balancers(stage).await.len(), 2);
}

/// What was not its own is not made again: the user names another one, or none.
async fn is_missed(stage: &mut Stage, spec: &mut Spec, gone: &str) {
    stage.vanish(gone).await;
    stage.restart();
    let refused = stage.refused(spec).await;
    assert!(
        refused.contains(gone) && refused.contains("load-balancer-id"),
        "{refused}"
    );
    spec.hosts = stage.hosts[1..].into();
    let refused = stage.update_hosts(spec).await.unwrap_err();
    assert!(matches!(refused, Error::NotFound { .. }), "{}", refused.report());
    assert_eq!(balancers(stage).await, [""; 0], "nothing is made");
    spec.annotations.remove(key::LOAD_BALANCER_ID.key);
    stage.ensure(spec).await.unwrap();
    assert_eq!(balancers(stage).await, [id(spec)]);
    stage.delete(spec).await.unwrap();
    assert_eq!(balancers(stage).await, [""; 0]);
}

async fn a_host_that_is_gone(stage: &mut Stage) {
    let host = served(stage, "host", 80).await;
    let mut spec = guest(stage, "web", 81, &host).await;
    is_missed(stage, &mut spec, &id(&host)).await;
}

async fn a_user_s_own_that_is_gone(stage: &mut Stage) {
    let own = stage.foreign("mine", &["mine"]).await;
    stage.ground.lead(own.vip_port_id.as_deref().unwrap()).await;
    let mut spec = service(stage, "web", 81);
    annotate(&mut spec, "load-balancer-id", &own.id);
    stage.ensure(&mut spec).await.unwrap();
    is_missed(stage, &mut spec, &own.id).await;
}

/// It has another UID than before, and its copy in another cluster of our name would look the same: it is served, and the load
/// balancer stays as it is when it goes, until somebody says whose it is.
async fn restored_from_a_backup(stage: &mut Stage) {
    let mut spec = served(stage, "web", 80).await;
    let (balancer, address) = (id(&spec), spec.annotations[key::LOAD_BALANCER_ADDRESS.key].clone());
    spec.service.uid = lab::unique("uid");
    stage.restart();
    let (status, warnings) = stage.ensure(&mut spec).await.unwrap();
    assert_eq!(status.ingress[0].ip.as_ref(), Some(&address));
    let told = warnings
        .iter()
        .find(|warning| warning.reason == "LoadBalancerOfAnother");
    assert!(
        told.is_some_and(|told| told.message.contains("remove the tag")),
        "{warnings:?}"
    );
    spec.hosts = stage.hosts[1..].into();
    stage.update_hosts(&mut spec).await.unwrap();
    assert_eq!(stage.members(&balancer).await, "b c");
    let mut copy = spec.clone();
    stage.delete(&mut copy).await.unwrap();
    assert_eq!(balancers(stage).await, [balancer.as_str()]);
    assert_eq!(stage.listeners(&balancer).await, "TCP/80");
    assert_eq!(stage.ground.floating_ips().await.len(), 1);
}
