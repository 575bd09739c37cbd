//! The control plane starts, answers, survives what tests do to it, and leaves nothing behind.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node};
use kube::api::{Api, ListParams, ObjectMeta, PostParams};
use lab::{ControlPlane, unique};

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
async fn other_users_may_do_what_rbac_says() {
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
