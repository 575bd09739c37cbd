//! Nodes: they get what the cloud knows, and go when their server goes.

use crate::{
    rig::Rig,
    stage::{Stage, told},
};
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
    let stage = Stage::new().await;
    let manager = stage.start(&[]).await;
    let mut spec = ServerSpec::new(&stage.named("node"));
    spec.networks.push(stage.net.clone());
    spec.flavor = "m1.medium".to_owned();
    spec.zone = "az 1/b".to_owned();
    let server = stage.cloud.boot_as(spec);
    let public = stage.cloud.public_network().unwrap();
    let floating = stage.cloud.create_floating_ip(public, None, "mine").unwrap();
    assert!(stage.cloud.move_floating_ip(floating.id, Some(server.ports[0])));
    let name = stage.register("node", "tainted ready:True Hostname=kubelet-says").await;
    let node = stage.initialised(&manager, &name).await;
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
    assert_eq!(stage.cloud.unknown(), [""; 0]);
}

#[tokio::test]
async fn the_provider_id_has_the_region_where_that_is_asked_for() {
    let stage = Stage::new().await;
    let manager = stage
        .start_with(stage.manager().env("OS_CCM_REGIONAL", "true"), &[])
        .await;
    let (name, server) = stage.join("node").await;
    let node = stage.initialised(&manager, &name).await;
    let id = node.spec.unwrap().provider_id.unwrap();
    assert_eq!(id, format!("openstack://RegionOne/{}", server.id));
}

#[tokio::test]
async fn a_node_whose_server_is_off_is_tainted_and_one_whose_server_is_gone_goes() {
    let stage = Stage::new().await;
    let manager = stage.start(&["--node-deletion-grace-period=0s"]).await;
    let (off, off_server) = stage.join("off").await;
    let (gone, gone_server) = stage.join("gone").await;
    let (stays, _) = stage.join("stays").await;
    for node in [&off, &gone, &stays] {
        stage.initialised(&manager, node).await;
    }
    stage.cloud.stop_server(off_server.id);
    stage.cloud.delete_server(gone_server.id);
    for node in [&off, &gone, &stays] {
        stage.set_ready(node, "Unknown").await;
    }
    stage
        .node_until(&manager, &off, "tainted", |node| has_taint(node, SHUTDOWN))
        .await;
    stage.node_gone(&manager, &gone).await;
    stage.cloud.start_server(off_server.id);
    stage.set_ready(&off, "True").await;
    let is_back = |node: &Node| !has_taint(node, SHUTDOWN);
    stage.node_until(&manager, &off, "without the taint", is_back).await;
    assert!(exists(&stage, &stays).await, "a node was deleted whose server is there");
}

/// Two managers of one cluster, each for its region, and neither told which nodes are its own.
#[tokio::test]
async fn a_node_that_may_be_another_regions_is_not_deleted() {
    let stage = Stage::new().await;
    let launch = stage.manager().env("OS_CCM_REGIONAL", "true");
    let manager = stage.start_with(launch, &["--node-deletion-grace-period=0s"]).await;
    let (ours, server) = stage.join("ours").await;
    stage.initialised(&manager, &ours).await;
    let theirs = stage.register("theirs", "tainted ready:Unknown").await;
    stage.cloud.delete_server(server.id);
    stage.set_ready(&ours, "Unknown").await;
    stage.node_gone(&manager, &ours).await;
    manager.logged("the node may be in another").await;
    let mark = stage.cloud.mark();
    stage
        .cloud_until("three more looks", &manager, |cloud| {
            let calls = cloud.calls_since(mark);
            calls.iter().filter(|call| call.operation == "server_list").count() >= 3
        })
        .await;
    assert!(exists(&stage, &theirs).await, "another region's node was deleted");
}

#[tokio::test]
async fn two_servers_of_one_name_are_told_and_the_node_comes_to_life_once_one_is_gone() {
    let stage = Stage::new().await;
    let manager = stage.start(&["--node-deletion-grace-period=0s"]).await;
    let (name, server) = stage.join("node").await;
    stage.initialised(&manager, &name).await;
    let (first, second) = (stage.boot("twin"), stage.boot("twin"));
    let twin = stage.register("twin", "tainted ready:True").await;
    let told = stage.event(&twin, "FailedToInitialize").await;
    for id in [first.id, second.id] {
        assert!(told.contains(&id.to_string()), "{told}");
    }
    stage.set_ready(&twin, "Unknown").await;
    let mark = stage.cloud.mark();
    stage
        .cloud_until("a look at it", &manager, |cloud| {
            cloud.calls_since(mark).iter().any(|call| call.status.is_some())
        })
        .await;
    assert!(exists(&stage, &twin).await, "a node was deleted in doubt");

    stage.cloud.delete_server(first.id);
    stage.set_ready(&twin, "True").await;
    let node = stage.initialised(&manager, &twin).await;
    let id = node.spec.unwrap().provider_id.unwrap();
    assert_eq!(id, format!("openstack:///{}", second.id));
    assert_ne!(server.id, second.id);
}

async fn exists(rig: &Rig, node: &str) -> bool {
    rig.nodes().get_opt(node).await.unwrap().is_some()
}

#[tokio::test]
async fn looking_after_nodes_that_are_not_ready_costs_one_call_however_many_they_are() {
    const PERIOD: Duration = Duration::from_secs(1);
    let stage = Stage::new().await;
    let manager = stage.start(&["--node-monitor-period=1s"]).await;
    let nodes = stage.nodes(&manager, 6).await;
    for node in &nodes {
        stage.set_ready(node, "Unknown").await;
    }
    let mark = stage.cloud.mark();
    stage
        .cloud_until("three looks", &manager, |cloud| cloud.calls_since(mark).len() >= 4)
        .await;
    let calls = stage.cloud.calls_since(mark);
    assert!(
        calls.iter().all(|call| call.operation == "server_list"),
        "{:?}",
        told(&calls)
    );
    // The first look may have been in the middle of this.
    let between = calls[3].at.abs_diff(calls[1].at);
    assert!(between >= PERIOD * 7 / 4, "three looks within {between:?}");
}
