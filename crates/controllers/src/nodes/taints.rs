//! Taints of a Node. Two taints are equal if their keys and effects are; values are not compared.

use k8s_openapi::api::core::v1::{Node, Taint};

/// Set by a kubelet with `--cloud-provider=external`, and removed when the Node is initialized.
pub const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// Set while the instance is shut down.
pub const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// The shutdown taint.
#[must_use]
pub fn shutdown() -> Taint {
    Taint {
        key: SHUTDOWN.into(),
        effect: "NoSchedule".into(),
        ..Taint::default()
    }
}

/// The taints of the Node.
#[must_use]
pub fn of(node: &Node) -> &[Taint] {
    node.spec
        .as_ref()
        .and_then(|spec| spec.taints.as_deref())
        .unwrap_or_default()
}

/// Whether the list has this taint.
#[must_use]
pub fn contains(taints: &[Taint], taint: &Taint) -> bool {
    taints.iter().any(|other| same(other, taint))
}

/// The positions of this taint in the list.
#[must_use]
pub fn positions(taints: &[Taint], taint: &Taint) -> Vec<usize> {
    taints
        .iter()
        .enumerate()
        .filter(|(_, other)| same(other, taint))
        .map(|(index, _)| index)
        .collect()
}

/// The positions of taints with this key, whatever their effect.
#[must_use]
pub fn positions_of_key(taints: &[Taint], key: &str) -> Vec<usize> {
    taints
        .iter()
        .enumerate()
        .filter(|(_, taint)| taint.key == key)
        .map(|(index, _)| index)
        .collect()
}

/// Whether the Node has a taint with this key, whatever its effect.
#[must_use]
pub fn has_key(node: &Node, key: &str) -> bool {
    of(node).iter().any(|taint| taint.key == key)
}

/// Whether the Node is not initialized yet.
#[must_use]
pub fn is_uninitialized(node: &Node) -> bool {
    has_key(node, UNINITIALIZED)
}

fn same(a: &Taint, b: &Taint) -> bool {
    a.key == b.key && a.effect == b.effect
}
