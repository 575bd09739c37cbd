//! The release has the same objects for Prometheus as the operator would create.

use crate::manifests::{Manifest, OPERANDS, OPERATOR, all, one, operands};
use operator::{Object, monitoring, platforms::Provider};
use rstest::rstest;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn of(manifests: &[Manifest], namespace: &str) -> Vec<Value> {
    let monitors = manifests
        .iter()
        .filter(|manifest| manifest.object.key().api_version == monitoring::API);
    let there = monitors.filter(|manifest| manifest.object.key().namespace.as_deref() == Some(namespace));
    there
        .map(|manifest| {
            let mut value = manifest.value().clone();
            value["metadata"].as_object_mut().unwrap().remove("annotations");
            value
        })
        .collect()
}

fn values(objects: Vec<Object>) -> Vec<Value> {
    objects.into_iter().map(Object::into_value).collect()
}

#[test]
fn of_the_operator() {
    let expected = monitoring::operator(OPERATOR, "cloud-controller-manager-operator").unwrap();
    assert_eq!(of(&all(), OPERATOR), values(expected));
}

/// The platforms whose port is open: their manager is in the operator's own image.
#[test]
fn of_the_operands() {
    let services: BTreeSet<_> = operands()
        .iter()
        .filter(|(platform, _)| platform.provider == Provider::Ours)
        .flat_map(|(_, objects)| objects.iter().filter(|object| object.key().kind == "Service"))
        .map(|service| service.key().name.clone())
        .collect();
    let expected = services
        .iter()
        .flat_map(|service| values(monitoring::operand(OPERANDS, service).unwrap()));
    assert_eq!(of(&all(), OPERANDS), expected.collect::<Vec<_>>());
}

/// The selectors from monitor to Service to Pod match.
#[test]
fn a_monitor_finds_its_pods() {
    let monitor = one("ServiceMonitor", "cloud-controller-manager-operator");
    let service = one("Service", "cloud-controller-manager-operator");
    let deployment = one("Deployment", "cluster-cloud-controller-manager-operator");
    let selected = monitor["spec"]["selector"]["matchLabels"].as_object().unwrap();
    assert!(!selected.is_empty());
    for (label, value) in selected {
        assert_eq!(service["metadata"]["labels"][label], *value, "{label}");
    }
    let pod = &deployment["spec"]["template"];
    assert_eq!(service["spec"]["selector"], pod["metadata"]["labels"]);
    let port = &service["spec"]["ports"][0];
    assert_eq!(monitor["spec"]["endpoints"][0]["port"], port["name"]);
    let container = &pod["spec"]["containers"][0]["ports"][0];
    assert_eq!(
        [&container["name"], &container["containerPort"]],
        [&port["targetPort"], &port["port"]]
    );
    for (_, objects) in operands()
        .iter()
        .filter(|(platform, _)| platform.provider == Provider::Ours)
    {
        let service = objects.iter().find(|object| object.key().kind == "Service").unwrap();
        let monitor = one("ServiceMonitor", &service.key().name);
        let labels = &service.value()["metadata"]["labels"];
        assert_eq!(monitor["spec"]["selector"]["matchLabels"], *labels);
        assert_eq!(
            monitor["spec"]["endpoints"][0]["port"],
            service.value()["spec"]["ports"][0]["name"]
        );
    }
}

/// All traffic is denied, except what is needed.
#[rstest]
#[case(OPERATOR, 9258)]
#[case(OPERANDS, 10258)]
fn policies_let_prometheus_in(#[case] namespace: &str, #[case] port: u16) {
    let all = all();
    let policy = |name: &str| {
        let mut found = all.iter().filter(|manifest| {
            let key = manifest.object.key();
            key.kind == "NetworkPolicy" && key.name == name && key.namespace.as_deref() == Some(namespace)
        });
        found.next().unwrap().value()["spec"].clone()
    };
    assert_eq!(
        policy("default-deny"),
        json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"]})
    );
    let metrics = policy("allow-metrics");
    assert_eq!(
        metrics["ingress"][0]["ports"],
        json!([{"protocol": "TCP", "port": port}])
    );
    let from = &metrics["ingress"][0]["from"][0]["namespaceSelector"]["matchLabels"];
    assert_eq!(*from, json!({"kubernetes.io/metadata.name": "openshift-monitoring"}));
    assert!(policy("allow-egress")["egress"].is_array());
    let readers: Vec<_> = all
        .iter()
        .filter(|manifest| manifest.kind() == "RoleBinding" && manifest.object.key().name == "prometheus-k8s")
        .map(|manifest| manifest.object.key().namespace.clone().unwrap())
        .collect();
    assert!(readers.contains(&namespace.to_owned()));
}
