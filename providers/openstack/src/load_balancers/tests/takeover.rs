//! Objects as occm 1.35 creates them, one by one: they cost reads, and no change of the cloud.

use super::fixture::{Fixture, annotate, port, scenarios};
use crate::{
    api::{Call, Service},
    load_balancers::annotations as key,
};
use cloud::{Ingress, IpFamily, LoadBalancers, Protocol, Spec, TrafficPolicy};
use serde_json::{Value, json};

scenarios! {
    load_balancers_of_occm_are_not_changed
    with_its_security_group
    with_two_services_on_it
    with_probes_for_pods
    of_ovn
}

async fn load_balancers_of_occm_are_not_changed(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    spec.ports.push(port(Protocol::Udp, 53));
    annotate(&mut spec, "enable-health-monitor", "true");
    made(fixture, &mut spec).await;
    untouched(fixture, &mut [spec]).await;
}

async fn with_its_security_group(fixture: &mut Fixture) {
    fixture.configure(|config| config.load_balancer.manage_security_groups = true);
    let mut spec = fixture.service("web");
    made(fixture, &mut spec).await;
    let subnet = Call::get(Service::Network, "get", ["subnets", &fixture.project.subnet]);
    let subnet: Value = fixture.project.session.json(subnet).await.expect("a subnet");
    guarded(fixture, &spec, &[&text(&subnet["subnet"]["cidr"])]).await;
    untouched(fixture, &mut [spec]).await;
}

async fn with_two_services_on_it(fixture: &mut Fixture) {
    let (mut first, mut second) = (fixture.service("first"), fixture.service("second"));
    second.ports = vec![port(Protocol::Tcp, 81)];
    let balancer = made(fixture, &mut first).await;
    let names = [&first, &second].map(|spec| fixture.balancers.name(&spec.cluster, &spec.service));
    put(
        fixture,
        Service::LoadBalancer,
        &["lbaas", "loadbalancers", &balancer],
        json!({"loadbalancer": {"tags": names}}),
    )
    .await;
    equipped(fixture, &second, &balancer).await;
    second.annotations.clone_from(&first.annotations);
    second.status = first.status.clone();
    untouched(fixture, &mut [first, second]).await;
}

async fn with_probes_for_pods(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    spec.traffic = TrafficPolicy::Local {
        health_check_port: Some(32_000),
    };
    annotate(&mut spec, "enable-health-monitor", "true");
    made(fixture, &mut spec).await;
    untouched(fixture, &mut [spec]).await;
}

async fn of_ovn(fixture: &mut Fixture) {
    fixture.configure(|config| {
        config.load_balancer.lb_provider = "ovn".into();
        config.load_balancer.lb_method = "SOURCE_IP_PORT".into();
        config.load_balancer.manage_security_groups = true;
    });
    let mut spec = fixture.service("web");
    spec.source_ranges = vec!["192.0.2.0/24".parse().unwrap(), "198.51.100.0/24".parse().unwrap()];
    made(fixture, &mut spec).await;
    guarded(fixture, &spec, &["192.0.2.0/24", "198.51.100.0/24"]).await;
    untouched(fixture, &mut [spec]).await;
}

/// A new manager finds everything up to date.
async fn untouched(fixture: &mut Fixture, specs: &mut [Spec]) {
    fixture.restart();
    let before = fixture.calls();
    for spec in specs.iter_mut() {
        let status = spec.status.clone();
        fixture.ensure(spec).await.unwrap();
        fixture.update_hosts(spec).await.unwrap();
        assert_eq!(spec.status.ingress[0].ip, status.ingress[0].ip);
        assert!(spec.annotations.contains_key(key::RECORD.key));
    }
    let calls = fixture.since(&before);
    let is_read = |call: &&str| {
        let name = call.split('×').next().unwrap_or_default();
        name.ends_with("_list") || name.ends_with("_get")
    };
    let written: Vec<&str> = calls.split(' ').filter(|call| !is_read(call)).collect();
    assert_eq!(written, [""; 0], "of {calls}");
}

/// A load balancer with a floating IP, and the annotations that occm writes on the Service; returns its ID.
async fn made(fixture: &Fixture, spec: &mut Spec) -> String {
    let name = fixture.balancers.name(&spec.cluster, &spec.service);
    let owner = format!(
        "{}/{} from cluster {}",
        spec.service.namespace, spec.service.name, spec.cluster
    );
    let balancer = json!({"loadbalancer": {
        "name": name,
        "description": format!("Kubernetes external service {owner}"),
        "provider": fixture.config.load_balancer.lb_provider,
        "vip_subnet_id": fixture.project.subnet,
        "admin_state_up": true,
        "tags": [name],
    }});
    let balancer = post(fixture, Service::LoadBalancer, &["lbaas", "loadbalancers"], balancer).await;
    let balancer = &balancer["loadbalancer"];
    let id = text(&balancer["id"]);
    equipped(fixture, spec, &id).await;
    let fip = json!({"floatingip": {
        "floating_network_id": fixture.project.external,
        "port_id": balancer["vip_port_id"],
        "description": format!("Floating IP for Kubernetes external service {owner}"),
    }});
    let fip = post(fixture, Service::Network, &["floatingips"], fip).await;
    let address = text(&fip["floatingip"]["floating_ip_address"]);
    annotate(spec, "load-balancer-id", &id);
    annotate(spec, "load-balancer-address", &address);
    spec.status.ingress = vec![Ingress {
        ip: Some(address),
        ..Ingress::default()
    }];
    id
}

/// Listeners, pools, members and monitors of a Service.
async fn equipped(fixture: &Fixture, spec: &Spec, balancer: &str) {
    let name = fixture.balancers.name(&spec.cluster, &spec.service);
    let defaults = &fixture.config.load_balancer;
    let full = defaults.lb_provider != "ovn";
    for (index, port) in spec.ports.iter().enumerate() {
        let mut listener = json!({
            "loadbalancer_id": balancer,
            "name": format!("listener_{index}_{name}"),
            "protocol": port.protocol.as_str(),
            "protocol_port": port.port,
            "connection_limit": -1,
            "tags": [name],
        });
        if full {
            listener["allowed_cidrs"] = json!(["0.0.0.0/0"]);
            listener["timeout_client_data"] = json!(50_000);
            listener["timeout_member_connect"] = json!(5_000);
            listener["timeout_member_data"] = json!(50_000);
            listener["timeout_tcp_inspect"] = json!(0);
        }
        let listener = post(
            fixture,
            Service::LoadBalancer,
            &["lbaas", "listeners"],
            json!({"listener": listener}),
        )
        .await;
        let pool = json!({"pool": {
            "listener_id": listener["listener"]["id"],
            "name": format!("pool_{index}_{name}"),
            "protocol": port.protocol.as_str(),
            "lb_algorithm": defaults.lb_method,
        }});
        let pool = post(fixture, Service::LoadBalancer, &["lbaas", "pools"], pool).await;
        let pool = text(&pool["pool"]["id"]);
        filled(fixture, spec, index, &pool, full).await;
    }
}

/// The members and the monitor of the pool of a port.
async fn filled(fixture: &Fixture, spec: &Spec, index: usize, pool: &str, full: bool) {
    let name = fixture.balancers.name(&spec.cluster, &spec.service);
    let port = &spec.ports[index];
    let monitored = spec
        .annotations
        .keys()
        .any(|name| name.ends_with("/enable-health-monitor"));
    let probed = match spec.traffic {
        TrafficPolicy::Local { health_check_port } if monitored && full => health_check_port,
        _ => None,
    };
    let member = |host: &cloud::Host| {
        let mut member = json!({
            "name": host.name,
            "address": host.addresses[0].address,
            "protocol_port": port.node_port,
            "subnet_id": fixture.project.subnet,
        });
        if let Some(probed) = probed {
            member["monitor_port"] = json!(probed);
        }
        member
    };
    let members: Vec<Value> = spec.hosts.iter().map(|host| member(host)).collect();
    let path = ["lbaas", "pools", pool, "members"];
    put(fixture, Service::LoadBalancer, &path, json!({"members": members})).await;
    if !monitored {
        return;
    }
    let kind = match port.protocol {
        _ if probed.is_some() => "HTTP",
        Protocol::Udp => "UDP-CONNECT",
        other => other.as_str(),
    };
    let mut monitor = json!({
        "pool_id": pool,
        "name": format!("monitor_{index}_{name}"),
        "type": kind,
        "delay": 5,
        "timeout": 3,
        "max_retries": 1,
        "max_retries_down": 3,
    });
    if probed.is_some() {
        monitor["url_path"] = json!("/healthz");
        monitor["http_method"] = json!("GET");
        monitor["expected_codes"] = json!("200");
    }
    let monitor = json!({"healthmonitor": monitor});
    post(fixture, Service::LoadBalancer, &["lbaas", "healthmonitors"], monitor).await;
}

/// The security group of a Service, on its nodes.
async fn guarded(fixture: &Fixture, spec: &Spec, sources: &[&str]) {
    let service = &spec.service;
    let group = json!({"security_group": {
        "name": format!("lb-sg-{}-{}-{}", service.uid, service.namespace, service.name),
        "description": format!("Security Group for {}/{} Service LoadBalancer in cluster {}", service.namespace, service.name, spec.cluster),
    }});
    let group = post(fixture, Service::Network, &["security-groups"], group).await;
    let group = &group["security_group"];
    for rule in group["security_group_rules"]
        .as_array()
        .expect("the rules of every new group")
    {
        let path = ["security-group-rules", &text(&rule["id"])];
        let call = Call::delete(Service::Network, "delete", path);
        fixture.project.session.delete(call).await.expect("deleted");
    }
    for source in sources {
        for port in &spec.ports {
            let rule = json!({"security_group_rule": {
                "security_group_id": group["id"],
                "direction": "ingress",
                "ethertype": "IPv4",
                "protocol": port.protocol.as_str().to_lowercase(),
                "port_range_min": port.node_port,
                "port_range_max": port.node_port,
                "remote_ip_prefix": source,
            }});
            post(fixture, Service::Network, &["security-group-rules"], rule).await;
        }
    }
    assert_eq!(spec.families, [IpFamily::V4]);
    for host in spec.hosts.iter() {
        let server = host.provider_id.as_ref().expect("a server").to_string();
        let server = server.rsplit('/').next().unwrap_or_default().to_owned();
        let ports = Call::get(Service::Network, "get", ["ports"]).query([("device_id", server)]);
        let ports: Value = fixture.project.session.json(ports).await.expect("a list");
        let port = &ports["ports"][0];
        let mut groups = port["security_groups"].as_array().expect("groups").clone();
        groups.push(group["id"].clone());
        let path = ["ports", &text(&port["id"])];
        put(
            fixture,
            Service::Network,
            &path,
            json!({"port": {"security_groups": groups}}),
        )
        .await;
    }
}

async fn post(fixture: &Fixture, service: Service, path: &[&str], body: Value) -> Value {
    let call = Call::post(service, "post", path.iter().copied()).json(&body);
    let answer = fixture.project.session.json(call).await.expect("made");
    fixture.settled().await;
    answer
}

async fn put(fixture: &Fixture, service: Service, path: &[&str], body: Value) {
    let call = Call::put(service, "put", path.iter().copied()).json(&body);
    fixture.project.session.send(call).await.expect("changed");
    fixture.settled().await;
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}
