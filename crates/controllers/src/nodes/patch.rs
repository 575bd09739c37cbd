//! Patches of a Node. Each is applied as a whole, and only to the Node that it was computed from.

use super::{labels::Changes, taints};
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeCondition, Taint};
use kube::api::Patch;
use serde_json::{Value, json};

/// A strategic merge patch of `nodes/status`.
///
/// It contains the UID, which is immutable: the API server refuses the patch for another Node of the same name.
#[derive(Debug, Clone, PartialEq)]
pub struct Status(Value);

impl Status {
    /// An empty patch of this Node.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        Self(json!({ "metadata": { "uid": node.metadata.uid }, "status": {} }))
    }

    /// Replaces all addresses.
    ///
    /// The directive is needed because the API declares addresses mergeable by type, although one type may have many.
    #[must_use]
    pub fn addresses(mut self, addresses: &[NodeAddress]) -> Self {
        let replace = std::iter::once(json!({ "$patch": "replace" }));
        self.0["status"]["addresses"] = addresses.iter().map(|address| json!(address)).chain(replace).collect();
        self
    }

    /// Sets one condition, and keeps the others.
    #[must_use]
    pub fn condition(mut self, condition: &NodeCondition) -> Self {
        self.0["status"]["conditions"] = json!([condition]);
        self
    }

    /// Removes one condition, and keeps the others.
    #[must_use]
    pub fn without_condition(mut self, type_: &str) -> Self {
        self.0["status"]["conditions"] = json!([{ "$patch": "delete", "type": type_ }]);
        self
    }

    /// The patch to send.
    #[must_use]
    pub fn build(self) -> Patch<Value> {
        Patch::Strategic(self.0)
    }
}

/// A JSON patch of `nodes`.
///
/// Taints are an atomic list: without a precondition, a patch could remove a taint that another client has just added. A
/// `resourceVersion` would change with every heartbeat, so the patch tests what it depends on: the UID, and the taints
/// that it removes.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec<'a> {
    node: &'a Node,
    operations: Vec<Value>,
}

impl<'a> Spec<'a> {
    /// An empty patch of this Node.
    #[must_use]
    pub fn of(node: &'a Node) -> Self {
        let operations = vec![test("/metadata/uid", &json!(node.metadata.uid))];
        Self { node, operations }
    }

    /// Sets `spec.providerID`.
    #[must_use]
    pub fn provider_id(mut self, id: &str) -> Self {
        self.operations.push(add("/spec/providerID", &json!(id)));
        self
    }

    /// Sets and removes labels.
    #[must_use]
    pub fn labels(mut self, changes: &Changes) -> Self {
        if changes.is_empty() {
            return self;
        }
        if self
            .node
            .metadata
            .labels
            .as_ref()
            .is_none_or(std::collections::BTreeMap::is_empty)
        {
            self.operations.push(test("/metadata/labels", &Value::Null));
            self.operations.push(add("/metadata/labels", &json!({})));
        }
        for (key, value) in changes {
            let path = format!("/metadata/labels/{}", escape(key));
            self.operations.push(match value {
                Some(value) => add(&path, &json!(value)),
                None => remove(&path),
            });
        }
        self
    }

    /// Removes the Node's taints at these positions, which are in ascending order.
    #[must_use]
    pub fn without_taints(mut self, positions: &[usize]) -> Self {
        let taints = taints::of(self.node);
        for (index, taint) in positions
            .iter()
            .rev()
            .filter_map(|&index| Some((index, taints.get(index)?)))
        {
            let path = format!("/spec/taints/{index}");
            self.operations.push(test(&format!("{path}/key"), &json!(taint.key)));
            self.operations
                .push(test(&format!("{path}/effect"), &json!(taint.effect)));
            self.operations.push(remove(&path));
        }
        self
    }

    /// Adds a taint that the Node does not have. The API server rejects a second taint with the same key and effect.
    #[must_use]
    pub fn with_taint(mut self, taint: &Taint) -> Self {
        if taints::of(self.node).is_empty() {
            self.operations.push(test("/spec/taints", &Value::Null));
            self.operations.push(add("/spec/taints", &json!([taint])));
        } else {
            self.operations.push(add("/spec/taints/-", &json!(taint)));
        }
        self
    }

    /// The operations.
    #[must_use]
    pub fn operations(&self) -> &[Value] {
        &self.operations
    }

    /// The patch to send.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "all operations are built here")]
    pub fn build(self) -> Patch<Value> {
        Patch::Json(
            serde_json::from_value(Value::Array(self.operations)).expect("test, add and remove are JSON patches"),
        )
    }
}

fn test(path: &str, value: &Value) -> Value {
    json!({ "op": "test", "path": path, "value": value })
}

fn add(path: &str, value: &Value) -> Value {
    json!({ "op": "add", "path": path, "value": value })
}

fn remove(path: &str) -> Value {
    json!({ "op": "remove", "path": path })
}

/// Escapes a key for a JSON pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests;
