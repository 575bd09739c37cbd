//! Everything that a user can see of a manager's work, without the parts that differ from run to run.

use crate::fixture::Fixture;
use k8s_openapi::api::core::v1::{Event, Node, Service};
use kube::{Api, ResourceExt, api::ListParams};
use memory_sim::Balancer;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Fields of a Service's spec that the API server chooses at random.
const DRAWN: [&str; 3] = ["clusterIP", "clusterIPs", "healthCheckNodePort"];

/// The condition that only ours writes.
const OURS: &str = "outrigger.dev/LoadBalancerReady";

/// By kind and name: `Node x`, `Service x`, `load balancer of x`, `events about x`.
#[derive(Debug, Clone)]
pub struct Snapshot(BTreeMap<String, Value>);

impl Snapshot {
    /// Without the events.
    pub fn without_events(mut self) -> Self {
        self.0.retain(|what, _| !what.starts_with("events"));
        self
    }

    /// The differences from another one, each in a sentence.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let all: BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        let differing = all.into_iter().filter(|what| self.0.get(*what) != other.0.get(*what));
        let show = |side: &Self, what: &String| side.0.get(what).map_or("nothing".to_owned(), Value::to_string);
        differing
            .map(|what| format!("{what}: {} is not {}", show(self, what), show(other, what)))
            .collect()
    }
}

/// Objects with events.
pub async fn told_about(fixture: &Fixture) -> BTreeSet<String> {
    let events = events(fixture).await.into_iter();
    events.filter_map(|event| event.involved_object.uid).collect()
}

/// The current state; of the events only those about other objects than these.
pub async fn of(fixture: &Fixture, before: &BTreeSet<String>) -> Snapshot {
    let nodes = fixture.own_nodes().await.into_iter();
    let services = fixture.own_services().await.into_iter();
    let balancers = fixture.cloud.load_balancers().into_iter();
    let mut by_name: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in events(fixture).await {
        let about = &event.involved_object;
        let is_new = about.uid.as_ref().is_some_and(|uid| !before.contains(uid));
        let name = about.name.clone().unwrap_or_default();
        if is_new && is_managers(&event) && name.starts_with(&fixture.named("")) && name != fixture.named("marker") {
            by_name.entry(name).or_default().insert(of_event(&event));
        }
    }
    let all = nodes.map(|node| (format!("Node {}", node.name_any()), of_node(&node)));
    let all = all.chain(services.map(|one| (format!("Service {}", one.name_any()), of_service(&one))));
    let all = all.chain(balancers.map(|one| (format!("load balancer of {}", one.service.name), of_balancer(&one))));
    let all = all.chain(
        by_name
            .into_iter()
            .map(|(name, events)| (format!("events about {name}"), json!(events))),
    );
    Snapshot(all.collect())
}

async fn events(fixture: &Fixture) -> Vec<Event> {
    let events: Api<Event> = Api::all(fixture.client.clone());
    events.list(&ListParams::default()).await.unwrap().items
}

/// Whether a manager emitted it: events of the API server itself have no source.
fn is_managers(event: &Event) -> bool {
    event.source.as_ref().is_some_and(|source| source.component.is_some())
}

fn of_node(node: &Node) -> Value {
    let status = node.status.as_ref().unwrap();
    let conditions = status.conditions.iter().flatten();
    let conditions = conditions.map(|one| json!([one.type_, one.status, one.reason, one.message]));
    json!({
        "labels": node.labels(),
        "annotations": node.annotations(),
        "finalizers": node.finalizers(),
        "spec": node.spec,
        "addresses": status.addresses,
        "conditions": conditions.collect::<Vec<_>>(),
    })
}

fn of_service(service: &Service) -> Value {
    let mut spec = json!(service.spec);
    for field in DRAWN {
        spec.as_object_mut().unwrap().remove(field);
    }
    for port in spec["ports"].as_array_mut().into_iter().flatten() {
        port.as_object_mut().unwrap().remove("nodePort");
    }
    let mut status = json!(service.status);
    for ingress in status["loadBalancer"]["ingress"].as_array_mut().into_iter().flatten() {
        ingress["ip"] = json!("some");
    }
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default().into_iter();
    json!({
        "labels": service.labels(),
        "annotations": service.annotations(),
        "finalizers": service.finalizers(),
        "spec": spec,
        "balancer": status["loadBalancer"],
        "conditions": conditions.filter(|one| one["type"] != OURS).collect::<Vec<_>>(),
    })
}

fn of_balancer(balancer: &Balancer) -> Value {
    let ports = balancer
        .ports
        .iter()
        .map(|port| json!([port.name, port.protocol.as_str(), port.port]));
    let hosts = balancer
        .hosts
        .iter()
        .map(|host| json!([host.name, host.provider_id, host.addresses]));
    let traffic = match balancer.traffic {
        cloud::TrafficPolicy::Cluster => "Cluster",
        cloud::TrafficPolicy::Local {
            health_check_port: Some(_),
        } => "Local, with a health check",
        cloud::TrafficPolicy::Local {
            health_check_port: None,
        } => "Local",
    };
    json!({
        "name": balancer.name.len(),
        "ips": balancer.ips.len(),
        "ports": ports.collect::<Vec<_>>(),
        "hosts": hosts.collect::<Vec<_>>(),
        "ranges": balancer.source_ranges,
        "traffic": traffic,
    })
}

fn of_event(event: &Event) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let source = event.source.as_ref().and_then(|source| source.component.clone());
    format!(
        "{} {} {} {:?} by {} {}",
        text(&event.involved_object.kind),
        text(&event.type_),
        text(&event.reason),
        text(&event.message),
        text(&source),
        text(&event.reporting_component),
    )
}
