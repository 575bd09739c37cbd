//! Nodes come and go, whatever else is wrong with a Service.

use super::stage::{Stage, annotate, id, port, stories};
use cloud::Protocol;

stories! {
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
