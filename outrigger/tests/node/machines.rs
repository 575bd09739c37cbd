//! The cluster's nodes: the one that is a machine, and others that exist only as objects.

use crate::fixture::Fixture;
use serde_json::{Value, json};

const TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized";

impl Fixture {
    /// The name of the node that is a machine.
    pub fn machine(&self) -> &str {
        self.cluster.node.name()
    }

    /// Waits until a manager has initialized the machine, with a provider ID that begins like this.
    pub async fn initialised(&self, prefix: &str) {
        self.initialised_node(self.machine(), prefix).await;
        let addresses = self.node(self.machine()).await["status"]["addresses"].to_string();
        assert!(addresses.contains(&self.ip.to_string()), "{addresses}");
    }

    /// The same for any node.
    pub async fn initialised_node(&self, name: &str, prefix: &str) {
        let look = async || {
            let node = self.node(name).await;
            let id = node["spec"]["providerID"].as_str().unwrap_or_default();
            if !is_tainted(&node) && id.starts_with(prefix) {
                return Ok(());
            }
            Err(format!("{:#}", node["spec"]))
        };
        self.until(&format!("the node {name} to be initialised"), look).await;
    }

    /// No manager has initialized the node.
    pub async fn assert_uninitialised(&self, name: &str) {
        let node = self.node(name).await;
        let untouched = is_tainted(&node) && node["spec"]["providerID"].is_null();
        assert!(untouched, "{name}: {:#}", node["spec"]);
    }

    /// Taints the machine again, so that it waits for a manager; its provider ID is kept.
    pub fn taint(&self) {
        self.run(&format!(
            "kubectl taint node {} {TAINT}=true:NoSchedule",
            self.machine()
        ));
    }

    /// The machine still waits.
    pub async fn assert_tainted(&self) {
        let node = self.node(self.machine()).await;
        assert!(is_tainted(&node), "{:#}", node["spec"]);
    }

    /// The machine joins again, as if for the first time.
    pub async fn renew_node(&self) {
        self.cluster.node.stop_kubelet();
        self.run(&format!("kubectl delete node {}", self.machine()));
        self.cluster.node.start_kubelet().unwrap();
        let look = async || {
            let node = self.node(self.machine()).await;
            let conditions = node["status"]["conditions"].as_array();
            let ready = conditions.is_some_and(|all| {
                all.iter()
                    .any(|each| each["type"] == "Ready" && each["status"] == "True")
            });
            ready.then_some(()).ok_or_else(|| node.to_string())
        };
        self.until("the node to be back", look).await;
        self.give_role().await;
        self.assert_uninitialised(self.machine()).await;
    }

    /// Like an installer for a machine of the control plane.
    pub async fn give_role(&self) {
        let labels = json!({"node-role.kubernetes.io/control-plane": "", "node-role.kubernetes.io/master": ""});
        self.label(labels).await;
    }

    /// Labels the machine.
    pub async fn label(&self, labels: Value) {
        let path = format!("/api/v1/nodes/{}", self.machine());
        self.patch(&path, json!({"metadata": {"labels": labels}})).await;
    }

    /// A node joins and then stops reporting: no Pods run on it, and a manager checks in its cloud whether it still exists.
    pub async fn join(&self, name: &str, labels: Value) {
        self.apply(&[json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "spec": {"taints": [{"key": TAINT, "value": "true", "effect": "NoSchedule"}]},
        })]);
        let silent = json!({"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "nothing is heard of it"});
        let path = format!("/api/v1/nodes/{name}/status");
        self.patch(&path, json!({"status": {"conditions": [silent]}})).await;
    }

    async fn node(&self, name: &str) -> Value {
        self.find(&format!("/api/v1/nodes/{name}")).await.unwrap_or_default()
    }
}

fn is_tainted(node: &Value) -> bool {
    let taints = node["spec"]["taints"].as_array();
    taints.is_some_and(|taints| taints.iter().any(|taint| taint["key"] == TAINT))
}
