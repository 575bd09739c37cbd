//! Hosts change, whatever other problems a Service has.

use super::fixture::{Fixture, annotate, id, port, scenarios};
use crate::{
    api::octavia::{Listener, Monitor, Pool},
    load_balancers::balancer::tree::Tree,
};
use cloud::{Error, Protocol, Spec};

scenarios! {
    a_listener_that_another_client_deleted_is_recreated
    a_pool_that_another_client_deleted_is_recreated
    a_monitor_that_another_client_deleted_is_recreated
    a_part_with_other_settings_is_not_missing
    although_the_service_is_refused
    although_another_service_has_the_port
    although_the_group_is_not_known
}

/// Only the hosts are checked: no certificate, no class, no settings that exclude each other, no floating IP.
async fn although_the_service_is_refused(fixture: &mut Fixture) {
    for annotations in [
        &[("default-tls-container-ref", "nonsense")][..],
        &[(
            "default-tls-container-ref",
            "https://b/v1/secrets/8c4d4a2e-0b0c-4f5e-9a5d-2d9a6f1b7c3e",
        )],
        &[("class", "unheard-of")],
        &[("proxy-protocol", "v2"), ("x-forwarded-for", "true")],
        &[("listener-tags", "kube_service_x")],
    ] {
        let mut spec = fixture.service(&lab::unique("web"));
        fixture.ensure(&mut spec).await.unwrap();
        for (name, value) in annotations {
            annotate(&mut spec, name, value);
        }
        fixture.restart();
        fixture.refused(&mut spec).await;
        spec.hosts = fixture.hosts[1..].into();
        let before = fixture.calls();
        fixture.update_hosts(&mut spec).await.unwrap();
        assert_eq!(fixture.members(&id(&spec)).await, "b c", "{annotations:?}");
        assert_eq!(fixture.listeners(&id(&spec)).await, "TCP/80", "{annotations:?}");
        let calls = fixture.since(&before);
        assert!(
            !calls.contains("floating_ip") && !calls.contains("secret"),
            "{annotations:?}: {calls}"
        );
        fixture.refused(&mut spec).await;
        fixture.delete_outside(&id(&spec)).await;
    }
}

async fn although_another_service_has_the_port(fixture: &mut Fixture) {
    let mut theirs = fixture.service("theirs");
    fixture.ensure(&mut theirs).await.unwrap();
    let mut ours = fixture.service("ours");
    ours.ports = vec![port(Protocol::Tcp, 81)];
    annotate(&mut ours, "load-balancer-id", &id(&theirs));
    fixture.ensure(&mut ours).await.unwrap();
    ours.ports.push(port(Protocol::Tcp, 80));
    fixture.refused(&mut ours).await;
    ours.hosts = fixture.hosts[2..].into();
    fixture.update_hosts(&mut ours).await.unwrap();
    assert_eq!(fixture.members(&id(&theirs)).await, "a b c", "a and b are theirs");
}

/// The members' subnet is that of a deleted class: the rules of the group are kept, which is reported.
async fn although_the_group_is_not_known(fixture: &mut Fixture) {
    fixture.configure(|config| config.load_balancer.manage_security_groups = true);
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    annotate(&mut spec, "class", "unheard-of");
    spec.hosts = fixture.hosts[1..].into();
    let error = fixture.update_hosts(&mut spec).await.unwrap_err().report();
    assert!(error.contains("unheard-of"), "{error}");
    assert_eq!(fixture.members(&id(&spec)).await, "b c");
}

/// Nodes change, as in the controller: if the load balancer is not found, it is ensured.
async fn follow(fixture: &Fixture, spec: &mut Spec) -> Result<(), Error> {
    match fixture.update_hosts(spec).await {
        Err(Error::NotFound { .. }) => fixture.ensure(spec).await.map(drop),
        other => other,
    }
}

/// A Service with two ports.
async fn watched(fixture: &Fixture) -> (Spec, Tree) {
    let mut spec = fixture.service("web");
    spec.ports.push(port(Protocol::Tcp, 443));
    annotate(&mut spec, "enable-health-monitor", "true");
    fixture.ensure(&mut spec).await.unwrap();
    let tree = fixture.tree(&id(&spec)).await;
    (spec, tree)
}

/// An object was deleted: the other port gets its hosts, then the object is recreated, and nothing else changes.
async fn mended(fixture: &Fixture, spec: &mut Spec, lacking: &str) {
    fixture.settled().await;
    spec.hosts = fixture.hosts[1..].into();
    let error = fixture.update_hosts(spec).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{}", error.report());
    assert!(error.report().contains(lacking), "{}", error.report());
    let kept = fixture.members(&id(spec)).await;
    assert!(kept.contains('b') && kept.contains('c'), "{kept}");

    follow(fixture, spec).await.unwrap();
    assert_eq!(fixture.listeners(&id(spec)).await, "TCP/443 TCP/80");
    assert_eq!(fixture.members(&id(spec)).await, "b b c c");
    let tree = fixture.tree(&id(spec)).await;
    assert_eq!((tree.pools.len(), tree.monitors.len()), (2, 2));
    spec.hosts = fixture.hosts[..1].into();
    fixture.update_hosts(spec).await.unwrap();
    assert_eq!(fixture.members(&id(spec)).await, "a a");
}

async fn a_listener_that_another_client_deleted_is_recreated(fixture: &mut Fixture) {
    let (mut spec, tree) = watched(fixture).await;
    fixture.octavia.delete::<Listener>(&tree.listeners[0].id).await.unwrap();
    mended(fixture, &mut spec, "listener of port").await;
}

async fn a_pool_that_another_client_deleted_is_recreated(fixture: &mut Fixture) {
    let (mut spec, tree) = watched(fixture).await;
    fixture.octavia.delete::<Pool>(&tree.pools[0].id).await.unwrap();
    mended(fixture, &mut spec, "pool of port").await;
}

async fn a_monitor_that_another_client_deleted_is_recreated(fixture: &mut Fixture) {
    let (mut spec, tree) = watched(fixture).await;
    let monitor = tree.monitors.keys().next().unwrap();
    fixture.octavia.delete::<Monitor>(monitor).await.unwrap();
    mended(fixture, &mut spec, "health monitor of port").await;
}

/// It serves, so only a change of the Service replaces it.
async fn a_part_with_other_settings_is_not_missing(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    annotate(&mut spec, "x-forwarded-for", "true");
    spec.hosts = fixture.hosts[1..].into();
    fixture.update_hosts(&mut spec).await.unwrap();
    assert_eq!(fixture.members(&id(&spec)).await, "b c");
    assert_eq!(fixture.listeners(&id(&spec)).await, "TCP/80", "not HTTP");
}
