//! The permissions of `deploy/kubernetes/operator.yaml`.

use super::{Account, Rule, Scenario, apply};
use crate::{
    objects::deployment,
    process_fixture::Manager,
    standalone::cluster::{Cluster, scope},
};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

const MANIFEST: &str = include_str!("../../../../deploy/kubernetes/operator.yaml");
/// The namespace in the manifest.
const NAMESPACE: &str = "outrigger-system";

/// The spec of the manager in the end.
fn spec() -> Value {
    let map = json!({"configMap": {"name": "cloud"}});
    json!({"provider": "openstack", "cloudConfig": map, "scope": scope("west")})
}

impl Scenario for Cluster {
    /// At its start the operator checks whether this is `OpenShift`; a denial is expected.
    const EXPECTED: &[&str] = &["get apiservers /cluster", "get infrastructures /cluster"];
    const REASONS: &[(&str, &str)] = &[
        ("tokenreviews", "used for clients that read the metrics"),
        ("subjectaccessreviews", "used for clients that read the metrics"),
        ("bind ", "no request of its own: it is looked at when a binding is made"),
    ];

    fn is_passed_on(rule: &Rule) -> bool {
        let of_managers = ["nodes", "nodes/status", "services", "services/status"];
        rule.namespace.is_empty() && rule.is_about(&of_managers)
    }

    /// For the namespace of this cluster.
    fn manifest(&self) -> String {
        MANIFEST.replace(NAMESPACE, &self.namespace)
    }

    async fn grant(&self) {
        let all = serde_saphyr::from_multiple::<Value>(&self.manifest()).unwrap();
        for object in all.iter().map(Value::to_string) {
            if object.contains("rbac.authorization.k8s.io/v1") {
                apply(self, &[&object], |_| {}).await;
            }
        }
    }

    fn account(&self) -> Account<'_> {
        Account {
            fixture: self,
            namespace: &self.namespace,
            name: "outrigger-operator",
        }
    }

    fn start(&self) -> Manager {
        self.operator_as(&self.account().kubeconfig()).start()
    }

    async fn live(&self, operator: &Manager) {
        self.config("cloud", "{}").await;
        let mut first = spec();
        first["provider"] = json!("memory");
        self.manager("lab", first).await;
        self.installed(operator, "lab").await;
        // Every operand is recreated, and every one is deleted in the end.
        self.manager("lab", spec()).await;
        self.installed(operator, "lab").await;

        // The operator reads the Pods to report why none runs.
        let api = self.api(&deployment(), &self.namespace);
        let none = json!({"status": {"readyReplicas": 0, "availableReplicas": 0}});
        let name = "lab-cloud-controller-manager";
        api.patch_status(name, &PatchParams::default(), &Patch::Merge(&none))
            .await
            .unwrap();
        let why = format!(
            "Available=False NothingRuns Deployment {}/{name}: 0 of 2 Pods available",
            self.namespace
        );
        self.reports(operator, "lab", &[why.as_str(), "Degraded=False"]).await;
        self.delete(&deployment(), &self.namespace, name).await;
        self.reports(operator, "lab", &["Progressing=True RollingOut"]).await;
    }

    async fn remove(&self, operator: &Manager) {
        let mut gone = spec();
        gone["managementState"] = json!("Removed");
        self.manager("lab", gone).await;
        self.removed(operator, "lab").await;
    }
}
