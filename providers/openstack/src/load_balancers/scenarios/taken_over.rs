//! What occm made, as version 1.35 leaves it, piece for piece: it costs reads, and not one change of the cloud.

use super::stage::{Stage, annotate, port, stories};
use crate::{
    api::{Call, Service},
    load_balancers::annotations as key,
};
use cloud::{Ingress, IpFamily, LoadBalancers, Protocol, Spec, TrafficPolicy};
use serde_json::{Value, json};

stories! {
    what_another_made_is_taken_over
    with_its_security_group
    with_two_services_on_it
    with_probes_for_pods
    of_ovn
}

async fn what_another_made_is_taken_over(stage: &mut Stage) {
    let mut spec = stage.service("web");
    spec.ports.push(port(Protocol::Udp, 53));
    annotate(&mut spec, "enable-health-monitor", "true");
    made(stage, &mut spec).await;
    untouched(stage, &mut [spec]).await;
}

async fn with_its_security_group(stage: &mut Stage) {
    stage.configure(|config| config.load_balancer.manage_security_groups = true);
    let mut spec = stage.service("web");
    made(stage, &mut spec).await;
    let subnet = Call::get(Service::Network, "get", ["subnets", &stage.ground.subnet]);
    let subnet: Value = stage.ground.session.json(subnet).await.expect("a subnet");
    guarded(stage, &spec, &[&text(&subnet["subnet"]["cidr"])]).await;
    untouched(stage, &mut [spec]).await;
}

async fn with_two_services_on_it(stage: &mut Stage) {
    let (mut first, mut second) = (stage.service("first"), stage.service("second"));
    second.ports = vec![port(Protocol::Tcp, 81)];
    let balancer = made(stage, &mut first).await;
    let names = [&first, &second].map(|spec| stage.balancers.name(&spec.cluster, &spec.service));
    put(
        stage,
        Service::LoadBalancer,
        &["lbaas", "loadbalancers", &balancer],
        json!({"loadbalancer": {"tags": names}}),
    )
    .await;
    equipped(stage, &second, &balancer).await;
    second.annotations.clone_from(&first.annotations);
    second.status = first.status.clone();
    untouched(stage, &mut [first, second]).await;
}

async fn with_probes_for_pods(stage: &mut Stage) {
    let mut spec = stage.service("web");
    spec.traffic = TrafficPolicy::Local {
        health_check_port: Some(32_000),
    };
    annotate(&mut spec, "enable-health-monitor", "true");
    made(stage, &mut spec).await;
    untouched(stage, &mut [spec]).await;
}

async fn of_ovn(stage: &mut Stage) {
    stage.configure(|config| {
        config.load_balancer.lb_provider = "ovn".into();
        config.load_balancer.lb_method = "SOURCE_IP_PORT".into();
        config.load_balancer.manage_security_groups = true;
    });
    let mut spec = stage.service("web");
    spec.source_ranges = vec!["192.0.2.0/24".parse().unwrap(), "198.51.100.0/24".parse().unwrap()];
    made(stage, &mut spec).await;
    guarded(stage, &spec, &["192.0.2.0/24", "198.51.100.0/24"]).await;
    untouched(stage, &mut [spec]).await;
}

/// A manager that knows nothing of them finds everything as it should be.
async fn untouched(stage: &mut Stage, specs: &mut [Spec]) {
    stage.restart();
    let before = stage.calls();
    for spec in specs.iter_mut() {
        let status = spec.status.clone();
        stage.ensure(spec).await.unwrap();
        stage.update_hosts(spec).await.unwrap();
        assert_eq!(spec.status.ingress[0].ip, status.ingress[0].ip);
        assert!(spec.annotations.contains_key(key::RECORD.key));
    }
    let calls = stage.since(&before);
    let is_read = |call: &&str| {
        let name = call.split('×').next().unwrap_or_default();
        name.ends_with("_list") || name.ends_with("_get")
    };
    let written: Vec<&str> = calls.split(' ').filter(|call| !is_read(call)).collect();
    assert_eq!(written, [""; 0], "of {calls}");
}

/// A load balancer with a floating IP, and what occm writes on the Service; says its ID.
async fn made(stage: &Stage, spec: &mut Spec) -> String {
    let name = stage.balancers.name(&spec.cluster, &spec.service);
    let whom = format!(
        "{}/{} from cluster {}",
        spec.service.namespace, spec.service.name, spec.cluster
    );
    let balancer = json!({"loadbalancer": {
        "name": name,
        "description": format!("Kubernetes external service {whom}"),
        "provider": stage.config.load_balancer.lb_provider,
        "vip_subnet_id": stage.ground.subnet,
        "admin_state_up": true,
        "tags": [name],
    }});
    let balancer = post(stage, Service::LoadBalancer, &["lbaas", "loadbalancers"], balancer).await;
    let balancer = &balancer["loadbalancer"];
    let id = text(&balancer["id"]);
    equipped(stage, spec, &id).await;
    let fip = json!({"floatingip": {
        "floating_network_id": stage.ground.external,
        "port_id": balancer["vip_port_id"],
        "description": format!("Floating IP for Kubernetes external service {whom}"),
    }});
    let fip = post(stage, Service::Network, &["floatingips"], fip).await;
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
async fn equipped(stage: &Stage, spec: &Spec, balancer: &str) {
    let name = stage.balancers.name(&spec.cluster, &spec.service);
    let defaults = &stage.config.load_balancer;
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
            stage,
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
        let pool = post(stage, Service::LoadBalancer, &["lbaas", "pools"], pool).await;
        let pool = text(&pool["pool"]["id"]);
        filled(stage, spec, index, &pool, full).await;
    }
}

/// Members and monitor of the pool of a port.
async fn filled(stage: &Stage, spec: &Spec, index: usize, pool: &str, full: bool) {
    let name = stage.balancers.name(&spec.cluster, &spec.service);
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
            "subnet_id": stage.ground.subnet,
        });
        if let Some(probed) = probed {
            member["monitor_port"] = json!(probed);
        }
        member
    };
    let members: Vec<Value> = spec.hosts.iter().map(|host| member(host)).collect();
    let path = ["lbaas", "pools", pool, "members"];
    put(stage, Service::LoadBalancer, &path, json!({"members": members})).await;
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
    post(stage, Service::LoadBalancer, &["lbaas", "healthmonitors"], monitor).await;
}

/// The security group of a Service, on its nodes.
async fn guarded(stage: &Stage, spec: &Spec, sources: &[&str]) {
    let service = &spec.service;
    let group = json!({"security_group": {
        "name": format!("lb-sg-{}-{}-{}", service.uid, service.namespace, service.name),
        "description": format!("Security Group for {}/{} Service LoadBalancer in cluster {}", service.namespace, service.name, spec.cluster),
    }});
    let group = post(stage, Service::Network, &["security-groups"], group).await;
    let group = &group["security_group"];
    for rule in group["security_group_rules"]
        .as_array()
        .expect("the rules of every new group")
    {
        let path = ["security-group-rules", &text(&rule["id"])];
        let call = Call::delete(Service::Network, "delete", path);
        stage.ground.session.delete(call).await.expect("deleted");
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
            post(stage, Service::Network, &["security-group-rules"], rule).await;
        }
    }
    assert_eq!(spec.families, [IpFamily::V4]);
    for host in spec.hosts.iter() {
        let server = host.provider_id.as_ref().expect("a server").to_string();
        let server = server.rsplit('/').next().unwrap_or_default().to_owned();
        let ports = Call::get(Service::Network, "get", ["ports"]).query([("device_id", server)]);
        let ports: Value = stage.ground.session.json(ports).await.expect("a list");
        let port = &ports["ports"][0];
        let mut groups = port["security_groups"].as_array().expect("groups").clone();
        groups.push(group["id"].clone());
        let path = ["ports", &text(&port["id"])];
        put(
            stage,
            Service::Network,
            &path,
            json!({"port": {"security_groups": groups}}),
        )
        .await;
    }
}

async fn post(stage: &Stage, service: Service, path: &[&str], body: Value) -> Value {
    let call = Call::post(service, "post", path.iter().copied()).json(&body);
    let answer = stage.ground.session.json(call).await.expect("made");
    stage.settled().await;
    answer
}

async fn put(stage: &Stage, service: Service, path: &[&str], body: Value) {
    let call = Call::put(service, "put", path.iter().copied()).json(&body);
    stage.ground.session.send(call).await.expect("changed");
    stage.settled().await;
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}
