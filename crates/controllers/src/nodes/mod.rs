//! What the node controllers share: how to read a Node, how to ask the cloud about it, and how to patch it.

pub mod addresses;
pub mod api;
mod ask;
pub mod conditions;
pub mod labels;
pub mod patch;
#[cfg(test)]
pub(crate) mod rig;
pub mod scope;
pub mod taints;
pub(crate) mod tally;
mod trim;

pub use ask::{ask, failed_as_a_whole};
pub use scope::Scope;
pub use trim::trim;

use cloud::{NodeRef, ProviderId};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, ObjectReference};
use std::time::Duration;

/// What a provider is told about a Node.
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

/// The name; empty only for an object that did not come from an API server.
#[must_use]
pub fn name(node: &Node) -> &str {
    node.metadata.name.as_deref().unwrap_or_default()
}

/// The UID: another Node of the same name has another.
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

/// The ranges that its pods have their addresses from.
#[must_use]
pub fn pod_cidrs(node: &Node) -> &[String] {
    node.spec
        .as_ref()
        .and_then(|spec| spec.pod_cidrs.as_deref())
        .unwrap_or_default()
}

/// How long ago the Node was created; no time at all if its clock is ahead of ours, nothing if it does not say.
#[must_use]
pub fn age(node: &Node, now: Timestamp) -> Option<Duration> {
    let created = node.metadata.creation_timestamp.as_ref()?.0;
    Some(Duration::try_from(now.duration_since(created)).unwrap_or_default())
}

/// The Node as an event refers to it.
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
