//! A Service gets another load balancer: its `load-balancer-id` changes, or the load balancer was deleted.

use super::fixture::{Fixture, annotate, id, port, scenarios};
use crate::load_balancers::annotations as key;
use cloud::{Error, LoadBalancers, Protocol, Spec};
use provider_kit::load_balancer::Record;

scenarios! {
    own_to_shared
    own_to_shared_with_a_kept_address
    own_and_shared
    own_of_occm
    guest_to_none
    guest_to_another_host
    guest_of_a_broken_host
    deleted_before_it_moved
    deleted_before_it_moved_as_a_guest
    a_deleted_load_balancer_of_another_service
    a_deleted_load_balancer_of_the_user
    restored_from_a_backup
}

/// A Service with this port.
fn service(fixture: &Fixture, name: &str, number: u16) -> Spec {
    let mut spec = fixture.service(name);
    spec.ports = vec![port(Protocol::Tcp, number)];
    spec
}

/// A Service with a load balancer of its own.
async fn served(fixture: &Fixture, name: &str, number: u16) -> Spec {
    let mut spec = service(fixture, name, number);
    fixture.ensure(&mut spec).await.unwrap();
    spec
}

/// A Service on the load balancer of another one.
async fn guest(fixture: &Fixture, name: &str, number: u16, host: &Spec) -> Spec {
    let mut spec = service(fixture, name, number);
    annotate(&mut spec, "load-balancer-id", &id(host));
    fixture.ensure(&mut spec).await.unwrap();
    spec
}

/// The existing load balancers.
async fn balancers(fixture: &Fixture) -> Vec<String> {
    fixture.settled().await;
    let mut ids: Vec<String> = fixture
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

/// Whether no object of a Service is on a load balancer.
async fn is_left(fixture: &Fixture, spec: &Spec, balancer: &str) -> bool {
    let tree = fixture.tree(balancer).await;
    let name = fixture.balancers.name(&spec.cluster, &spec.service);
    let of = |tags: &[String]| tags.contains(&name);
    let pools = tree.pools.iter().any(|pool| pool.name.ends_with(&name));
    !of(&tree.balancer.tags) && !pools && !tree.listeners.iter().any(|listener| of(&listener.tags))
}

/// After a restart it costs one read, and nothing is written.
async fn stays_as_it_is(fixture: &mut Fixture, spec: &mut Spec) {
    fixture.restart();
    let (before, annotations) = (fixture.calls(), spec.annotations.clone());
    fixture.ensure(spec).await.unwrap();
    let calls = fixture.since(&before);
    assert_eq!(
        calls,
        "floating_ip_list loadbalancer_list security_group_list version_list"
    );
    assert_eq!(spec.annotations, annotations);
}

async fn own_to_shared(fixture: &mut Fixture) {
    let host = served(fixture, "host", 80).await;
    let mut spec = served(fixture, "web", 81).await;
    annotate(&mut spec, "load-balancer-id", &id(&host));
    let address = fixture.address(&mut spec).await;
    assert_eq!(Some(&address), host.annotations.get(key::LOAD_BALANCER_ADDRESS.key));
    assert_eq!(balancers(fixture).await, [id(&host)]);
    assert_eq!(fixture.project.floating_ips().await.len(), 1, "its own went, too");
    assert_eq!(fixture.listeners(&id(&host)).await, "TCP/80 TCP/81");
    stays_as_it_is(fixture, &mut spec).await;
}

async fn own_to_shared_with_a_kept_address(fixture: &mut Fixture) {
    let host = served(fixture, "host", 80).await;
    let mut spec = service(fixture, "web", 81);
    annotate(&mut spec, "keep-floatingip", "true");
    let address = fixture.address(&mut spec).await;
    annotate(&mut spec, "load-balancer-id", &id(&host));
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(balancers(fixture).await, [id(&host)]);
    assert!(fixture.project.floating_ips().await.contains(&(address, None)));
}

/// A load balancer that others use is kept, and deleted with the last of them.
async fn own_and_shared(fixture: &mut Fixture) {
    let host = served(fixture, "host", 80).await;
    let mut spec = served(fixture, "web", 81).await;
    let own = id(&spec);
    let mut other = guest(fixture, "other", 82, &spec).await;
    annotate(&mut spec, "load-balancer-id", &id(&host));
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(balancers(fixture).await, sorted([own.clone(), id(&host)]));
    assert_eq!(fixture.listeners(&own).await, "TCP/82");
    assert!(is_left(fixture, &spec, &own).await);
    fixture.delete(&mut other).await.unwrap();
    assert_eq!(balancers(fixture).await, [id(&host)]);
}

/// Another cluster of the same name may have created it: it is reported, and not changed.
async fn own_of_occm(fixture: &mut Fixture) {
    let host = served(fixture, "host", 80).await;
    let mut spec = service(fixture, "web", 81);
    let name = fixture.balancers.name(&spec.cluster, &spec.service);
    let own = fixture.create_outside(&name, &[&name]).await.id;
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(id(&spec), own);
    annotate(&mut spec, "load-balancer-id", &id(&host));
    let (_, warnings) = fixture.ensure(&mut spec).await.unwrap();
    let reported = warnings.iter().find(|warning| warning.reason == "LoadBalancerLeft");
    assert!(
        reported.is_some_and(|reported| reported.message.contains(&own)),
        "{warnings:?}"
    );
    assert_eq!(fixture.listeners(&own).await, "TCP/81");
    stays_as_it_is(fixture, &mut spec).await;
}

async fn guest_to_none(fixture: &mut Fixture) {
    let mut host = served(fixture, "host", 80).await;
    let mut spec = guest(fixture, "web", 81, &host).await;
    spec.annotations.remove(key::LOAD_BALANCER_ID.key);
    // Passes in between have no effect: the Service has the record.
    fixture.pass(&mut spec).await.unwrap();
    fixture.settled().await;
    fixture.restart();
    fixture.ensure(&mut spec).await.unwrap();
    assert_ne!(id(&spec), id(&host));
    assert_eq!(fixture.listeners(&id(&spec)).await, "TCP/81");
    assert_eq!(fixture.listeners(&id(&host)).await, "TCP/80");
    assert!(is_left(fixture, &spec, &id(&host)).await);
    stays_as_it_is(fixture, &mut spec).await;
    fixture.delete(&mut host).await.unwrap();
    assert_eq!(
        balancers(fixture).await,
        [id(&spec)],
        "the deletion of the other one is not blocked"
    );
}

async fn guest_to_another_host(fixture: &mut Fixture) {
    let (first, second) = (served(fixture, "first", 80).await, served(fixture, "second", 80).await);
    let mut spec = guest(fixture, "web", 81, &first).await;
    annotate(&mut spec, "load-balancer-id", &id(&second));
    for _ in 0..100 {
        if fixture.members(&id(&second)).await == "a a b b" {
            break;
        }
        fixture.pass(&mut spec).await.unwrap();
        fixture.settled().await;
    }
    // New nodes before the first one was released do not lose it.
    spec.hosts = fixture.hosts[1..].into();
    fixture.update_hosts(&mut spec).await.unwrap();
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.listeners(&id(&first)).await, "TCP/80");
    assert!(is_left(fixture, &spec, &id(&first)).await);
    assert_eq!(fixture.listeners(&id(&second)).await, "TCP/80 TCP/81");
    stays_as_it_is(fixture, &mut spec).await;
}

/// A broken load balancer cannot be changed: the Service is served by another one, and the broken one is released later.
async fn guest_of_a_broken_host(fixture: &mut Fixture) {
    let mut host = served(fixture, "host", 80).await;
    let mut spec = guest(fixture, "web", 81, &host).await;
    host.ports.push(port(Protocol::Tcp, 443));
    fixture.fail_next(&host);
    fixture.refused(&mut host).await;
    fixture.settled().await;
    spec.annotations.remove(key::LOAD_BALANCER_ID.key);
    let (_, warnings) = fixture.ensure(&mut spec).await.unwrap();
    let reported = warnings.iter().find(|warning| warning.reason == "LoadBalancerNotLeft");
    assert!(
        reported.is_some_and(|reported| reported.message.contains(&id(&host))),
        "{warnings:?}"
    );
    let record = Record::of(&spec).unwrap();
    assert_eq!(record.previous, [id(&host)], "{:?}", spec.annotations);
    fixture.delete_outside(&id(&host)).await;
    fixture.ensure(&mut spec).await.unwrap();
    let record = Record::of(&spec).unwrap();
    assert!(record.previous.is_empty(), "{:?}", spec.annotations);
}

async fn deleted_before_it_moved(fixture: &mut Fixture) {
    let host = served(fixture, "host", 80).await;
    let mut spec = served(fixture, "web", 80).await;
    annotate(&mut spec, "load-balancer-id", &id(&host));
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("belongs to another owner"), "{refused}");
    assert_eq!(balancers(fixture).await.len(), 2, "what serves it stays");
    fixture.restart();
    fixture.delete(&mut spec).await.unwrap();
    assert_eq!(balancers(fixture).await, [id(&host)]);
    assert_eq!(fixture.project.floating_ips().await.len(), 1);
    assert!(is_left(fixture, &spec, &id(&host)).await);
}

async fn deleted_before_it_moved_as_a_guest(fixture: &mut Fixture) {
    let (first, second) = (served(fixture, "first", 80).await, served(fixture, "second", 81).await);
    let mut spec = guest(fixture, "web", 81, &first).await;
    annotate(&mut spec, "load-balancer-id", &id(&second));
    fixture.refused(&mut spec).await;
    assert_eq!(
        fixture.listeners(&id(&first)).await,
        "TCP/80 TCP/81",
        "what serves it stays"
    );
    fixture.restart();
    fixture.delete(&mut spec).await.unwrap();
    for host in [&first, &second] {
        assert!(is_left(fixture, &spec, &id(host)).await);
    }
    assert_eq!(balancers(fixture).await.len(), 2);
}

/// A load balancer of another owner is not recreated: the user names another one, or none.
async fn is_missed(fixture: &mut Fixture, spec: &mut Spec, gone: &str) {
    fixture.delete_outside(gone).await;
    fixture.restart();
    let refused = fixture.refused(spec).await;
    assert!(
        refused.contains(gone) && refused.contains("load-balancer-id"),
        "{refused}"
    );
    spec.hosts = fixture.hosts[1..].into();
    let refused = fixture.update_hosts(spec).await.unwrap_err();
    assert!(matches!(refused, Error::NotFound { .. }), "{}", refused.report());
    assert_eq!(balancers(fixture).await, [""; 0], "nothing is made");
    spec.annotations.remove(key::LOAD_BALANCER_ID.key);
    fixture.ensure(spec).await.unwrap();
    assert_eq!(balancers(fixture).await, [id(spec)]);
    fixture.delete(spec).await.unwrap();
    assert_eq!(balancers(fixture).await, [""; 0]);
}

async fn a_deleted_load_balancer_of_another_service(fixture: &mut Fixture) {
    let host = served(fixture, "host", 80).await;
    let mut spec = guest(fixture, "web", 81, &host).await;
    is_missed(fixture, &mut spec, &id(&host)).await;
}

async fn a_deleted_load_balancer_of_the_user(fixture: &mut Fixture) {
    let own = fixture.create_outside("mine", &["mine"]).await;
    fixture.project.lead(own.vip_port_id.as_deref().unwrap()).await;
    let mut spec = service(fixture, "web", 81);
    annotate(&mut spec, "load-balancer-id", &own.id);
    fixture.ensure(&mut spec).await.unwrap();
    is_missed(fixture, &mut spec, &own.id).await;
}

/// It has another UID than before, and its copy in another cluster of the same name would be identical: it is served, and the load
/// balancer is kept when the Service is deleted, until a user sets its owner.
async fn restored_from_a_backup(fixture: &mut Fixture) {
    let mut spec = served(fixture, "web", 80).await;
    let (balancer, address) = (id(&spec), spec.annotations[key::LOAD_BALANCER_ADDRESS.key].clone());
    spec.service.uid = lab::unique("uid");
    fixture.restart();
    let (status, warnings) = fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(status.ingress[0].ip.as_ref(), Some(&address));
    let reported = warnings
        .iter()
        .find(|warning| warning.reason == "LoadBalancerOfAnother");
    assert!(
        reported.is_some_and(|reported| reported.message.contains("remove the tag")),
        "{warnings:?}"
    );
    spec.hosts = fixture.hosts[1..].into();
    fixture.update_hosts(&mut spec).await.unwrap();
    assert_eq!(fixture.members(&balancer).await, "b c");
    let mut copy = spec.clone();
    fixture.delete(&mut copy).await.unwrap();
    assert_eq!(balancers(fixture).await, [balancer.as_str()]);
    assert_eq!(fixture.listeners(&balancer).await, "TCP/80");
    assert_eq!(fixture.project.floating_ips().await.len(), 1);
}
