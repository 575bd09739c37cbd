//! Admission policies that reject an object of a namespace.

use crate::{fixture::Fixture, objects::kind};
use kube::api::{ApiResource, DynamicObject, PostParams};
use serde_json::{Value, json};

/// Rejects all new Services.
pub async fn refuse_services(world: &Fixture) {
    let service = json!({"spec": {"ports": [{"port": 1}]}});
    refuse(world, &kind("Service"), &["CREATE"], service).await;
}

/// Refuses these operations, CREATE among them, on objects of a kind, and waits until an object like this one is refused.
pub async fn refuse(world: &Fixture, resource: &ApiResource, operations: &[&str], object: Value) {
    let policies = kind("ValidatingAdmissionPolicy");
    let rule = json!({
        "apiGroups": [resource.group], "apiVersions": [resource.version], "operations": operations,
        "resources": [resource.plural],
    });
    let policy = json!({"spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "false", "message": format!("no {}s on Mondays", resource.kind)}],
    }});
    let name = name(resource);
    world.apply(&policies, "", &name, policy).await;
    let binding = json!({"spec": {
        "policyName": name, "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.namespace}}},
    }});
    world.apply(&bindings(), "", &name, binding).await;
    refused(world, resource, object).await;
}

/// Waits until the API server refuses to create an object like this one.
pub async fn refused(world: &Fixture, resource: &ApiResource, mut object: Value) {
    object["apiVersion"] = json!(resource.api_version);
    object["kind"] = json!(resource.kind);
    object["metadata"] = json!({"name": "try"});
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let api = world.api(resource, &world.namespace);
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    testkit::wait::until("a refusal", async || match api.create(&dry, &object).await {
        Ok(_) => Err("it is not in force".to_owned()),
        Err(_) => Ok(()),
    })
    .await;
}

/// Reverts [`refuse`].
pub async fn allow(world: &Fixture, resource: &ApiResource) {
    world.delete(&bindings(), "", &name(resource)).await;
}

fn name(resource: &ApiResource) -> String {
    format!("no-{}.lab", resource.plural)
}

fn bindings() -> ApiResource {
    kind("ValidatingAdmissionPolicyBinding")
}
