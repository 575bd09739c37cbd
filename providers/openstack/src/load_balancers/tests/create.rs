//! Created once, with one call, and updated in place.

use super::fixture::{Fixture, annotate, id, port, scenarios};
use crate::{
    api::octavia::{Listener, LoadBalancer},
    load_balancers::annotations as key,
};
use cloud::{Affinity, LoadBalancers, Protocol};

scenarios! {
    create_annotate_nothing
    pending_at_the_start
    ports_are_renumbered
    protocol_family_changes
    session_affinity_is_switched
    a_listener_deleted_by_another_client
    the_last_node_leaves
    a_legacy_name_is_adopted
    the_cluster_is_renamed
    two_services_of_one_name
}

// upstream: openstack 51
async fn create_annotate_nothing(fixture: &mut Fixture) {
    fixture.row("create→annotate→no second reconcile traffic");
    let mut spec = fixture.service("web");
    spec.ports.push(port(Protocol::Udp, 53));
    let before = fixture.calls();
    let address = fixture.address(&mut spec).await;
    // At first, a process looks for objects of a previous process.
    assert_eq!(
        fixture.since(&before),
        "floating_ip_create floating_ip_list×2 loadbalancer_create loadbalancer_get loadbalancer_list version_list"
    );
    assert_eq!(spec.annotations[key::LOAD_BALANCER_ADDRESS.key], address);
    let balancer = fixture.balancer(&spec).await;
    assert_eq!(id(&spec), balancer.id);
    assert_eq!(fixture.listeners(&balancer.id).await, "TCP/80 UDP/53");
    assert_eq!(fixture.members(&balancer.id).await, "a a b b");

    let before = fixture.calls();
    assert_eq!(fixture.address(&mut spec).await, address);
    assert_eq!(fixture.since(&before), "floating_ip_list loadbalancer_get");
    assert_eq!(fixture.balancers.find(&spec).await.unwrap(), Some(spec.status.clone()));
}

// upstream: openstack 53
async fn pending_at_the_start(fixture: &mut Fixture) {
    fixture.row("PENDING_UPDATE at start → retried later, no mutation");
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    // Octavia's timestamps have whole seconds.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let listener = &fixture.tree(&id(&spec)).await.listeners[0].id;
    let change = crate::api::octavia::ListenerChange {
        connection_limit: Some(7),
        ..Default::default()
    };
    if let Some(cloud) = &fixture.cloud {
        cloud.configure(|settings| settings.balancer_delay = std::time::Duration::from_millis(300));
    }
    fixture.octavia.update::<Listener>(listener, &change).await.unwrap();
    let before = fixture.calls();
    let outcome = fixture.pass(&mut spec).await.unwrap();
    assert!(matches!(outcome, cloud::Progress::Pending { .. }), "{outcome:?}");
    assert_eq!(fixture.since(&before), "loadbalancer_get");
    fixture.settled().await;
    // Then the changes of another client are reverted.
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.tree(&id(&spec)).await.listeners[0].connection_limit, -1);
}

// upstream: openstack 55
async fn ports_are_renumbered(fixture: &mut Fixture) {
    fixture.row("port renamed/renumbered → old listener+pool deleted after the new one exists");
    let mut spec = fixture.service("web");
    let address = fixture.address(&mut spec).await;
    spec.ports = vec![port(Protocol::Tcp, 81)];
    assert_eq!(fixture.address(&mut spec).await, address);
    let tree = fixture.tree(&id(&spec)).await;
    assert_eq!((tree.listeners.len(), tree.pools.len()), (1, 1));
    assert_eq!(fixture.listeners(&id(&spec)).await, "TCP/81");
    assert_eq!(fixture.members(&id(&spec)).await, "a b");
}

// upstream: openstack 55
async fn protocol_family_changes(fixture: &mut Fixture) {
    fixture.row("same port, other protocol family → old removed first, live");
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    annotate(&mut spec, "x-forwarded-for", "true");
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.listeners(&id(&spec)).await, "HTTP/80");
    annotate(&mut spec, "x-forwarded-for", "false");
    annotate(&mut spec, "proxy-protocol", "v2");
    fixture.ensure(&mut spec).await.unwrap();
    let tree = fixture.tree(&id(&spec)).await;
    let protocols: Vec<_> = tree.pools.iter().map(|pool| pool.protocol.as_str()).collect();
    assert_eq!(
        (fixture.listeners(&id(&spec)).await.as_str(), protocols),
        ("TCP/80", vec!["PROXYV2"])
    );
}

// upstream: openstack 64
async fn session_affinity_is_switched(fixture: &mut Fixture) {
    fixture.row("session affinity switched on a live Service → pool updated");
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    for (affinity, kind) in [
        (Affinity::ClientIp { timeout_seconds: 60 }, Some("SOURCE_IP")),
        (Affinity::None, None),
    ] {
        spec.affinity = affinity;
        fixture.ensure(&mut spec).await.unwrap();
        let pool = fixture.tree(&id(&spec)).await.pools.remove(0);
        assert_eq!(
            pool.session_persistence.map(|persistence| persistence.kind).as_deref(),
            kind
        );
    }
}

async fn a_listener_deleted_by_another_client(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    let listener = fixture.tree(&id(&spec)).await.listeners.remove(0);
    fixture.octavia.delete::<Listener>(&listener.id).await.unwrap();
    fixture.settled().await;
    fixture.ensure(&mut spec).await.unwrap();
    let tree = fixture.tree(&id(&spec)).await;
    assert_eq!(
        (tree.listeners.len(), tree.pools.len()),
        (1, 1),
        "the old pool is gone, too"
    );
    assert_eq!(fixture.members(&id(&spec)).await, "a b");
}

async fn the_last_node_leaves(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    spec.hosts = fixture.hosts[1..].into();
    fixture.update_hosts(&mut spec).await.unwrap();
    assert_eq!(fixture.members(&id(&spec)).await, "b c");
    spec.hosts = [].into();
    fixture.update_hosts(&mut spec).await.unwrap();
    assert_eq!(fixture.members(&id(&spec)).await, "");
}

async fn a_legacy_name_is_adopted(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    spec.status.ingress.push(cloud::Ingress::default());
    let old = fixture
        .create_outside(&cloud::default_name(&spec.service.uid), &[])
        .await;
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(
        (id(&spec), fixture.listeners(&old.id).await.as_str()),
        (old.id.clone(), "TCP/80")
    );
    // It is owned by this cluster, so it is deleted.
    fixture.delete(&mut spec).await.unwrap();
    assert_eq!(
        fixture
            .octavia
            .find::<LoadBalancer>(&old.id)
            .await
            .unwrap()
            .map(|one| one.provisioning_status),
        None
    );
}

async fn the_cluster_is_renamed(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    annotate(&mut spec, "enable-health-monitor", "true");
    let address = fixture.address(&mut spec).await;
    let (old, number) = (fixture.balancer(&spec).await, id(&spec));
    spec.cluster = format!("{}-renamed", spec.cluster);
    let (status, warnings) = fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(status.ingress[0].ip.as_deref(), Some(address.as_str()));
    assert!(
        warnings.iter().any(|warning| warning.reason == "LoadBalancerRename"),
        "{warnings:?}"
    );
    let tree = fixture.tree(&number).await;
    let name = fixture.balancers.name(&spec.cluster, &spec.service);
    assert_eq!(
        (tree.balancer.name.as_str(), tree.balancer.id.as_str()),
        (name.as_str(), old.id.as_str())
    );
    assert!(
        !tree.balancer.tags.contains(&old.name) && tree.balancer.tags.contains(&name),
        "{:?}",
        tree.balancer.tags
    );
    let names = [
        &tree.listeners[0].name,
        &tree.pools[0].name,
        &tree.monitors.values().next().unwrap().name,
    ];
    assert!(names.iter().all(|child| child.ends_with(&name)), "{names:?}");
}

/// Another cluster may have the same name, and a Service of the same name in it.
async fn two_services_of_one_name(fixture: &mut Fixture) {
    let (mut one, mut other) = (fixture.service("web"), fixture.service("web"));
    let (first, second) = (fixture.address(&mut one).await, fixture.address(&mut other).await);
    assert!(first != second && id(&one) != id(&other));
    fixture.delete(&mut one).await.unwrap();
    assert_eq!(fixture.address(&mut other).await, second);
}
