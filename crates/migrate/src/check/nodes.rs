//! The Nodes, as far as the API has them.

use super::{Finding, components::on};
use crate::{
    Cluster,
    cluster::{Now, in_tree},
    table,
};
use k8s_openapi::api::core::v1::Node;
use std::collections::BTreeMap;

/// The taint of a node that waits for a manager.
pub(super) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

pub(super) fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    let nodes = &cluster.snapshot.nodes;
    if nodes.is_empty() {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = [uninitialized(cluster), without_id(cluster)]
        .into_iter()
        .flatten()
        .collect();
    findings.extend(twice(nodes));
    if findings.is_empty() {
        findings.push(Finding::ok(
            "Nodes",
            format!(
                "{}, all initialized, each with a provider ID of its own",
                table::count(nodes.len(), "node")
            ),
        ));
    }
    findings
}

fn uninitialized(cluster: &Cluster<'_>) -> Option<Finding> {
    let waiting: Vec<&str> = cluster
        .snapshot
        .nodes
        .iter()
        .filter(|node| is_uninitialized(node))
        .map(name)
        .collect();
    (!waiting.is_empty()).then(|| {
        Finding::blocker(
            "Nodes",
            format!("not initialized: the taint {UNINITIALIZED} is {}", on(waiting)),
        )
        .remedy("a manager must initialize them before a migration begins: read its log")
    })
}

/// Whether a Node waits for a manager.
pub(crate) fn is_uninitialized(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints.into_iter().flatten().any(|taint| taint.key == UNINITIALIZED)
}

fn without_id(cluster: &Cluster<'_>) -> Option<Finding> {
    let without = |node: &&Node| provider_id(node).is_none();
    let nodes: Vec<&str> = cluster.snapshot.nodes.iter().filter(without).map(name).collect();
    let has_cloud = matches!(cluster.now(), Now::InTree(_) | Now::External)
        || cluster
            .kubelets
            .iter()
            .filter_map(|kubelet| kubelet.flags.as_ref())
            .any(|flags| in_tree(flags).is_some());
    (!nodes.is_empty() && has_cloud).then(|| {
        Finding::warning("Nodes", format!("no spec.providerID {}", on(nodes)))
            .remedy("the manager finds their instances by name, and sets it: compare the names with those in the cloud")
    })
}

/// Two Nodes of one instance: the manager would describe both by it.
fn twice(nodes: &[Node]) -> Vec<Finding> {
    let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in nodes {
        if let Some(id) = provider_id(node) {
            owners.entry(id).or_default().push(name(node));
        }
    }
    let shared = owners.into_iter().filter(|(_, nodes)| nodes.len() > 1);
    let findings = shared.map(|(id, nodes)| {
        Finding::blocker(
            "Nodes",
            format!("{} have the same provider ID, {id}", nodes.join(" and ")),
        )
        .remedy("delete the Node that has no kubelet")
    });
    findings.collect()
}

fn name(node: &Node) -> &str {
    node.metadata.name.as_deref().unwrap_or_default()
}

/// `spec.providerID`, if it is set.
pub(super) fn provider_id(node: &Node) -> Option<&str> {
    let id = node.spec.as_ref()?.provider_id.as_deref()?;
    Some(id).filter(|id| !id.is_empty())
}
