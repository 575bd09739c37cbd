//! Nodes come and go, whatever else is wrong with a Service.

use super::stage::{Stage, annotate, id, port, stories};
use crate::load_balancers::tree::Tree;
use cloud::{Error, Protocol, Spec};

stories! {
    a_listener_that_somebody_deleted_is_made_again
    a_pool_that_somebody_deleted_is_made_again
    a_monitor_that_somebody_deleted_is_made_again
    what_is_asked_for_in_another_shape_is_no_gap
    though_the_service_is_refused
    though_another_service_has_the_port
    though_the_group_cannot_be_told
}

/// Nobody but the hosts is looked at: no certificate, no class, no settings that exclude each other, no floating IP.
async fn though_the_service_is_refused(stage: &mut Stage) {
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
        let mut spec = stage.service(&lab::unique("web"));
        stage.ensure(&mut spec).await.unwrap();
        for (name, value) in annotations {
            annotate(&mut spec, name, value);
        }
        stage.restart();
        stage.refused(&mut spec).await;
        spec.hosts = stage.hosts[1..].into();
        let before = stage.calls();
        stage.update_hosts(&mut spec).await.unwrap();
        assert_eq!(stage.members(&id(&spec)).await, "b c", "{annotations:?}");
        assert_eq!(stage.listeners(&id(&spec)).await, "TCP/80", "{annotations:?}");
        let calls = stage.since(&before);
        assert!(
            !calls.contains("floating_ip") && !calls.contains("secret"),
            "{annotations:?}: {calls}"
        );
        stage.refused(&mut spec).await;
        stage.vanish(&id(&spec)).await;
    }
}

async fn though_another_service_has_the_port(stage: &mut Stage) {
    let mut theirs = stage.service("theirs");
    stage.ensure(&mut theirs).await.unwrap();
    let mut ours = stage.service("ours");
    ours.ports = vec![port(Protocol::Tcp, 81)];
    annotate(&mut ours, "load-balancer-id", &id(&theirs));
    stage.ensure(&mut ours).await.unwrap();
    ours.ports.push(port(Protocol::Tcp, 80));
    stage.refused(&mut ours).await;
    ours.hosts = stage.hosts[2..].into();
    stage.update_hosts(&mut ours).await.unwrap();
    assert_eq!(stage.members(&id(&theirs)).await, "a b c", "a and b are theirs");
}

/// The members' subnet is that of a class which is gone: the rules of the group stay as they are, and that is told.
async fn though_the_group_cannot_be_told(stage: &mut Stage) {
    stage.configure(|config| config.load_balancer.manage_security_groups = true);
    let mut spec = stage.service("web");
    stage.ensure(&mut spec).await.unwrap();
    annotate(&mut spec, "class", "unheard-of");
    spec.hosts = stage.hosts[1..].into();
    let error = stage.update_hosts(&mut spec).await.unwrap_err().report();
    assert!(error.contains("unheard-of"), "{error}");
    assert_eq!(stage.members(&id(&spec)).await, "b c");
}

/// Nodes change, as the controller sees to it: what is not found is ensured.
async fn follow(stage: &Stage, spec: &mut Spec) -> Result<(), Error> {
    match stage.update_hosts(spec).await {
        Err(Error::NotFound { .. }) => stage.ensure(spec).await.map(drop),
        other => other,
    }
}

/// A watched Service of two ports.
async fn watched(stage: &Stage) -> (Spec, Tree) {
    let mut spec = stage.service("web");
    spec.ports.push(port(Protocol::Tcp, 443));
    annotate(&mut spec, "enable-health-monitor", "true");
    stage.ensure(&mut spec).await.unwrap();
    let tree = stage.tree(&id(&spec)).await;
    (spec, tree)
}

/// Something was deleted: the other port has its hosts all the same, then all is there again, and nothing more is done.
async fn mended(stage: &Stage, spec: &mut Spec, lacking: &str) {
    stage.settled().await;
    spec.hosts = stage.hosts[1..].into();
    let error = stage.update_hosts(spec).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{}", error.report());
    assert!(error.report().contains(lacking), "{}", error.report());
    let kept = stage.members(&id(spec)).await;
    assert!(kept.contains('b') && kept.contains('c'), "{kept}");

    follow(stage, spec).await.unwrap();
    assert_eq!(stage.listeners(&id(spec)).await, "TCP/443 TCP/80");
    assert_eq!(stage.members(&id(spec)).await, "b b c c");
    let tree = stage.tree(&id(spec)).await;
    assert_eq!((tree.pools.len(), tree.monitors.len()), (2, 2));
    spec.hosts = stage.hosts[..1].into();
    stage.update_hosts(spec).await.unwrap();
    assert_eq!(stage.members(&id(spec)).await, "a a");
}

async fn a_listener_that_somebody_deleted_is_made_again(stage: &mut Stage) {
    let (mut spec, tree) = watched(stage).await;
    stage.octavia.delete_listener(&tree.listeners[0].id).await.unwrap();
    mended(stage, &mut spec, "listener of port").await;
}

async fn a_pool_that_somebody_deleted_is_made_again(stage: &mut Stage) {
    let (mut spec, tree) = watched(stage).await;
    stage.octavia.delete_pool(&tree.pools[0].id).await.unwrap();
    mended(stage, &mut spec, "pool of port").await;
}

async fn a_monitor_that_somebody_deleted_is_made_again(stage: &mut Stage) {
    let (mut spec, tree) = watched(stage).await;
    let monitor = tree.monitors.keys().next().unwrap();
    stage.octavia.delete_monitor(monitor).await.unwrap();
    mended(stage, &mut spec, "health monitor of port").await;
}

/// It serves, so it is for a change of the Service to replace it.
async fn what_is_asked_for_in_another_shape_is_no_gap(stage: &mut Stage) {
    let mut spec = stage.service("web");
    stage.ensure(&mut spec).await.unwrap();
    annotate(&mut spec, "x-forwarded-for", "true");
    spec.hosts = stage.hosts[1..].into();
    stage.update_hosts(&mut spec).await.unwrap();
    assert_eq!(stage.members(&id(&spec)).await, "b c");
    assert_eq!(stage.listeners(&id(&spec)).await, "TCP/80", "not HTTP");
}
