//! The end state, without the parts that differ from run to run.

use crate::{
    fixture::{Fixture, annotation},
    process_fixture::{is_initialised, service_address},
};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{ResourceExt, api::ListParams};
use openstack_sim::{LoadBalancerView, PoolView};
use serde_json::{Value, json};

/// Everything of a fixture: Nodes, Services, and what they have in the cloud.
pub async fn snapshot(fixture: &Fixture) -> Value {
    let ours = ListParams::default().labels(&format!("{}={}", crate::process_fixture::LABEL, fixture.name));
    let nodes = fixture.base().nodes().list(&ours).await.unwrap().items;
    let services = fixture.services().list(&ListParams::default()).await.unwrap().items;
    let services = services
        .iter()
        .filter(|service| service.name_any().starts_with(&fixture.named("")));
    json!({
        "nodes": nodes.iter().map(|node| of_node(fixture, node)).collect::<Vec<_>>(),
        "services": services.map(|service| of_service(fixture, service)).collect::<Vec<_>>(),
        "balancers": fixture.cloud.load_balancers().iter().map(of_balancer).collect::<Vec<_>>(),
        "floatingIps": floating_ips(fixture),
        "groups": groups(fixture),
    })
}

fn of_node(fixture: &Fixture, node: &Node) -> Value {
    let servers = fixture.cloud.servers_named(&node.name_any());
    let ids: Vec<_> = servers
        .iter()
        .map(|server| format!("openstack:///{}", server.id))
        .collect();
    let spec = node.spec.as_ref();
    let id = spec.and_then(|spec| spec.provider_id.clone()).unwrap_or_default();
    let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    json!({
        "name": node.name_any(),
        "initialised": is_initialised(node),
        "hasItsId": ids == [id],
        "addresses": addresses.map(|address| &address.type_).collect::<Vec<_>>(),
        "labels": node.labels(),
    })
}

fn of_service(fixture: &Fixture, service: &Service) -> Value {
    let (address, id) = (service_address(service), annotation(service, "load-balancer-id"));
    let balancers = fixture.balancers(&service.name_any());
    let floating = fixture.cloud.floating_ips();
    let is_its_own = |balancer: &LoadBalancerView| {
        let leads = floating.iter().find(|ip| ip.port == Some(balancer.vip_port));
        id == Some(balancer.id.to_string()) && address == leads.map(|ip| ip.address.to_string())
    };
    json!({
        "name": service.name_any(),
        "finalizers": service.finalizers(),
        "hasAddressAndIdOfItsBalancer": balancers.iter().all(is_its_own) && balancers.len() == 1,
    })
}

fn of_balancer(balancer: &LoadBalancerView) -> Value {
    let listeners = balancer.listeners.iter().map(|listener| {
        json!({
            "listener": format!("{}/{} {:?}", listener.protocol, listener.port, listener.provisioning),
            "pool": listener.pool.as_ref().map(of_pool),
        })
    });
    json!({
        "name": balancer.name,
        "state": format!("{:?}", balancer.provisioning),
        "listeners": listeners.collect::<Vec<_>>(),
        "strayPools": balancer.stray_pools.iter().map(of_pool).collect::<Vec<_>>(),
    })
}

fn of_pool(pool: &PoolView) -> Value {
    let members = pool.members.iter().map(|member| &member.name);
    json!({"members": members.collect::<Vec<_>>(), "monitored": pool.monitor.is_some()})
}

fn floating_ips(fixture: &Fixture) -> Vec<Value> {
    let balancers = fixture.cloud.load_balancers();
    let all = fixture.cloud.floating_ips().into_iter();
    let leads_to = |port| balancers.iter().find(|balancer| Some(balancer.vip_port) == port);
    all.map(|ip| json!(leads_to(ip.port).map(|balancer| &balancer.name)))
        .collect()
}

fn groups(fixture: &Fixture) -> Vec<Value> {
    let ports = fixture.cloud.ports();
    let groups = fixture.cloud.security_groups().into_iter();
    let ours = groups.filter(|group| group.name.starts_with("lb-sg-"));
    let of_group = |group: openstack_sim::GroupView| {
        let carriers = ports.iter().filter(|port| port.groups.contains(&group.id));
        json!({"rules": group.rules.len(), "carriers": carriers.count()})
    };
    ours.map(of_group).collect()
}
