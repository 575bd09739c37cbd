//! The control plane starts, answers, survives what tests do to it, and leaves nothing behind.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Namespace, Node, Pod},
};
use kube::api::{Api, ListParams, ObjectMeta, PostParams};
use lab::{ControlPlane, unique};
use std::time::Duration;

#[tokio::test]
async fn answers_and_has_what_delegated_authentication_needs() {
    let client = ControlPlane::shared().client();
    let maps: Api<ConfigMap> = Api::namespaced(client, "kube-system");
    let data = maps
        .get("extension-apiserver-authentication")
        .await
        .unwrap()
        .data
        .unwrap();
    for key in [
        "client-ca-file",
        "requestheader-client-ca-file",
        "requestheader-username-headers",
    ] {
        assert!(data.contains_key(key), "{key} is missing");
    }
}

#[tokio::test]
async fn other_users_may_do_what_rbac_grants() {
    let plane = ControlPlane::shared();
    let file = kube::config::Kubeconfig::read_from(plane.kubeconfig_for("nobody", &["strangers"])).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &kube::config::KubeConfigOptions::default())
        .await
        .unwrap();
    let nodes: Api<Node> = Api::all(kube::Client::try_from(config).unwrap());
    let error = nodes.list(&ListParams::default()).await.unwrap_err().to_string();
    assert!(
        error.contains("User \"nobody\" cannot list resource \"nodes\""),
        "{error}"
    );
}

#[tokio::test]
async fn survives_a_restart_and_ends_with_its_owner() {
    let plane = ControlPlane::start().unwrap();
    let name = unique("kept");
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        ..ObjectMeta::default()
    };
    let namespaces: Api<Namespace> = Api::all(plane.client());
    namespaces
        .create(
            &PostParams::default(),
            &Namespace {
                metadata,
                ..Namespace::default()
            },
        )
        .await
        .unwrap();
    plane.stop_apiserver();
    assert!(namespaces.get(&name).await.is_err());
    plane.start_apiserver().unwrap();
    let namespaces: Api<Namespace> = Api::all(plane.client());
    namespaces.get(&name).await.unwrap();
    let audit = std::fs::read_to_string(plane.audit_log()).unwrap();
    assert!(audit.contains(&name), "the audit log knows of it");
    let folder = plane.dir().to_owned();
    drop(plane);
    assert!(!folder.exists());
}

#[tokio::test]
async fn with_its_controllers_a_deployment_creates_pods() {
    let plane = ControlPlane::start().unwrap();
    plane.start_controllers().unwrap();
    let labels = serde_json::json!({"app": "demo"});
    let deployment = serde_json::json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "demo"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "demo", "image": "localhost/demo"}]},
            },
        },
    });
    let deployments: Api<Deployment> = Api::namespaced(plane.client(), "default");
    let deployment: Deployment = serde_json::from_value(deployment).unwrap();
    deployments.create(&PostParams::default(), &deployment).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(plane.client(), "default");
    let unschedulable = async || {
        let pods = pods.list(&ListParams::default()).await.unwrap();
        let reasons = pods.items.iter().filter_map(|pod| {
            let conditions = pod.status.as_ref()?.conditions.as_ref()?;
            conditions
                .iter()
                .find(|each| each.type_ == "PodScheduled")?
                .reason
                .clone()
        });
        reasons.filter(|reason| reason == "Unschedulable").count()
    };
    // Both controllers have seen them: there is no node.
    tokio::time::timeout(Duration::from_mins(4), async {
        while unschedulable().await < 2 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .expect("two pods that wait for a node");
}
