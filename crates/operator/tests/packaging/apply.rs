//! All manifests for users, applied to a real API server that rejects unknown fields.

use crate::tools::{documents, kustomize, read, template};
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
    discovery::{self, Scope},
};
use lab::ControlPlane;
use serde_json::{Value, json};
use std::sync::LazyLock;
use tokio::sync::OnceCell;

pub static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| ControlPlane::start().unwrap());
static READY: OnceCell<()> = OnceCell::const_new();

/// The API server, with our kind and the namespaces of the tests.
pub async fn plane() -> &'static ControlPlane {
    READY
        .get_or_init(|| async {
            PLANE.install_crds(&[read("deploy/kubernetes/crd.yaml")]).await.unwrap();
            for name in ["clouds", "outrigger-system"] {
                dry(
                    &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
                    Kept::Yes,
                )
                .await
                .unwrap();
            }
        })
        .await;
    &PLANE
}

/// Whether the API server stores an object.
#[derive(PartialEq)]
enum Kept {
    Yes,
    No,
}

async fn dry(object: &Value, kept: Kept) -> Result<(), String> {
    let client: Client = PLANE.client();
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
    let kind = GroupVersionKind::gvk(group, version, text("/kind"));
    let (resource, capabilities) = discovery::pinned_kind(&client, &kind)
        .await
        .map_err(|error| error.to_string())?;
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(client, &resource),
        Scope::Namespaced => Api::namespaced_with(client, text("/metadata/namespace"), &resource),
    };
    let mut params = PatchParams::apply("packaging").force().validation_strict();
    params.dry_run = kept == Kept::No;
    let applied = api.patch(text("/metadata/name"), &params, &Patch::Apply(object)).await;
    applied
        .map(drop)
        .map_err(|error| format!("{} {}: {error}", text("/kind"), text("/metadata/name")))
}

#[tokio::test]
async fn everything_is_valid() {
    plane().await;
    let charts = ["operator", "manager", "daemonset", "memory"]
        .map(|name| template(&[&format!("--values=charts/outrigger/ci/{name}-values.yaml")]).printed());
    let overlays = ["operator", "memory"].map(|name| kustomize(&format!("deploy/kustomize/{name}")).printed());
    let manifests = ["rbac", "rbac-service-accounts", "deployment", "daemonset", "static-pod"]
        .map(|name| read(&format!("deploy/manager/{name}.yaml")));
    let operator = ["kubernetes/operator", "openstack/secret-rbac"].map(|name| read(&format!("deploy/{name}.yaml")));
    let mut count = 0;
    for text in charts.iter().chain(&overlays).chain(&manifests).chain(&operator) {
        for object in documents(text) {
            // The kinds of the Prometheus operator are not served here.
            if object["apiVersion"] == "monitoring.coreos.com/v1" {
                continue;
            }
            count += 1;
            dry(&object, Kept::No)
                .await
                .unwrap_or_else(|error| panic!("{error}\n{object:#}"));
        }
    }
    assert!(count > 100, "{count}");
}
