//! What kubelets and the node lifecycle controller write: the demo has none of them.

use anyhow::Result;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;

/// A machine joins: its kubelet creates the Node, with the taint that the cloud controller manager removes.
pub async fn join(client: &Client, name: &str) -> Result<()> {
    let node = serde_json::from_value(json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"taints": [{
            "key": "node.cloudprovider.kubernetes.io/uninitialized",
            "value": "true",
            "effect": "NoSchedule",
        }]},
    }))?;
    Api::<Node>::all(client.clone())
        .create(&PostParams::default(), &node)
        .await?;
    ready(client, name, "True").await
}

/// Sets the condition Ready: `True`, or `Unknown` for a node whose kubelet no longer reports.
pub async fn ready(client: &Client, name: &str, status: &str) -> Result<()> {
    let patch =
        json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": "Demo", "message": "demo"}]}});
    Api::<Node>::all(client.clone())
        .patch_status(name, &PatchParams::default(), &Patch::Strategic(patch))
        .await?;
    Ok(())
}
