//! The state of a cloud without what differs in each run: IDs, and addresses that the cloud chose.

use cloud::{Instance, Spec};
use openstack_sim::{Cloud, LoadBalancerView, Net, PoolView, PortView, RuleView};
use regex_lite::Regex;
use serde_json::{Value, json};
use std::net::IpAddr;

const ID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/// Everything in the cloud, and what the provider reports of it.
pub fn snapshot(cloud: &Cloud, net: &Net, machines: &[Instance], services: &[Spec]) -> String {
    let picture = json!({
        "machines": machines.iter().map(|machine| of_machine(cloud, machine)).collect::<Vec<_>>(),
        "services": services.iter().map(|service| of_service(cloud, service)).collect::<Vec<_>>(),
        "balancers": sorted(cloud.load_balancers().iter().map(|one| of_balancer(cloud, one))),
        "floating IPs": floating_ips(cloud),
        "groups": groups(cloud),
        "ports": sorted(cloud.ports().iter().filter_map(|port| of_port(cloud, port))),
        "routes": routes(cloud, net),
    });
    let text = serde_json::to_string_pretty(&picture).expect("JSON");
    let id = Regex::new(ID).expect("a pattern");
    id.replace_all(&text, "<id>").into_owned()
}

fn sorted(all: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut all: Vec<Value> = all.collect();
    all.sort_by_key(ToString::to_string);
    all
}

/// The server with this address.
fn server(cloud: &Cloud, address: IpAddr) -> String {
    let servers = cloud.servers();
    let found = servers.iter().find(|server| server.addresses.contains(&address));
    found.map_or_else(|| "nobody".to_owned(), |server| server.name.clone())
}

fn of_machine(cloud: &Cloud, machine: &Instance) -> Value {
    let addresses = machine.addresses.iter().map(|address| {
        let of = address.address.parse().map(|ip| server(cloud, ip)).unwrap_or_default();
        format!("{:?} of {of}", address.kind)
    });
    json!({
        "id": machine.provider_id.as_ref().map(ToString::to_string),
        "type": machine.instance_type,
        "addresses": addresses.collect::<Vec<_>>(),
        "zone": machine.zone,
    })
}

fn of_service(cloud: &Cloud, service: &Spec) -> Value {
    let balancers = cloud.load_balancers();
    let own = |id: &String| balancers.iter().any(|balancer| balancer.id.to_string() == *id);
    let floating = cloud.floating_ips();
    let leads = |address: &String| {
        let exists = floating.iter().find(|ip| ip.address.to_string() == *address);
        let port = exists.and_then(|ip| ip.port);
        let at = balancers
            .iter()
            .find(|one| Some(one.vip_port) == port || one.vip_address.to_string() == *address);
        at.map(|balancer| balancer.name.clone())
    };
    let addresses = service.status.ingress.iter().filter_map(|ingress| ingress.ip.as_ref());
    json!({
        "name": service.service.name,
        "addresses lead to": addresses.map(leads).collect::<Vec<_>>(),
        "annotations": service.annotations.keys().collect::<Vec<_>>(),
        "its load balancer exists": service.annotations.get("loadbalancer.openstack.org/load-balancer-id").map(own),
    })
}

fn of_balancer(cloud: &Cloud, balancer: &LoadBalancerView) -> Value {
    let listeners = balancer.listeners.iter().map(|listener| {
        json!({
            "name": listener.name,
            "port": format!("{}/{} {:?}", listener.protocol, listener.port, listener.provisioning),
            "tags": listener.tags,
            "attributes": listener.attributes,
            "pool": listener.pool.as_ref().map(|pool| of_pool(cloud, pool)),
        })
    });
    json!({
        "name": balancer.name,
        "description": balancer.description,
        "tags": balancer.tags,
        "state": format!("{:?}", balancer.provisioning),
        "listeners": sorted(listeners),
        "stray pools": sorted(balancer.stray_pools.iter().map(|pool| of_pool(cloud, pool))),
    })
}

fn of_pool(cloud: &Cloud, pool: &PoolView) -> Value {
    let members = pool.members.iter().map(|member| {
        let of = server(cloud, member.address);
        json!(format!("{of}:{} asked at {:?}", member.port, member.monitor_port))
    });
    let monitor = pool.monitor.as_ref().map(|monitor| {
        let how = (monitor.delay, monitor.timeout, monitor.max_retries);
        format!("{} {} {how:?}", monitor.name, monitor.kind)
    });
    json!({
        "name": pool.name,
        "tags": pool.tags,
        "algorithm": format!("{} {} {:?}", pool.protocol, pool.algorithm, pool.persistence),
        "members": sorted(members),
        "monitor": monitor,
    })
}

fn floating_ips(cloud: &Cloud) -> Vec<Value> {
    let balancers = cloud.load_balancers();
    let all = cloud.floating_ips().into_iter().map(|ip| {
        let at = balancers.iter().find(|balancer| Some(balancer.vip_port) == ip.port);
        json!({"for": ip.description, "leads to": at.map(|balancer| &balancer.name)})
    });
    sorted(all)
}

fn groups(cloud: &Cloud) -> Vec<Value> {
    let ports = cloud.ports();
    let ours = cloud.security_groups().into_iter();
    let ours = ours.filter(|group| group.name != "default").map(|group| {
        let carriers = ports.iter().filter(|port| port.groups.contains(&group.id));
        let carriers = carriers.map(|port| json!(server(cloud, port.addresses[0])));
        json!({
            "name": group.name,
            "description": group.description,
            "rules": sorted(group.rules.iter().map(of_rule)),
            "on": sorted(carriers),
        })
    });
    sorted(ours)
}

fn of_rule(rule: &RuleView) -> Value {
    let RuleView {
        id: _,
        direction,
        ethertype,
        protocol,
        min,
        max,
        prefix,
    } = rule;
    json!(format!(
        "{direction} {ethertype} {protocol:?} {min:?} {max:?} {prefix:?}"
    ))
}

/// The changes of the port of a server. The tag of routes may stay on a port without routes: it only identifies the owner of routes, if there
/// are any.
fn of_port(cloud: &Cloud, port: &PortView) -> Option<Value> {
    let of = server(cloud, *port.addresses.first()?);
    let mut tags = port.tags.clone();
    if port.pairs.is_empty() {
        tags.retain(|tag| !tag.starts_with("kube_route_"));
    }
    (of != "nobody").then(|| json!({"of": of, "pairs": port.pairs, "tags": tags, "groups": port.groups.len()}))
}

fn routes(cloud: &Cloud, net: &Net) -> Vec<Value> {
    let all = cloud.routes(net.router).into_iter();
    sorted(all.map(|route| json!(format!("{} via {}", route.destination, server(cloud, route.nexthop)))))
}
