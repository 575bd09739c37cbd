//! Conditions of a Node.

use k8s_openapi::api::core::v1::{Node, NodeCondition};

/// Reports why a Node cannot be initialized. Only such Nodes have it.
pub const CLOUD_PROVIDER_INITIALIZED: &str = "CloudProviderInitialized";

/// Reports whether the pods of a Node can be reached.
pub const NETWORK_UNAVAILABLE: &str = "NetworkUnavailable";

/// The status of the `Ready` condition; a Node without one is `Unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// The kubelet is ready.
    True,
    /// The kubelet is not ready.
    False,
    /// The kubelet does not report.
    Unknown,
}

/// The first condition of this type.
#[must_use]
pub fn find<'a>(node: &'a Node, type_: &str) -> Option<&'a NodeCondition> {
    let conditions = node
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default();
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the Node is ready.
#[must_use]
pub fn ready(node: &Node) -> Ready {
    match find(node, "Ready").map(|condition| condition.status.as_str()) {
        Some("True") => Ready::True,
        Some("False") => Ready::False,
        _ => Ready::Unknown,
    }
}
