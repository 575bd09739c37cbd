//! The operator's own objects: it finds its image, issues the certificate of its metrics, and configures Prometheus.

use super::cluster::Cluster;
use crate::objects::kind;
use serde_json::{Value, json};

const SERVICE: &str = "outrigger-operator";
const SERVING: &str = "outrigger-operator.cloud-controller-manager-serving-cert";
const BUNDLE: &str = "outrigger-operator.cloud-controller-manager-serving-ca-bundle";
const POD: &str = "outrigger-operator-0";
const IMAGE: &str = "registry.lab/outrigger:own";

async fn install(world: &Cluster) {
    let account = json!({"automountServiceAccountToken": false});
    world
        .apply(&kind("ServiceAccount"), &world.namespace, "default", account)
        .await;
    let pod = json!({"spec": {"containers": [{"name": "operator", "image": IMAGE}]}});
    world.apply(&kind("Pod"), &world.namespace, POD, pod).await;
    let service = json!({"spec": {"selector": {"app": SERVICE}, "ports": [{"name": "metrics", "port": 9258}]}});
    world.apply(&kind("Service"), &world.namespace, SERVICE, service).await;
}

async fn found(world: &Cluster, name: &str, object: &str) -> Result<Value, String> {
    let found = world.get(&kind(name), &world.namespace, object).await;
    found.ok_or_else(|| format!("no {name} {object}"))
}

#[tokio::test]
async fn has_a_certificate_monitors_and_the_image_of_its_pod() {
    let world = Cluster::new().await;
    install(&world).await;
    world
        .manager(
            "lab",
            json!({"provider": "memory", "monitoring": {"labels": {"team": "lab"}}}),
        )
        .await;
    let operator = world
        .operator()
        .flag(&format!("--own-pod={POD}"))
        .flag(&format!("--metrics-service={SERVICE}"))
        .flag("--monitor-labels=release=lab")
        .start();
    world.installed(&operator, "lab").await;
    let deployment = world.deployment("lab").await.unwrap();
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], IMAGE);

    let secret = operator
        .until("the certificate", async || found(&world, "Secret", SERVING).await)
        .await;
    let service = found(&world, "Service", SERVICE).await.unwrap();
    let owner = json!([{"apiVersion": "v1", "kind": "Service", "name": SERVICE, "uid": service["metadata"]["uid"]}]);
    assert_eq!(secret["metadata"]["ownerReferences"], owner);
    let monitor = operator
        .until("the monitor", async || found(&world, "ServiceMonitor", SERVICE).await)
        .await;
    assert_eq!(monitor["metadata"]["labels"]["release"], "lab");
    let tls = &monitor["spec"]["endpoints"][0]["tlsConfig"];
    assert_eq!(tls["serverName"], format!("{SERVICE}.{}.svc", world.namespace));
    assert_eq!(tls["ca"]["configMap"]["name"], BUNDLE);
    assert!(found(&world, "ConfigMap", BUNDLE).await.is_ok());
    let rules = operator
        .until("the alerts", async || found(&world, "PrometheusRule", SERVICE).await)
        .await;
    assert!(
        rules.to_string().contains("CloudControllerManagerOperatorDown"),
        "{rules}"
    );
    assert_eq!(rules["metadata"]["ownerReferences"], owner);
    let name = "lab-cloud-controller-manager";
    let monitor = operator
        .until("the manager's", async || found(&world, "ServiceMonitor", name).await)
        .await;
    let labels = &monitor["metadata"]["labels"];
    assert_eq!((&labels["release"], &labels["team"]), (&json!("lab"), &json!("lab")));

    world.delete(&kind("Secret"), &world.namespace, SERVING).await;
    let again = operator
        .until("another certificate", async || found(&world, "Secret", SERVING).await)
        .await;
    assert_ne!(again["data"]["tls.crt"], secret["data"]["tls.crt"]);
}

/// Until the Pod can be read, managers wait, and report why.
#[tokio::test]
async fn a_pod_that_does_not_exist_is_reported() {
    let world = Cluster::new().await;
    world.manager("lab", json!({"provider": "memory"})).await;
    let operator = world.operator().flag("--own-pod=nobody").start();
    let why = format!(
        "Degraded=True NoImage Pod {}/nobody does not exist: correct --own-pod",
        world.namespace
    );
    world.reports(&operator, "lab", &[&why]).await;
}

#[tokio::test]
async fn the_default_cluster_name_causes_a_warning() {
    let world = Cluster::new().await;
    world.config("cloud", "{}").await;
    let map = json!({"configMap": {"name": "cloud"}});
    world
        .manager("lab", json!({"provider": "openstack", "cloudConfig": map}))
        .await;
    let operator = world.start();
    let events = world.api(&kind("Event"), "default");
    let look = async || {
        let all = events.list(&kube::api::ListParams::default()).await.unwrap();
        let warning = all.items.iter().find(|event| {
            event.data["reason"] == "DefaultClusterName" && event.data["involvedObject"]["name"] == "lab"
        });
        warning
            .map(|event| event.data.clone())
            .ok_or_else(|| format!("{} events", all.items.len()))
    };
    let event = operator.until("the warning", look).await;
    assert_eq!(event["type"], "Warning");
    assert!(
        event["message"].as_str().unwrap().contains("spec.clusterName"),
        "{event}"
    );
}
