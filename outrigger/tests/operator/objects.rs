//! Objects of any kind, and their conditions as text: the same on `OpenShift` and standalone.

use k8s_openapi::api::{authentication::v1::TokenRequest, core::v1::ServiceAccount};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A kind of the cluster by its name.
pub fn kind(name: &str) -> ApiResource {
    let (group, version) = match name {
        "ConfigMap" | "Event" | "Namespace" | "Pod" | "Secret" | "Service" | "ServiceAccount" => ("", "v1"),
        "DaemonSet" | "Deployment" => ("apps", "v1"),
        "Lease" => ("coordination.k8s.io", "v1"),
        "PodDisruptionBudget" => ("policy", "v1"),
        "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding" => ("rbac.authorization.k8s.io", "v1"),
        "PrometheusRule" | "ServiceMonitor" => ("monitoring.coreos.com", "v1"),
        "APIServer" | "ClusterOperator" | "ClusterVersion" | "FeatureGate" | "Infrastructure" | "Network" | "Proxy" => {
            ("config.openshift.io", "v1")
        }
        "CloudControllerManager" => ("outrigger.dev", "v1alpha1"),
        name if name.starts_with("Validating") || name.starts_with("Mutating") => {
            ("admissionregistration.k8s.io", "v1")
        }
        other => panic!("the tests do not know the kind {other}"),
    };
    let singular = name.to_lowercase();
    let plural = match singular.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{singular}s"),
    };
    ApiResource::from_gvk_with_plural(&kube::core::GroupVersionKind::gvk(group, version, name), &plural)
}

/// Kinds with the namespace of their objects, from namespaces and names of kinds separated by blanks.
pub fn kinds(all: &[(&str, &'static str)]) -> Vec<(ApiResource, String)> {
    let of = |(namespace, names): &(&str, &'static str)| {
        let namespace = (*namespace).to_owned();
        names.split(' ').map(move |name| (kind(name), namespace.clone()))
    };
    all.iter().flat_map(of).collect()
}

/// The kind of a `ConfigMap`.
pub fn config_map() -> ApiResource {
    kind("ConfigMap")
}

/// The kind of a Deployment.
pub fn deployment() -> ApiResource {
    kind("Deployment")
}

/// A token of a `ServiceAccount`.
pub async fn token(client: &Client, namespace: &str, account: &str) -> String {
    let api: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let request = TokenRequest::default();
    let answer = api
        .create_token_request(account, &PostParams::default(), &request)
        .await;
    answer.unwrap().status.unwrap().token
}

/// The objects of a kind; an empty namespace is the cluster.
pub fn api(client: &Client, resource: &ApiResource, namespace: &str) -> Api<DynamicObject> {
    if namespace.is_empty() {
        Api::all_with(client.clone(), resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, resource)
    }
}

/// Creates an object, or changes it to be like this.
pub async fn apply(api: &Api<DynamicObject>, resource: &ApiResource, name: &str, mut object: Value) -> DynamicObject {
    object["apiVersion"] = json!(resource.api_version);
    object["kind"] = json!(resource.kind);
    object["metadata"]["name"] = json!(name);
    let params = PatchParams::apply("tester").force();
    let applied = api.patch(name, &params, &Patch::Apply(&object)).await;
    applied.unwrap_or_else(|error| panic!("cannot apply {} {name}: {error}", resource.kind))
}

/// An object's conditions: `Available=True AsExpected …`, one per line, sorted.
pub fn conditions(object: &Value) -> Vec<String> {
    let conditions = object["status"]["conditions"].as_array();
    let mut lines: Vec<_> = conditions.into_iter().flatten().map(line).collect();
    lines.sort();
    lines
}

fn line(condition: &Value) -> String {
    let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    format!(
        "{}={} {} {}",
        text("type"),
        text("status"),
        text("reason"),
        text("message")
    )
}

/// An object without the fields that differ after each write.
pub fn look_of(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.retain(|key, _| {
        matches!(
            key.as_str(),
            "name" | "namespace" | "labels" | "annotations" | "finalizers"
        )
    });
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|key, _| !key.starts_with("clusterIP"));
    }
    object.as_object_mut().unwrap().remove("status");
    object
}

/// A user's edit of an operand's content.
pub const MINE: &str = "mine-and-not-the-operators";
/// The same in a Secret.
pub const MINE_ENCODED: &str = "bWluZS1hbmQtbm90LXRoZS1vcGVyYXRvcnM=";

/// Objects without the parts that differ with each certificate: keys, certificates, and the hash over them. Edits of
/// them are still visible.
pub fn blurred(mut snapshot: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    const HASH: &str = "/spec/template/metadata/annotations/operator.openshift.io~1config-hash";
    for (name, object) in &mut snapshot {
        if let Some(hash) = object.pointer_mut(HASH) {
            *hash = json!("a hash");
        }
        let issued = name.starts_with("Secret ") || name == "ConfigMap cloud-controller-manager-serving-ca-bundle";
        let data = object.get_mut("data").and_then(Value::as_object_mut);
        for text in data
            .filter(|_| issued)
            .into_iter()
            .flat_map(serde_json::Map::values_mut)
        {
            if *text != MINE && *text != MINE_ENCODED {
                *text = json!("issued");
            }
        }
    }
    snapshot
}
