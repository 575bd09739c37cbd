//! What happens to Nodes and Services, in the same order for both programs.

use crate::rig::{Rig, is_initialised, service_address};
use cloud::{AddressKind, Power};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use memory::{Balancer, Cloud, Machine};
use serde_json::json;
use testkit::{service, wait::until};

const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// All scenes.
pub async fn play(rig: &Rig) {
    newcomers(rig).await;
    troubles(rig).await;
    services(rig).await;
    departures(rig).await;
    late_host(rig).await;
    marker(rig).await;
}

/// One more Service, and away with it again: whoever leads has come so far, and has told all that there was to tell.
pub async fn marker(rig: &Rig) {
    let marker = rig.create(service::load_balancer(&rig.named("marker"))).await;
    let name = marker.name_any();
    served(rig, &name).await;
    rig.delete_service(&name).await;
    gone(rig, &name).await;
    rig.event(&marker.uid().unwrap(), "DeletedLoadBalancer").await;
}

/// Takes everything away again.
pub async fn clear(rig: &Rig) {
    for service in rig.own_services().await {
        rig.delete_service(&service.name_any()).await;
    }
    rig.no_services().await;
    for node in rig.own_nodes().await {
        rig.nodes()
            .delete(&node.name_any(), &DeleteParams::default())
            .await
            .unwrap();
        rig.cloud.delete_machine(&node.name_any());
    }
}

/// Machines as they come, and what their kubelets say about them.
async fn newcomers(rig: &Rig) {
    let ip = AddressKind::InternalIP;
    let machines = [
        (typical(rig, "fresh"), "tainted ready:True kubernetes.io/hostname=fresh"),
        (
            typical(rig, "two-ips")
                .address(ip, "10.9.0.2")
                .address(AddressKind::ExternalIP, "203.0.113.9"),
            "tainted ready:True node-ip:10.9.0.2",
        ),
        (
            typical(rig, "decorated")
                .label("example.com/rack", "r1")
                .label("taken", "cloud")
                .label("x.kubernetes.io/y", "z"),
            "taint:first tainted taint:last ready:True taken=user mine=yes",
        ),
        (
            bare(rig, "kubelet").address(ip, "10.9.0.77"),
            "tainted ready:True Hostname=from-kubelet InternalIP=10.9.0.66",
        ),
        (
            bare(rig, "known").address(ip, "10.9.0.88"),
            "tainted ready:True id:memory://known topology.kubernetes.io/zone=old",
        ),
        (
            bare(rig, "labelled").zone("z").address(ip, "10.9.0.99"),
            "ready:True id:memory://labelled InternalIP=10.9.0.99 failure-domain.beta.kubernetes.io/zone=z",
        ),
        (
            typical(rig, "excluded"),
            "tainted ready:True node.kubernetes.io/exclude-from-external-load-balancers=true",
        ),
        (
            typical(rig, "doomed"),
            "tainted ready:True taint:ToBeDeletedByClusterAutoscaler",
        ),
    ];
    for (machine, words) in machines {
        let name = machine.name.strip_prefix(&rig.named("")).unwrap().to_owned();
        rig.cloud.create_machine(machine);
        rig.register(&name, words).await;
    }
    nodes_until(rig, "initialised", |node| is_initialised(node) && has_addresses(node)).await;
    node_until(rig, "labelled", "labelled", |node| {
        node.labels().contains_key("topology.kubernetes.io/zone")
    })
    .await;
}

/// Machines that stop, come back, and go.
async fn troubles(rig: &Rig) {
    for name in ["off", "back", "gone"] {
        rig.cloud.create_machine(typical(rig, name));
        rig.register(name, "tainted ready:True").await;
    }
    nodes_until(rig, "initialised", |node| is_initialised(node) && has_addresses(node)).await;
    for name in ["off", "back"] {
        rig.cloud.set_power(&rig.named(name), Power::Off);
        rig.set_ready(&rig.named(name), "Unknown").await;
        node_until(rig, name, "tainted", is_shut_down).await;
    }
    rig.cloud.set_power(&rig.named("back"), Power::On);
    rig.set_ready(&rig.named("back"), "True").await;
    node_until(rig, "back", "untainted", |node| !is_shut_down(node)).await;
    rig.cloud.delete_machine(&rig.named("gone"));
    rig.set_ready(&rig.named("gone"), "Unknown").await;
    until("the Node to go", async || {
        match rig.nodes().get_opt(&rig.named("gone")).await.unwrap() {
            None => Ok(()),
            Some(node) => Err(json!(node)),
        }
    })
    .await;
}

async fn services(rig: &Rig) {
    let named = |name: &str| service::load_balancer(&rig.named(name));
    let port = |name: &str, number: i32| {
        let mut port = service::port("TCP", number);
        port.name = Some(name.to_owned());
        port
    };
    let wanted = [
        named("tcp").ports([port("http", 80), port("https", 443)]),
        named("udp").ports([service::port("UDP", 53)]),
        named("local").traffic_policy("Local"),
        named("ranges").source_ranges(["192.0.2.0/24"]),
        named("noted").annotation(
            "service.beta.kubernetes.io/load-balancer-source-ranges",
            "198.51.100.0/24",
        ),
        named("retyped"),
        named("deleted"),
    ];
    for service in wanted {
        let name = rig.create(service).await.name_any();
        served(rig, &name).await;
    }
    rig.create(named("foreign").class("example.com/other")).await;
    rig.create(service::cluster_ip(&rig.named("plain"))).await;
    let change = Patch::Merge(json!({"spec": {"ports": [{"port": 54, "protocol": "UDP"}]}}));
    rig.services()
        .patch(&rig.named("udp"), &PatchParams::default(), &change)
        .await
        .unwrap();
    rig.cloud_until(|cloud| {
        cloud
            .load_balancers()
            .iter()
            .any(|balancer| balancer.ports.iter().any(|port| port.port == 54))
    })
    .await;
}

/// A node that comes later becomes a host of all.
async fn late_host(rig: &Rig) {
    rig.cloud.create_machine(typical(rig, "late"));
    rig.register("late", "tainted ready:True").await;
    nodes_until(rig, "initialised", |node| is_initialised(node) && has_addresses(node)).await;
    let late = rig.named("late");
    let is_host = |host: &cloud::Host| host.name == late && host.provider_id.is_some();
    let all_have = |cloud: &Cloud| {
        cloud
            .load_balancers()
            .iter()
            .all(|one| one.hosts.iter().any(|host| is_host(host)))
    };
    rig.cloud_until(all_have).await;
    // Go tells the cloud of a host before it has written its addresses, and not again until the Service changes.
    for balancer in rig.cloud.load_balancers() {
        let touch = Patch::Merge(json!({"metadata": {"annotations": {"touched": "yes"}}}));
        let name = &balancer.service.name;
        rig.services()
            .patch(name, &PatchParams::default(), &touch)
            .await
            .unwrap();
    }
    let is_complete = |balancer: &Balancer| balancer.hosts.iter().all(|host| !host.addresses.is_empty());
    rig.cloud_until(|cloud| cloud.load_balancers().iter().all(is_complete))
        .await;
}

/// Services that do not want a load balancer any more.
async fn departures(rig: &Rig) {
    let retype = Patch::Merge(json!({"spec": {"type": "ClusterIP"}}));
    rig.services()
        .patch(&rig.named("retyped"), &PatchParams::default(), &retype)
        .await
        .unwrap();
    until("the Service to be as any other", async || {
        let service = rig.services().get(&rig.named("retyped")).await.unwrap();
        let clean = service.finalizers().is_empty() && service_address(&service).is_none();
        if clean { Ok(()) } else { Err(json!(service)) }
    })
    .await;
    rig.delete_service(&rig.named("deleted")).await;
    gone(rig, &rig.named("deleted")).await;
}

fn typical(rig: &Rig, name: &str) -> Machine {
    Machine::typical(rig.named(name)).provider_id(format!("memory://{name}"))
}

/// A machine of which the cloud says next to nothing.
fn bare(rig: &Rig, name: &str) -> Machine {
    Machine::named(rig.named(name)).provider_id(format!("memory://{name}"))
}

async fn nodes_until(rig: &Rig, what: &str, holds: impl Fn(&Node) -> bool) {
    until(&format!("all nodes to be {what}"), async || {
        let nodes = rig.own_nodes().await;
        let not: Vec<_> = nodes
            .iter()
            .filter(|node| !holds(node))
            .map(|node| json!(node))
            .collect();
        if not.is_empty() { Ok(()) } else { Err(json!(not)) }
    })
    .await;
}

async fn node_until(rig: &Rig, name: &str, what: &str, holds: impl Fn(&Node) -> bool) {
    until(&format!("{name} to be {what}"), async || {
        let node = rig.nodes().get(&rig.named(name)).await.unwrap();
        if holds(&node) { Ok(()) } else { Err(json!(node)) }
    })
    .await;
}

async fn served(rig: &Rig, name: &str) -> Service {
    until("the Service to have an address", async || {
        let service = rig.services().get(name).await.unwrap();
        if service_address(&service).is_some() {
            Ok(service)
        } else {
            Err(json!(service))
        }
    })
    .await
}

async fn gone(rig: &Rig, name: &str) {
    until("the Service to go", async || {
        match rig.services().get_opt(name).await.unwrap() {
            None => Ok(()),
            Some(service) => Err(json!(service)),
        }
    })
    .await;
}

fn has_addresses(node: &Node) -> bool {
    node.status
        .iter()
        .flat_map(|status| status.addresses.iter().flatten())
        .any(|address| address.type_ == "InternalIP" && address.address != "10.9.0.66")
}

fn is_shut_down(node: &Node) -> bool {
    node.spec
        .iter()
        .flat_map(|spec| spec.taints.iter().flatten())
        .any(|taint| taint.key == SHUTDOWN)
}
