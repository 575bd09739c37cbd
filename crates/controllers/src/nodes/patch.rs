//! Patches of a Node. Each fails as a whole if the Node is not the one it was made for.

use super::{labels::Changes, taints};
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeCondition, Taint};
use kube::api::Patch;
use serde_json::{Value, json};

/// A strategic merge patch of `nodes/status`.
///
/// It carries the UID, which nobody can change: on another Node of the same name the API server refuses it.
#[derive(Debug, Clone, PartialEq)]
pub struct Status(Value);

impl Status {
    /// A patch of this Node that changes nothing yet.
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

    /// Sets one condition; the others stay.
    #[must_use]
    pub fn condition(mut self, condition: &NodeCondition) -> Self {
        self.0["status"]["conditions"] = json!([condition]);
        self
    }

    /// Removes one condition; the others stay.
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
/// Taints are an atomic list, so removing one means writing all. Instead of insisting on a `resourceVersion`, which
/// every heartbeat changes, it tests exactly what it builds on: the UID and the taints that it removes.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec<'a> {
    node: &'a Node,
    operations: Vec<Value>,
}

impl<'a> Spec<'a> {
    /// A patch of this Node that changes nothing yet.
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

    /// Removes the taints at these positions, in ascending order, of the Node.
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

    /// Adds a taint that the Node does not have; the API server refuses a second one with its key and effect.
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
    #[expect(clippy::missing_panics_doc, reason = "all operations are made here")]
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
