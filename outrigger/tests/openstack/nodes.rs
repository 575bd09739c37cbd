//! Nodes are initialized from their server, and deleted with it.

use crate::fixture::{Fixture, summaries};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use openstack_sim::ServerSpec;
use std::time::Duration;

const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

fn has_taint(node: &Node, key: &str) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints.is_some_and(|taints| taints.iter().any(|taint| taint.key == key))
}

fn addresses(node: &Node) -> Vec<String> {
    let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    addresses.map(|one| format!("{} {}", one.type_, one.address)).collect()
}

#[tokio::test]
async fn a_node_that_joins_gets_all_that_the_cloud_knows() {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&[]).await;
    let mut spec = ServerSpec::new(&fixture.named("node"));
    spec.networks.push(fixture.net.clone());
    spec.flavor = "m1.medium".to_owned();
    spec.zone = "az 1/b".to_owned();
    let server = fixture.cloud.boot_as(spec);
    let public = fixture.cloud.public_network().unwrap();
    let floating = fixture.cloud.create_floating_ip(public, None, "mine").unwrap();
    assert!(fixture.cloud.move_floating_ip(floating.id, Some(server.ports[0])));
    let name = fixture
        .register("node", "tainted ready:True Hostname=kubelet-says")
        .await;
    let node = fixture.initialised(&manager, &name).await;
    let id = node.spec.as_ref().unwrap().provider_id.as_deref();
    assert_eq!(id, Some(format!("openstack:///{}", server.id).as_str()));
    let expected = [
        format!("InternalIP {}", server.addresses[0]),
        format!("ExternalIP {}", floating.address),
        "Hostname kubelet-says".to_owned(),
    ];
    assert_eq!(addresses(&node), expected);
    for (label, value) in [
        ("node.kubernetes.io/instance-type", "m1.medium"),
        ("beta.kubernetes.io/instance-type", "m1.medium"),
        ("topology.kubernetes.io/zone", "az-1-b"),
        ("failure-domain.beta.kubernetes.io/zone", "az-1-b"),
        ("topology.kubernetes.io/region", "RegionOne"),
        ("failure-domain.beta.kubernetes.io/region", "RegionOne"),
    ] {
        assert_eq!(node.labels().get(label).map(String::as_str), Some(value), "{label}");
    }
    assert_eq!(fixture.cloud.unknown(), [""; 0]);
}

#[tokio::test]
async fn the_provider_id_has_the_region_if_configured() {
    let fixture = Fixture::new().await;
    let manager = fixture
        .start_with(fixture.manager().env("OS_CCM_REGIONAL", "true"), &[])
        .await;
    let (name, server) = fixture.join("node").await;
    let node = fixture.initialised(&manager, &name).await;
    let id = node.spec.unwrap().provider_id.unwrap();
    assert_eq!(id, format!("openstack://RegionOne/{}", server.id));
}

#[tokio::test]
async fn a_node_is_tainted_if_its_server_is_off_and_deleted_if_it_is_missing() {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&["--node-deletion-grace-period=0s"]).await;
    let (off, off_server) = fixture.join("off").await;
    let (gone, gone_server) = fixture.join("gone").await;
    let (stays, _) = fixture.join("stays").await;
    for node in [&off, &gone, &stays] {
        fixture.initialised(&manager, node).await;
    }
    fixture.cloud.stop_server(off_server.id);
    fixture.cloud.delete_server(gone_server.id);
    for node in [&off, &gone, &stays] {
        fixture.set_ready(node, "Unknown").await;
    }
    fixture
        .node_until(&manager, &off, "tainted", |node| has_taint(node, SHUTDOWN))
        .await;
    fixture.node_gone(&manager, &gone).await;
    fixture.cloud.start_server(off_server.id);
    fixture.set_ready(&off, "True").await;
    let is_back = |node: &Node| !has_taint(node, SHUTDOWN);
    fixture.node_until(&manager, &off, "without the taint", is_back).await;
    assert!(
        exists(&fixture, &stays).await,
        "a node was deleted whose server is there"
    );
}

/// Two managers of one cluster, each for its region, without separate node selectors.
#[tokio::test]
async fn a_node_that_may_be_another_regions_is_not_deleted() {
    let fixture = Fixture::new().await;
    let launch = fixture.manager().env("OS_CCM_REGIONAL", "true");
    let manager = fixture.start_with(launch, &["--node-deletion-grace-period=0s"]).await;
    let (ours, server) = fixture.join("ours").await;
    fixture.initialised(&manager, &ours).await;
    let theirs = fixture.register("theirs", "tainted ready:Unknown").await;
    fixture.cloud.delete_server(server.id);
    fixture.set_ready(&ours, "Unknown").await;
    fixture.node_gone(&manager, &ours).await;
    manager.logged("the node may be in another").await;
    let mark = fixture.cloud.mark();
    fixture
        .cloud_until("three more looks", &manager, |cloud| {
            let calls = cloud.calls_since(mark);
            calls.iter().filter(|call| call.operation == "server_list").count() >= 3
        })
        .await;
    assert!(exists(&fixture, &theirs).await, "another region's node was deleted");
}

#[tokio::test]
async fn a_node_with_two_servers_is_initialized_once_one_is_deleted() {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&["--node-deletion-grace-period=0s"]).await;
    let (name, server) = fixture.join("node").await;
    fixture.initialised(&manager, &name).await;
    let (first, second) = (fixture.boot("twin"), fixture.boot("twin"));
    let twin = fixture.register("twin", "tainted ready:True").await;
    let message = fixture.event(&twin, "FailedToInitialize").await;
    for id in [first.id, second.id] {
        assert!(message.contains(&id.to_string()), "{message}");
    }
    fixture.set_ready(&twin, "Unknown").await;
    let mark = fixture.cloud.mark();
    fixture
        .cloud_until("a look at it", &manager, |cloud| {
            cloud.calls_since(mark).iter().any(|call| call.status.is_some())
        })
        .await;
    assert!(exists(&fixture, &twin).await, "a node was deleted in doubt");

    fixture.cloud.delete_server(first.id);
    fixture.set_ready(&twin, "True").await;
    let node = fixture.initialised(&manager, &twin).await;
    let id = node.spec.unwrap().provider_id.unwrap();
    assert_eq!(id, format!("openstack:///{}", second.id));
    assert_ne!(server.id, second.id);
}

async fn exists(fixture: &Fixture, node: &str) -> bool {
    fixture.base().nodes().get_opt(node).await.unwrap().is_some()
}

#[tokio::test]
async fn nodes_that_are_not_ready_cost_one_call() {
    const PERIOD: Duration = Duration::from_secs(1);
    let fixture = Fixture::new().await;
    let manager = fixture.start(&["--node-monitor-period=1s"]).await;
    let nodes = fixture.nodes(&manager, 6).await;
    for node in &nodes {
        fixture.set_ready(node, "Unknown").await;
    }
    let mark = fixture.cloud.mark();
    fixture
        .cloud_until("three looks", &manager, |cloud| cloud.calls_since(mark).len() >= 4)
        .await;
    let calls = fixture.cloud.calls_since(mark);
    assert!(
        calls.iter().all(|call| call.operation == "server_list"),
        "{:?}",
        summaries(&calls)
    );
    // The first read may have been concurrent.
    let between = calls[3].at.abs_diff(calls[1].at);
    assert!(between >= PERIOD * 7 / 4, "three looks within {between:?}");
}
