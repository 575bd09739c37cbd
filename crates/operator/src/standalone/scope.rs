//! Which managers would get into each other's way.
//!
//! Two managers must never look after the same node: each would find machines of the other cloud missing and delete their nodes. Nor must
//! they serve the same Service, nor want the same port of a node.

pub mod selector;
#[cfg(test)]
mod tests;

use super::controllers::{self, Controller};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use operator_api::{
    CloudControllerManager,
    cloud_controller_manager::{LabelSelector, ManagementState, Scope},
};
use std::collections::BTreeSet;

/// The reason of the condition of a manager that is refused.
pub const OVERLAP: &str = "ScopeOverlap";

/// Two managers that cannot run side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The one whose scope is not taken: the younger one, or the one that was changed.
    pub refused: String,
    /// The one that goes on.
    pub by: String,
    /// Why, and what to do: for a condition of the younger one.
    pub sentence: String,
}

/// Every manager whose scope is not taken because of another one's. One that is refused stands in nobody's way.
///
/// A manager that is being removed counts as long as its status still lists objects: until then its Pods may be working.
pub fn overlaps(managers: &[CloudControllerManager]) -> Vec<Overlap> {
    let mut managers: Vec<_> = managers.iter().filter(|manager| may_run(manager)).collect();
    managers.sort_by_key(|manager| (!is_settled(manager), age(manager)));
    let mut running: Vec<&CloudControllerManager> = Vec::new();
    let mut overlaps = Vec::new();
    for manager in managers {
        let found: Vec<Overlap> = running.iter().filter_map(|older| between(manager, older)).collect();
        if found.is_empty() {
            running.push(manager);
        }
        overlaps.extend(found);
    }
    overlaps
}

/// Whether it runs with exactly this scope. Such a one goes on: whoever asks for a change that would meet it is refused, also if he
/// is older, and keeps running with the scope he had.
fn is_settled(manager: &CloudControllerManager) -> bool {
    let Some(status) = &manager.status else { return false };
    let refused = status
        .condition("Degraded")
        .is_some_and(|degraded| degraded.status == "True" && degraded.reason == OVERLAP);
    !status.related_objects.is_empty() && status.observed_generation == manager.metadata.generation && !refused
}

fn may_run(manager: &CloudControllerManager) -> bool {
    let left = manager
        .status
        .as_ref()
        .is_some_and(|status| !status.related_objects.is_empty());
    manager.spec.management_state != ManagementState::Removed || left
}

/// The oldest first; one that the API server has not seen yet is the youngest.
fn age(manager: &CloudControllerManager) -> (bool, Option<Timestamp>, String) {
    let created = manager.creation_timestamp().map(|time| time.0);
    (created.is_none(), created, manager.name_any())
}

fn between(younger: &CloudControllerManager, older: &CloudControllerManager) -> Option<Overlap> {
    let reasons: Vec<String> = [nodes(younger, older), services(younger, older), port(younger, older)]
        .into_iter()
        .flatten()
        .collect();
    let by = older.name_any();
    (!reasons.is_empty()).then(|| Overlap {
        refused: younger.name_any(),
        sentence: format!(
            "in conflict with CloudControllerManager {by:?}, which runs already or is older: {}",
            reasons.join("; ")
        ),
        by,
    })
}

fn nodes(a: &CloudControllerManager, b: &CloudControllerManager) -> Option<String> {
    let of_nodes = |manager| {
        let all = controllers::of(manager).into_iter();
        all.filter(|one| one.is_for_nodes()).collect::<Vec<_>>()
    };
    let (ours, theirs) = (of_nodes(a), of_nodes(b));
    if ours.is_empty() || theirs.is_empty() || !meet(&a.spec.scope, &b.spec.scope) {
        return None;
    }
    // One cloud's controllers may be spread over several managers.
    let apart = !ours.iter().any(|one| theirs.contains(one));
    if apart && same_cloud(a, b) {
        return None;
    }
    let all = |scope: &Scope| scope.provider_id_schemes.is_empty() && scope.node_selector == LabelSelector::default();
    let which = if all(&a.spec.scope) && all(&b.spec.scope) {
        "both look after all nodes"
    } else {
        "there may be nodes that both look after"
    };
    Some(format!(
        "{which}; tell them apart by spec.scope.nodeSelector or spec.scope.providerIDSchemes of both"
    ))
}

/// Whether there can be a node that is in both scopes.
///
/// Different schemes keep managers apart although a node without a provider ID is in both scopes: such a node each asks its cloud for, only the one
/// whose cloud knows the machine initialises it, and none deletes it. A manager without schemes knows no such doubt.
fn meet(a: &Scope, b: &Scope) -> bool {
    let (ours, theirs) = (&a.provider_id_schemes, &b.provider_id_schemes);
    let schemes = ours.is_empty() || theirs.is_empty() || ours.iter().any(|scheme| theirs.contains(scheme));
    schemes && selector::meet(&a.node_selector, &b.node_selector)
}

fn same_cloud(a: &CloudControllerManager, b: &CloudControllerManager) -> bool {
    let cloud = |manager: &CloudControllerManager| {
        let spec = &manager.spec;
        (
            spec.provider.clone(),
            spec.cloud_config.clone(),
            spec.credentials.clone(),
        )
    };
    cloud(a) == cloud(b)
}

fn services(a: &CloudControllerManager, b: &CloudControllerManager) -> Option<String> {
    let serves = |manager| controllers::of(manager).contains(&Controller::ServiceLb);
    if !serves(a) || !serves(b) {
        return None;
    }
    let (ours, theirs) = (&a.spec.scope, &b.spec.scope);
    let theirs_named: BTreeSet<&String> = theirs.load_balancer_classes.iter().collect();
    let both = ours
        .load_balancer_classes
        .iter()
        .find(|class| theirs_named.contains(class));
    let which = match both {
        Some(class) => format!("of the load balancer class {class}"),
        None if ours.serves_classless() && theirs.serves_classless() => "without a load balancer class".to_owned(),
        None => return None,
    };
    Some(format!(
        "both serve Services {which}; give one of them other spec.scope.loadBalancerClasses"
    ))
}

fn port(a: &CloudControllerManager, b: &CloudControllerManager) -> Option<String> {
    let port = a.spec.secure_port;
    (port == b.spec.secure_port)
        .then(|| format!("both use port {port} of the nodes they run on; give one of them another spec.securePort"))
}
