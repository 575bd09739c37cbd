//! Managers on plain Kubernetes: their objects, and whether they work.

use crate::fixture::{Fixture, condition};
use serde_json::Value;

/// The namespace of the operator and its managers.
pub const NAMESPACE: &str = "outrigger-system";
/// The objects that configure managers.
pub const OBJECTS: &str = "/apis/outrigger.dev/v1alpha1/cloudcontrollermanagers";

/// The selector of a manager's Pods.
pub fn labels(name: &str) -> String {
    format!("app.kubernetes.io/instance%3D{name}")
}

/// A manager's Pods.
pub fn pods(name: &str) -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={}", labels(name))
}

/// A manager's Deployment.
pub fn deployment(name: &str) -> String {
    format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}-cloud-controller-manager")
}

/// Waits until the object reports that the manager runs, and returns it.
pub async fn works(fixture: &Fixture, name: &str) -> Value {
    let path = format!("{OBJECTS}/{name}");
    let look = async || {
        let object = fixture.find(&path).await.unwrap();
        let status = &object["status"];
        let conditions = ["Available", "Progressing", "Degraded"].map(|type_| condition(&object, type_));
        let well = conditions
            .iter()
            .zip(["True", "False", "False"])
            .all(|(condition, truth)| condition.starts_with(truth));
        let current = status["observedGeneration"] == object["metadata"]["generation"];
        if well && current && status["readyReplicas"] == 1 {
            return Ok(object);
        }
        Err(format!("{conditions:#?}"))
    };
    let what = format!("CloudControllerManager {name} to be well");
    let object = fixture.until(&what, look).await;
    let version = object["status"]["version"].as_str().unwrap_or_default();
    assert!(!version.is_empty(), "{object}");
    object
}
