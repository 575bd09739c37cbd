//! Changes of Nodes and Services, in the same order for both programs.

use crate::fixture::{Fixture, is_initialised, service_address};
use cloud::{AddressKind, Power};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use memory_sim::{Balancer, Cloud, Machine};
use serde_json::json;
use testkit::{service, wait::until};

const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// Runs all scenarios.
pub async fn play(fixture: &Fixture) {
    newcomers(fixture).await;
    troubles(fixture).await;
    services(fixture).await;
    departures(fixture).await;
    late_host(fixture).await;
    marker(fixture).await;
}

/// Creates and deletes one more Service: then the leader has processed all earlier changes and emitted their events. Returns
/// whether the leader knew the addresses of all Nodes.
pub async fn marker(fixture: &Fixture) -> bool {
    let marker = fixture.create(service::load_balancer(&fixture.named("marker"))).await;
    let name = marker.name_any();
    served(fixture, &name).await;
    let balancers = fixture.cloud.load_balancers();
    let knew = balancers.iter().any(|one| one.service.name == name && is_complete(one));
    fixture.delete_service(&name).await;
    gone(fixture, &name).await;
    fixture.event(&marker.uid().unwrap(), "DeletedLoadBalancer").await;
    knew
}

fn is_complete(balancer: &Balancer) -> bool {
    balancer.hosts.iter().all(|host| !host.addresses.is_empty())
}

/// Deletes everything.
pub async fn clear(fixture: &Fixture) {
    for service in fixture.own_services().await {
        fixture.delete_service(&service.name_any()).await;
    }
    fixture.no_services().await;
    for node in fixture.own_nodes().await {
        fixture
            .nodes()
            .delete(&node.name_any(), &DeleteParams::default())
            .await
            .unwrap();
        fixture.cloud.delete_machine(&node.name_any());
    }
}

/// New machines, and what their kubelets report.
async fn newcomers(fixture: &Fixture) {
    let ip = AddressKind::InternalIP;
    let machines = [
        (
            typical(fixture, "fresh"),
            "tainted ready:True kubernetes.io/hostname=fresh",
        ),
        (
            typical(fixture, "two-ips")
                .address(ip, "10.9.0.2")
                .address(AddressKind::ExternalIP, "203.0.113.9"),
            "tainted ready:True node-ip:10.9.0.2",
        ),
        (
            typical(fixture, "decorated")
                .label("example.com/rack", "r1")
                .label("taken", "cloud")
                .label("x.kubernetes.io/y", "z"),
            "taint:first tainted taint:last ready:True taken=user mine=yes",
        ),
        (
            bare(fixture, "kubelet").address(ip, "10.9.0.77"),
            "tainted ready:True Hostname=from-kubelet InternalIP=10.9.0.66",
        ),
        (
            bare(fixture, "known").address(ip, "10.9.0.88"),
            "tainted ready:True id:memory://known topology.kubernetes.io/zone=old",
        ),
        (
            bare(fixture, "labelled").zone("z").address(ip, "10.9.0.99"),
            "ready:True id:memory://labelled InternalIP=10.9.0.99 failure-domain.beta.kubernetes.io/zone=z",
        ),
        (
            typical(fixture, "excluded"),
            "tainted ready:True node.kubernetes.io/exclude-from-external-load-balancers=true",
        ),
        (
            typical(fixture, "doomed"),
            "tainted ready:True taint:ToBeDeletedByClusterAutoscaler",
        ),
    ];
    for (machine, words) in machines {
        let name = machine.name.strip_prefix(&fixture.named("")).unwrap().to_owned();
        fixture.cloud.create_machine(machine);
        fixture.register(&name, words).await;
    }
    nodes_until(fixture, "initialised", |node| {
        is_initialised(node) && has_addresses(node)
    })
    .await;
    node_until(fixture, "labelled", "labelled", |node| {
        node.labels().contains_key("topology.kubernetes.io/zone")
    })
    .await;
}

/// Machines that stop, start again, and are deleted.
async fn troubles(fixture: &Fixture) {
    for name in ["off", "back", "gone"] {
        fixture.cloud.create_machine(typical(fixture, name));
        fixture.register(name, "tainted ready:True").await;
    }
    nodes_until(fixture, "initialised", |node| {
        is_initialised(node) && has_addresses(node)
    })
    .await;
    for name in ["off", "back"] {
        fixture.cloud.set_power(&fixture.named(name), Power::Off);
        fixture.set_ready(&fixture.named(name), "Unknown").await;
        node_until(fixture, name, "tainted", is_shut_down).await;
    }
    fixture.cloud.set_power(&fixture.named("back"), Power::On);
    fixture.set_ready(&fixture.named("back"), "True").await;
    node_until(fixture, "back", "untainted", |node| !is_shut_down(node)).await;
    fixture.cloud.delete_machine(&fixture.named("gone"));
    fixture.set_ready(&fixture.named("gone"), "Unknown").await;
    until("the Node to go", async || {
        match fixture.nodes().get_opt(&fixture.named("gone")).await.unwrap() {
            None => Ok(()),
            Some(node) => Err(json!(node)),
        }
    })
    .await;
}

async fn services(fixture: &Fixture) {
    let named = |name: &str| service::load_balancer(&fixture.named(name));
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
        let name = fixture.create(service).await.name_any();
        served(fixture, &name).await;
    }
    fixture.create(named("foreign").class("example.com/other")).await;
    fixture.create(service::cluster_ip(&fixture.named("plain"))).await;
    let change = Patch::Merge(json!({"spec": {"ports": [{"port": 54, "protocol": "UDP"}]}}));
    fixture
        .services()
        .patch(&fixture.named("udp"), &PatchParams::default(), &change)
        .await
        .unwrap();
    fixture
        .cloud_until(|cloud| {
            cloud
                .load_balancers()
                .iter()
                .any(|balancer| balancer.ports.iter().any(|port| port.port == 54))
        })
        .await;
}

/// A node that is added later becomes a host of all load balancers.
async fn late_host(fixture: &Fixture) {
    fixture.cloud.create_machine(typical(fixture, "late"));
    fixture.register("late", "tainted ready:True").await;
    nodes_until(fixture, "initialised", |node| {
        is_initialised(node) && has_addresses(node)
    })
    .await;
    let late = fixture.named("late");
    let is_host = |host: &cloud::Host| host.name == late && host.provider_id.is_some();
    let all_have = |cloud: &Cloud| {
        cloud
            .load_balancers()
            .iter()
            .all(|one| one.hosts.iter().any(|host| is_host(host)))
    };
    fixture.cloud_until(all_have).await;
    // The Go program reports a host to the cloud before it has written its addresses, and not again until the Service changes.
    // Its cache of Nodes may be behind the API server.
    until("the addresses to be known", async || {
        if marker(fixture).await {
            Ok(())
        } else {
            Err("they are not")
        }
    })
    .await;
    for balancer in fixture.cloud.load_balancers() {
        let touch = Patch::Merge(json!({"metadata": {"annotations": {"touched": "yes"}}}));
        let name = &balancer.service.name;
        fixture
            .services()
            .patch(name, &PatchParams::default(), &touch)
            .await
            .unwrap();
    }
    fixture
        .cloud_until(|cloud| cloud.load_balancers().iter().all(is_complete))
        .await;
}

/// Services that need no load balancer any more.
async fn departures(fixture: &Fixture) {
    let retype = Patch::Merge(json!({"spec": {"type": "ClusterIP"}}));
    fixture
        .services()
        .patch(&fixture.named("retyped"), &PatchParams::default(), &retype)
        .await
        .unwrap();
    until("the Service to be as any other", async || {
        let service = fixture.services().get(&fixture.named("retyped")).await.unwrap();
        let clean = service.finalizers().is_empty() && service_address(&service).is_none();
        if clean { Ok(()) } else { Err(json!(service)) }
    })
    .await;
    fixture.delete_service(&fixture.named("deleted")).await;
    gone(fixture, &fixture.named("deleted")).await;
}

fn typical(fixture: &Fixture, name: &str) -> Machine {
    Machine::typical(fixture.named(name)).provider_id(format!("memory://{name}"))
}

/// A machine of which the cloud reports almost nothing.
fn bare(fixture: &Fixture, name: &str) -> Machine {
    Machine::named(fixture.named(name)).provider_id(format!("memory://{name}"))
}

async fn nodes_until(fixture: &Fixture, what: &str, holds: impl Fn(&Node) -> bool) {
    until(&format!("all nodes to be {what}"), async || {
        let nodes = fixture.own_nodes().await;
        let not: Vec<_> = nodes
            .iter()
            .filter(|node| !holds(node))
            .map(|node| json!(node))
            .collect();
        if not.is_empty() { Ok(()) } else { Err(json!(not)) }
    })
    .await;
}

async fn node_until(fixture: &Fixture, name: &str, what: &str, holds: impl Fn(&Node) -> bool) {
    until(&format!("{name} to be {what}"), async || {
        let node = fixture.nodes().get(&fixture.named(name)).await.unwrap();
        if holds(&node) { Ok(()) } else { Err(json!(node)) }
    })
    .await;
}

async fn served(fixture: &Fixture, name: &str) -> Service {
    until("the Service to have an address", async || {
        let service = fixture.services().get(name).await.unwrap();
        if service_address(&service).is_some() {
            Ok(service)
        } else {
            Err(json!(service))
        }
    })
    .await
}

async fn gone(fixture: &Fixture, name: &str) {
    until("the Service to go", async || {
        match fixture.services().get_opt(name).await.unwrap() {
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
