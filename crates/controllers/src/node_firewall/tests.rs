use super::{
    PERIOD,
    reconcile::next,
    spec::{affects_firewall, exposed},
};
use cloud::{Error, Exposed};
use k8s_openapi::api::core::v1::Service;
use rstest::rstest;
use runtime::{
    health::Pulse,
    informer::{Change, Store},
    queue::Next,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// `web NodePort 80:30080`: a Service of this name and type with ports and node ports.
fn service(text: &str) -> Service {
    let mut words = text.split_whitespace();
    let (name, kind) = (words.next().unwrap(), words.next().unwrap());
    let port = |word: &str| {
        let (port, node_port) = word.split_once(':').unwrap();
        json!({"name": word.replace(':', "-"), "port": number(port), "nodePort": number(node_port), "protocol": "TCP"})
    };
    let ports: Vec<Value> = words.map(port).collect();
    let metadata = json!({"name": name, "namespace": "default", "uid": name});
    serde_json::from_value(
        json!({"metadata": metadata, "spec": {"type": kind, "ports": ports, "clusterIP": "10.0.0.1"}}),
    )
    .unwrap()
}

fn number(text: &str) -> u16 {
    text.parse().unwrap()
}

fn summary(services: Vec<Service>) -> String {
    let exposed = exposed(&Store::of(services), "kubernetes");
    let line = |one: &Exposed| {
        let ports: Vec<String> = one.spec.ports.iter().map(|port| port.port.to_string()).collect();
        format!("{} {:?} {}", one.spec.service.name, one.exposure, ports.join(" "))
    };
    let mut lines: Vec<String> = exposed.iter().map(line).collect();
    lines.sort_unstable();
    lines.join(", ")
}

#[test]
fn services_that_are_reachable_from_outside_are_exposed() {
    let services = [
        "a NodePort 80:30080 81:30081",
        "b LoadBalancer 443:30443",
        "c ClusterIP",
        "d ExternalName",
    ];
    let expected = "a NodePort 80 81, b LoadBalancer 443";
    assert_eq!(summary(services.map(service).into()), expected);
}

#[test]
fn deleted_and_invalid_services_stay_closed() {
    let mut deleted = service("a NodePort 80:30080");
    deleted.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    let mut invalid = service("b LoadBalancer 80:30080");
    invalid.spec.as_mut().unwrap().load_balancer_source_ranges = Some(vec!["everywhere".into()]);
    assert_eq!(summary(vec![deleted, invalid]), "");
}

#[test]
fn source_ranges_of_the_annotation_are_for_the_provider_to_check() {
    let mut annotated = service("a LoadBalancer 80:30080");
    let annotation = ("service.beta.kubernetes.io/load-balancer-source-ranges", "everywhere");
    annotated.metadata.annotations = Some([(annotation.0.to_owned(), annotation.1.to_owned())].into());
    assert_eq!(summary(vec![annotated]), "a LoadBalancer 80");
}

#[rstest]
#[case::ports("a NodePort 80:30080", "a NodePort 81:30080", true)]
#[case::kind("a NodePort 80:30080", "a ClusterIP 80:30080", true)]
#[case::nothing("a NodePort 80:30080", "a NodePort 80:30080", false)]
#[case::closed("a ClusterIP 80:30080", "a ClusterIP 81:30080", false)]
fn changes_of_ports_and_types(#[case] old: &str, #[case] new: &str, #[case] expected: bool) {
    let (old, new) = (Arc::new(service(old)), Arc::new(service(new)));
    assert_eq!(affects_firewall(&Change::Updated { old, new }), expected);
}

#[test]
fn annotations_affect_the_firewall_and_the_status_does_not() {
    let old = Arc::new(service("a NodePort 80:30080"));
    let mut annotated = service("a NodePort 80:30080");
    annotated.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into());
    assert!(affects_firewall(&Change::Updated {
        old: Arc::clone(&old),
        new: Arc::new(annotated)
    }));
    let mut served = service("a NodePort 80:30080");
    served.status = serde_json::from_value(json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}})).unwrap();
    assert!(!affects_firewall(&Change::Updated {
        old: Arc::clone(&old),
        new: Arc::new(served)
    }));
    assert!(affects_firewall(&Change::Added(Arc::clone(&old))) && affects_firewall(&Change::Deleted(old)));
    assert!(!affects_firewall(&Change::Added(Arc::new(service("a ClusterIP")))));
}

#[rstest]
#[case::done(Ok(()), Next::Poll(PERIOD))]
#[case::refused(Err(Error::invalid("tags", "they do not exist")), Next::Poll(PERIOD))]
#[case::down(Err(Error::unavailable("call", "down")), Next::Retry)]
fn next_attempt(#[case] answer: cloud::Result<()>, #[case] expected: Next) {
    assert_eq!(next(answer, &Pulse::default()), expected);
}
