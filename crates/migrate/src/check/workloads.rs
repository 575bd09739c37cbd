//! Pods that must run on a node before it is initialized.

use super::{Finding, nodes::UNINITIALIZED};
use crate::{
    Cluster,
    cluster::{Manager, Origin},
    table,
};
use k8s_openapi::api::apps::v1::DaemonSet;

/// The priority class of Pods that a node does not work without.
const CRITICAL: &str = "system-node-critical";

pub(super) fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = cluster.managers.iter().filter_map(of_manager).collect();
    let refused: Vec<String> = cluster.snapshot.daemon_sets.iter().filter_map(refused).collect();
    if !refused.is_empty() {
        findings.push(
            Finding::warning(
                "DaemonSets",
                format!("they use the network of the node, and do not tolerate {UNINITIALIZED}: {}", table::names(refused.iter().map(String::as_str))),
            )
            .remedy("add the toleration if a new node needs them before the manager can run on it; a network plugin does not need it, kube-proxy does"),
        );
    }
    findings
}

/// A manager that does not tolerate the taint cannot initialize the node that it would run on. Static Pods tolerate everything.
fn of_manager(manager: &Manager) -> Option<Finding> {
    let tolerates = manager.kind == "Pod"
        || manager
            .tolerated
            .iter()
            .any(|key| key.is_empty() || key == UNINITIALIZED);
    (!tolerates).then(|| {
        let finding = match manager.origin {
            Origin::Ours => Finding::blocker(
                manager,
                format!("it does not tolerate {UNINITIALIZED}: it cannot start on a node that waits for it"),
            ),
            Origin::Other => Finding::warning(manager, format!("it does not tolerate {UNINITIALIZED}")),
        };
        finding.remedy("add the toleration to its Pods")
    })
}

fn refused(set: &DaemonSet) -> Option<String> {
    let spec = set.spec.as_ref()?.template.spec.as_ref()?;
    let is_needed = spec.host_network == Some(true) && spec.priority_class_name.as_deref() == Some(CRITICAL);
    let mut tolerations = spec.tolerations.iter().flatten();
    let tolerates = tolerations.any(|toleration| {
        toleration
            .key
            .as_deref()
            .is_none_or(|key| key.is_empty() || key == UNINITIALIZED)
    });
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    (is_needed && !tolerates).then(|| format!("{}/{}", part(&set.metadata.namespace), part(&set.metadata.name)))
}
