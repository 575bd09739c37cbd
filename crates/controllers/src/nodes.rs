//! What the node controllers share: how to read a Node, how to look up its instance in the cloud, and how to patch it.

pub mod addresses;
pub mod conditions;
mod describe;
#[cfg(test)]
pub(crate) mod fixture;
pub mod labels;
pub mod patch;
pub mod scope;
pub mod taints;
pub(crate) mod write_summary;

pub use crate::trim::node as trim;
pub use describe::{describe, outage};
pub use scope::Scope;

use cloud::{NodeRef, ProviderId};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, ObjectReference};
use std::time::Duration;

/// The Node as a provider sees it.
#[must_use]
pub fn node_ref(node: &Node) -> NodeRef {
    let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
    NodeRef {
        name: name(node).to_owned(),
        provider_id: provider_id(node),
        system_uuid: info
            .map(|info| info.system_uuid.clone())
            .filter(|uuid| !uuid.is_empty()),
        addresses: addresses::to_cloud(node).collect(),
        labels: node.metadata.labels.clone().unwrap_or_default(),
        annotations: node.metadata.annotations.clone().unwrap_or_default(),
    }
}

/// The name; empty only for a Node that does not come from an API server.
#[must_use]
pub fn name(node: &Node) -> &str {
    node.metadata.name.as_deref().unwrap_or_default()
}

/// The UID, which distinguishes Nodes of the same name.
#[must_use]
pub fn uid(node: &Node) -> &str {
    node.metadata.uid.as_deref().unwrap_or_default()
}

/// `spec.providerID`, if there is one.
#[must_use]
pub fn provider_id(node: &Node) -> Option<ProviderId> {
    node.spec
        .as_ref()
        .and_then(|spec| ProviderId::parse(spec.provider_id.clone()?))
}

/// `spec.podCIDRs`.
#[must_use]
pub fn pod_cidrs(node: &Node) -> &[String] {
    node.spec
        .as_ref()
        .and_then(|spec| spec.pod_cidrs.as_deref())
        .unwrap_or_default()
}

/// The age of the Node: zero if it was created in the future by our clock, `None` without a creation timestamp.
#[must_use]
pub fn age(node: &Node, now: Timestamp) -> Option<Duration> {
    let created = node.metadata.creation_timestamp.as_ref()?.0;
    Some(Duration::try_from(now.duration_since(created)).unwrap_or_default())
}

/// The reference to the Node in events.
#[must_use]
pub fn reference(node: &Node) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".into()),
        kind: Some("Node".into()),
        name: node.metadata.name.clone(),
        uid: node.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

#[cfg(test)]
mod tests;
