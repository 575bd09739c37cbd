//! Pods of managers, whether or not their resource exists: Pods outlive it for as long as they take to terminate.
//!
//! No finalizer keeps the resource for that time. It would keep it, and its definition, forever if the operator was uninstalled first, and would
//! not know of orphaned Pods. So the Pods themselves have their claim as an annotation.

use crate::standalone::{names, observe::Managers, operator::Operator};
use crate::{Unread, cache::Resource};
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams},
};
use operator_api::{CloudControllerManager, cloud_controller_manager::Claim};
use runtime::client::explain;
use serde_json::{Value, json};

/// The claim of Pods: on them, and in the templates that they are created from.
const CLAIM: &str = "outrigger.dev/claim";

/// The kinds that are listed, in this order: each creates the next, so an object that is missing in one list, because it was about to be
/// created, is in an earlier one.
const KINDS: [(&str, &str, &str); 3] = [
    ("apps/v1", "Deployment", "deployments"),
    ("apps/v1", "ReplicaSet", "replicasets"),
    ("v1", "Pod", "pods"),
];

/// A Pod of a manager, or an object that creates such Pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The name of the manager.
    pub manager: String,
    /// The object.
    pub what: String,
    /// Its claim; `None` if it has none.
    pub claim: Option<Claim>,
}

impl Leftover {
    /// The leftover that an object is; `None` if it runs no Pods.
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
    /// The leftovers, or why they are not known. They are only read if a manager has to be started or changed.
    pub(in crate::standalone) async fn leftovers(&self, managers: &Managers) -> Result<Vec<Leftover>, Unread> {
        let mut all = Vec::new();
        if managers.all_settled() {
            return Ok(all);
        }
        for (api_version, kind, plural) in KINDS {
            let resource = Resource::new(api_version, kind, plural);
            let found = list(&self.clients.read, &self.settings.namespace, &resource).await?;
            all.extend(found.iter().filter_map(|object| Leftover::of(kind, object)));
        }
        Ok(all)
    }
}

/// Writes the claim on the template of Pods.
pub(in crate::standalone) fn mark(template: &mut Value, manager: &CloudControllerManager) {
    template["metadata"]["annotations"][CLAIM] = json!(json!(Claim::of(&manager.spec)).to_string());
}

/// Reads the current objects, not cached ones.
async fn list(client: &Client, namespace: &str, resource: &Resource) -> Result<Vec<Value>, Unread> {
    let cannot = |reason: String| Unread(format!("cannot list {}: {reason}", resource.plural));
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
    #[case::an_unreadable_claim("Pod", object(&json!({}), &json!(null), &json!({CLAIM: "?"}), &json!({})), "unknown")]
    #[case::an_owner_of_pods("ReplicaSet", object(&json!({}), &json!(2), &json!({}), &claim()), "10300")]
    #[case::of_an_earlier_revision("ReplicaSet", object(&json!({}), &json!(0), &json!({}), &claim()), "nothing")]
    #[case::a_deployment("Deployment", object(&json!({}), &json!(1), &json!({}), &claim()), "10300")]
    fn has_the_claim_of_its_manager(#[case] kind: &str, #[case] object: Value, #[case] port: &str) {
        let found = Leftover::of(kind, &object);
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
