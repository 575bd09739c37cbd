//! The environment of the operator on a real API server: the same on `OpenShift` and standalone.

use crate::{
    control_planes::Plane,
    objects::{self, kind},
    process_fixture::{Entry, Folder, Mark},
    workloads, writes,
};
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams},
};
use lab::ControlPlane;
use serde_json::{Value, json};
use std::time::Duration;

/// A control plane, and everything that the operator needs to start.
pub struct Fixture {
    plane: Plane,
    /// An administrator's client.
    pub client: Client,
    /// The namespace of the operands.
    pub namespace: String,
    /// For the files of the operator.
    pub folder: Folder,
}

/// The place of an object.
pub struct Place {
    pub resource: ApiResource,
    pub namespace: String,
    pub name: String,
}

impl Place {
    /// Whether the object is of this kind.
    pub fn is(&self, kind: &str) -> bool {
        self.resource.kind == kind
    }

    /// Kind and name, as in a snapshot.
    pub fn title(&self) -> String {
        format!("{} {}", self.resource.kind, self.name)
    }
}

impl Fixture {
    /// On this control plane, with the operands in this namespace.
    pub fn on(plane: Plane, namespace: &str) -> Self {
        Self {
            client: plane.client(),
            namespace: namespace.to_owned(),
            folder: Folder::new(&lab::unique("operator")),
            plane,
        }
    }

    /// The control plane.
    pub fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// Whether a test has used the control plane before.
    pub fn is_used(&self) -> bool {
        self.plane.used
    }

    /// The objects of a kind.
    pub fn api(&self, resource: &ApiResource, namespace: &str) -> Api<DynamicObject> {
        objects::api(&self.client, resource, namespace)
    }

    /// Creates an object, or updates it to be like this.
    pub async fn apply(&self, resource: &ApiResource, namespace: &str, name: &str, content: Value) -> DynamicObject {
        objects::apply(&self.api(resource, namespace), resource, name, content).await
    }

    /// Updates an object as a user would with `kubectl edit`.
    pub async fn edit(&self, resource: &ApiResource, namespace: &str, name: &str, patch: Value) {
        let params = PatchParams {
            field_manager: Some("kubectl-edit".to_owned()),
            ..PatchParams::default()
        };
        let edited = self
            .api(resource, namespace)
            .patch(name, &params, &Patch::Merge(&patch))
            .await;
        edited.unwrap_or_else(|error| panic!("cannot edit {} {name}: {error}", resource.kind));
    }

    /// An object as JSON.
    pub async fn get(&self, resource: &ApiResource, namespace: &str, name: &str) -> Option<Value> {
        let found = self.api(resource, namespace).get_opt(name).await.unwrap();
        found.map(|object| serde_json::to_value(object).unwrap())
    }

    /// Deletes an object; its dependents may outlive it.
    pub async fn delete(&self, resource: &ApiResource, namespace: &str, name: &str) {
        let api = self.api(resource, namespace);
        let deleted = api.delete(name, &DeleteParams::background()).await;
        deleted.unwrap_or_else(|error| panic!("cannot delete {} {name}: {error}", resource.kind));
    }

    /// The end of the audit log.
    pub fn mark(&self) -> Mark {
        Mark::end_of(&self.plane.audit_log())
    }

    /// The operator's requests since then, apart from Leases and Events.
    pub fn requests_since(&self, mark: Mark) -> Vec<Entry> {
        writes::requests_since(&self.plane, mark)
    }

    /// The operator's writes since then, apart from Leases and Events: `verb resource name`.
    pub fn writes_since(&self, mark: Mark) -> Vec<String> {
        writes::writes_since(&self.plane, mark)
    }

    /// Waits until the operator has not written anything for a while, in which it had time to write.
    pub async fn settled(&self) {
        self.quiet(writes::A_WHILE).await;
    }

    /// Waits until the operator has not written anything for this time.
    pub async fn quiet(&self, time: Duration) {
        writes::quiet(&self.plane, time).await;
    }

    /// Sets the status of every workload as its controller would: this many of its Pods are available.
    pub async fn roll_out(&self, available: i64) {
        workloads::roll_out(&self.client, &self.namespace, available).await;
    }

    /// Deletes, as the garbage collector does, the workloads that are deleted together with their Pods.
    pub async fn collect_garbage(&self) {
        workloads::collect_garbage(&self.client, &self.namespace).await;
    }

    /// A token of an account that may read metrics, and nothing else.
    pub async fn metrics_token(&self) -> String {
        let (account, role, namespace) = ("prometheus", "metrics-reader", &self.namespace);
        let accounts = kind("ServiceAccount");
        self.apply(&accounts, namespace, account, json!({})).await;
        let rules = json!({"rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]});
        self.apply(&kind("ClusterRole"), "", role, rules).await;
        let binding = json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        });
        let bindings = kind("ClusterRoleBinding");
        self.apply(&bindings, "", role, binding).await;
        objects::token(&self.client, namespace, account).await
    }
}
