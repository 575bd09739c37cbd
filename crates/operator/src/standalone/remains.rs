//! What runs, whatever the resources say: Pods outlive the resource that they were made for, for as long as they take to end.
//!
//! No finalizer keeps the resource for that time. One would keep it, and its definition, for ever where the operator was uninstalled first; and would not
//! know of Pods that somebody has orphaned. What is there itself says what it looks after.

use super::{names, observe::Managers, pass::Operator};
use crate::watching::Resource;
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams},
};
use operator_api::{CloudControllerManager, cloud_controller_manager::Claim};
use runtime::client::explain;
use serde_json::{Value, json};

/// What Pods look after: it is on them, and in the templates that they are made from.
const CLAIM: &str = "outrigger.dev/claim";

/// What runs, in this order: each makes the next, so what is missing in one list because it was only about to be made is in an earlier one.
const KINDS: [(&str, &str, &str); 3] = [
    ("apps/v1", "Deployment", "deployments"),
    ("apps/v1", "ReplicaSet", "replicasets"),
    ("v1", "Pod", "pods"),
];

/// A Pod of a manager, or something that makes such Pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// The name of the manager.
    pub manager: String,
    /// Which object.
    pub what: String,
    /// What it looks after; `None` if it does not say.
    pub claim: Option<Claim>,
}

impl Remains {
    /// What an object is of a manager; `None` if nothing runs because of it.
    fn of(kind: &str, object: &Value) -> Option<Self> {
        let (metadata, template) = (&object["metadata"], &object["spec"]["template"]["metadata"]);
        let (is_over, annotations) = match kind {
            "Pod" => {
                let phase = object["status"]["phase"].as_str().unwrap_or_default();
                (matches!(phase, "Succeeded" | "Failed"), &metadata["annotations"])
            }
            _ => (object["spec"]["replicas"] == 0, &template["annotations"]),
        };
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let claim = annotations[CLAIM].as_str().map(serde_json::from_str);
        (!is_over).then(|| Self {
            manager: text(&metadata["labels"][names::INSTANCE]),
            what: format!("{kind} {}/{}", text(&metadata["namespace"]), text(&metadata["name"])),
            claim: claim.and_then(Result::ok),
        })
    }
}

impl Operator {
    /// What runs, or why nobody knows. Nobody asks unless there is a manager to be started or changed.
    pub(super) async fn remains(&self, managers: &Managers) -> Result<Vec<Remains>, String> {
        let mut all = Vec::new();
        if managers.all_settled() {
            return Ok(all);
        }
        for (api_version, kind, plural) in KINDS {
            let resource = Resource::new(api_version, kind, plural);
            let found = list(&self.hands.eyes, &self.namespace, &resource).await?;
            all.extend(found.iter().filter_map(|object| Remains::of(kind, object)));
        }
        Ok(all)
    }
}

/// Writes on Pods, before they are made, what they will look after.
pub(super) fn mark(template: &mut Value, manager: &CloudControllerManager) {
    template["metadata"]["annotations"][CLAIM] = json!(json!(Claim::of(&manager.spec)).to_string());
}

/// As it is now, not as it was seen last.
async fn list(client: &Client, namespace: &str, resource: &Resource) -> Result<Vec<Value>, String> {
    let cannot = |reason: String| format!("cannot list {}: {reason}", resource.plural);
    let kind = resource.api().map_err(|error| cannot(error.to_string()))?;
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
    let found = api.list(&ListParams::default().labels(&names::of_all())).await;
    let found = found.map_err(|error| cannot(explain(&error)))?;
    let values = found.items.iter().map(serde_json::to_value);
    values
        .collect::<Result<_, _>>()
        .map_err(|error| cannot(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn object(status: &Value, replicas: &Value, pod: &Value, template: &Value) -> Value {
        json!({
            "metadata": {"name": "x", "namespace": "ns", "labels": {"app.kubernetes.io/instance": "a"}, "annotations": pod},
            "spec": {"replicas": replicas, "template": {"metadata": {"annotations": template}}},
            "status": status,
        })
    }

    fn claim() -> Value {
        json!({ CLAIM: json!({"provider": "memory", "securePort": 10300}).to_string() })
    }

    #[rstest]
    #[case::a_pod("Pod", object(&json!({"phase": "Running"}), &json!(null), &claim(), &json!({})), "10300")]
    #[case::a_pod_that_is_not_started("Pod", object(&json!({}), &json!(null), &claim(), &json!({})), "10300")]
    #[case::a_pod_that_was_evicted("Pod", object(&json!({"phase": "Failed"}), &json!(null), &claim(), &json!({})), "nothing")]
    #[case::a_pod_of_an_earlier_operator("Pod", object(&json!({}), &json!(null), &json!({}), &json!({})), "unknown")]
    #[case::a_claim_of_another_time("Pod", object(&json!({}), &json!(null), &json!({CLAIM: "?"}), &json!({})), "unknown")]
    #[case::what_makes_pods("ReplicaSet", object(&json!({}), &json!(2), &json!({}), &claim()), "10300")]
    #[case::of_an_earlier_revision("ReplicaSet", object(&json!({}), &json!(0), &json!({}), &claim()), "nothing")]
    #[case::a_deployment("Deployment", object(&json!({}), &json!(1), &json!({}), &claim()), "10300")]
    fn says_what_it_looks_after(#[case] kind: &str, #[case] object: Value, #[case] port: &str) {
        let found = Remains::of(kind, &object);
        let ports = found.as_ref().map_or("nothing".to_owned(), |found| {
            let claim = found.claim.as_ref();
            claim.map_or("unknown".to_owned(), |claim| claim.secure_port.to_string())
        });
        assert_eq!(ports, port);
        if let Some(found) = found {
            assert_eq!((found.manager.as_str(), found.what), ("a", format!("{kind} ns/x")));
        }
    }
}
