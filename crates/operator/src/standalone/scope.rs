//! Which managers would interfere with each other.
//!
//! Two managers must never manage the same node: each would find that the machines of the other cloud do not exist, and delete their nodes. Nor must
//! they serve the same Service, nor use the same port of a node.

pub mod leftovers;
pub(super) mod platform_claim;
pub mod selector;
#[cfg(test)]
mod tests;

use super::{
    controllers::{self, Controller},
    leftovers::Leftover,
};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use operator_api::{
    CloudControllerManager,
    cloud_controller_manager::{Claim, LabelSelector, ManagementState, Scope},
};
use std::collections::BTreeSet;

/// The reason of the condition of a manager that is refused.
pub const OVERLAP: &str = "ScopeOverlap";

/// Two managers that cannot run side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The one whose scope is refused: the younger one, or the one that was changed.
    pub refused: String,
    /// The one that keeps its scope.
    pub by: String,
    /// The reason, and what to do: for a condition of the refused one.
    pub sentence: String,
    /// How long it is refused.
    pub lasts: Lasts,
}

/// How long a manager cannot have its scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// Until one of the two is changed, or a change of the other is rolled out.
    UntilChanged,
    /// Until the leftovers of the other are deleted, which is not watched.
    UntilGone,
}

/// Every manager whose scope is refused because of another one.
///
/// A refused manager does not reserve the scope that it asks for, but keeps the scope that its running Pods still serve; so do Pods that a
/// change has not replaced yet, that are being removed, or that are left over from a deleted manager. The `platform`'s own manager has
/// precedence over all others.
pub fn overlaps(managers: &[CloudControllerManager], remains: &[Leftover], platform: Option<&Claim>) -> Vec<Overlap> {
    let mut candidates: Vec<Candidate> = managers.iter().map(Candidate::of).collect();
    leave(&mut candidates, remains);
    candidates.sort_by(|a, b| (!a.is_settled, &a.age).cmp(&(!b.is_settled, &b.age)));
    let mut overlaps = Vec::new();
    for index in 0..candidates.len() {
        let one = &candidates[index];
        let Some(asked) = &one.asked else { continue };
        let others = candidates.iter().filter(|other| other.name != one.name);
        let own = platform.and_then(|platform| beside(one, asked, platform));
        let met = others.filter_map(|other| between(one, asked, other));
        let found: Vec<Overlap> = own.into_iter().chain(met).collect();
        if found.is_empty() {
            candidates[index].is_accepted = true;
        }
        overlaps.extend(found);
    }
    overlaps
}

/// Whether a manager overlaps with the platform's own, which cannot be changed.
fn beside(one: &Candidate, asked: &Claim, platform: &Claim) -> Option<Overlap> {
    let apart = match platform.scope.provider_id_schemes.as_slice() {
        [] => "run no controllers of nodes in this one: spec.controllers".to_owned(),
        schemes => format!(
            "give this one spec.scope.providerIDSchemes other than {}",
            schemes.join(", ")
        ),
    };
    let reasons = reasons(asked, platform, &apart);
    let by = format!("the platform's own manager ({})", platform.provider);
    (!reasons.is_empty()).then(|| Overlap {
        refused: one.name.clone(),
        sentence: format!("in conflict with {by}, which goes first: {}", reasons.join("; ")),
        by,
        lasts: Lasts::UntilChanged,
    })
}

/// Whether its Pods run with exactly its current spec. Such a manager keeps running: another one with a change that would overlap is refused,
/// also if it is older, and keeps running with its previous scope.
pub(super) fn is_settled(manager: &CloudControllerManager) -> bool {
    held(manager).contains(&Claim::of(&manager.spec))
}

/// A manager that may be accepted.
struct Candidate {
    name: String,
    age: Age,
    /// The scope of its spec.
    asked: Option<Claim>,
    /// How the claims of its Pods change.
    held: Vec<Claim>,
    /// Its leftovers.
    remains: Vec<Leftover>,
    is_settled: bool,
    /// Whether it gets the scope of its spec.
    is_accepted: bool,
}

impl Candidate {
    fn of(manager: &CloudControllerManager) -> Self {
        let goes =
            manager.spec.management_state == ManagementState::Removed || manager.metadata.deletion_timestamp.is_some();
        Self {
            name: manager.name_any(),
            age: age(manager),
            asked: (!goes).then(|| Claim::of(&manager.spec)),
            held: held(manager),
            remains: Vec::new(),
            is_settled: is_settled(manager),
            is_accepted: false,
        }
    }

    /// A manager that does not exist any more.
    fn gone(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            age: (true, None, name.to_owned()),
            asked: None,
            held: Vec::new(),
            remains: Vec::new(),
            is_settled: false,
            is_accepted: false,
        }
    }
}

/// Assigns leftovers to their managers. For Pods without a claim the status of a manager that exists has it.
fn leave(candidates: &mut Vec<Candidate>, remains: &[Leftover]) {
    let there = candidates.len();
    for one in remains {
        let index = candidates.iter().position(|candidate| candidate.name == one.manager);
        let index = index.unwrap_or_else(|| {
            candidates.push(Candidate::gone(&one.manager));
            candidates.len() - 1
        });
        if index >= there || one.claim.is_some() {
            candidates[index].remains.push(one.clone());
        }
    }
}

/// The claims of a manager's Pods: its status has them before the Pods are created.
fn held(manager: &CloudControllerManager) -> Vec<Claim> {
    let Some(status) = &manager.status else {
        return Vec::new();
    };
    if status.related_objects.is_empty() || !status.claims.is_empty() {
        return status.claims.clone();
    }
    // An older operator or definition records no claims: it runs with the scope of its spec, unless that was changed or refused.
    let refused = status
        .condition("Degraded")
        .is_some_and(|degraded| degraded.status == "True" && degraded.reason == OVERLAP);
    let is_removed = manager.spec.management_state == ManagementState::Removed;
    let is_known = status.observed_generation == manager.metadata.generation && !refused;
    let known = (is_removed || is_known).then(|| Claim::of(&manager.spec));
    known.into_iter().collect()
}

/// The time of its creation, if the API server has set one, and its name.
type Age = (bool, Option<Timestamp>, String);

/// The oldest first; one that the API server has not stored yet is the youngest.
fn age(manager: &CloudControllerManager) -> Age {
    let created = manager.creation_timestamp().map(|time| time.0);
    (created.is_none(), created, manager.name_any())
}

/// Whether a manager with this claim overlaps with another one: with the claim that was granted to that one; or, unless the manager runs
/// already, with the claims of that one's Pods.
fn between(one: &Candidate, asked: &Claim, other: &Candidate) -> Option<Overlap> {
    let overlap = |how: &str, reasons: BTreeSet<String>, lasts: Lasts| {
        let (by, reasons) = (other.name.clone(), reasons.into_iter().collect::<Vec<_>>());
        (!reasons.is_empty()).then(|| Overlap {
            refused: one.name.clone(),
            sentence: format!(
                "in conflict with CloudControllerManager {by:?}, {how}: {}",
                reasons.join("; ")
            ),
            by,
            lasts,
        })
    };
    let meets = |theirs: &Claim| reasons(asked, theirs, APART);
    let granted = other.asked.iter().filter(|_| other.is_accepted);
    let granted = granted.flat_map(meets).collect();
    let granted = overlap("which runs already or is older", granted, Lasts::UntilChanged);
    if one.is_settled {
        return granted;
    }
    let held = || {
        let earlier = "whose Pods run with an earlier spec until a change is rolled out";
        overlap(
            earlier,
            other.held.iter().flat_map(meets).collect(),
            Lasts::UntilChanged,
        )
    };
    let remains = || {
        let mut remains = other.remains.iter();
        remains.find_map(|left| {
            let how = format!("of which {} still exists", left.what);
            let unknown = || vec!["its scope is not known".to_owned()];
            let reasons = left.claim.as_ref().map_or_else(unknown, meets);
            overlap(&how, reasons.into_iter().collect(), Lasts::UntilGone)
        })
    };
    granted.or_else(held).or_else(remains)
}

/// How to separate the nodes of two managers.
const APART: &str = "separate them with spec.scope.nodeSelector or spec.scope.providerIDSchemes of both";

fn reasons(a: &Claim, b: &Claim, apart: &str) -> Vec<String> {
    let nodes = nodes(a, b).map(|which| format!("{which}; {apart}"));
    let all = [nodes, services(a, b), port(a, b)];
    all.into_iter().flatten().collect()
}

fn nodes(a: &Claim, b: &Claim) -> Option<&'static str> {
    let of_nodes = |claim| {
        let all = controllers::of(claim).into_iter();
        all.filter(|one| one.is_for_nodes()).collect::<Vec<_>>()
    };
    let (ours, theirs) = (of_nodes(a), of_nodes(b));
    if ours.is_empty() || theirs.is_empty() || !meet(&a.scope, &b.scope) {
        return None;
    }
    // The controllers of one cloud may be spread over several managers.
    let apart = !ours.iter().any(|one| theirs.contains(one));
    if apart && same_cloud(a, b) {
        return None;
    }
    let all = |scope: &Scope| scope.provider_id_schemes.is_empty() && scope.node_selector == LabelSelector::default();
    Some(if all(&a.scope) && all(&b.scope) {
        "both manage all nodes"
    } else {
        "both may manage the same nodes"
    })
}

/// Whether a node can be in both scopes.
///
/// Different schemes separate managers although a node without a provider ID is in both scopes: each manager looks it up in its cloud, only the
/// one whose cloud has the machine initializes it, and none deletes it. For a manager without schemes this does not hold.
fn meet(a: &Scope, b: &Scope) -> bool {
    let (ours, theirs) = (&a.provider_id_schemes, &b.provider_id_schemes);
    let schemes = ours.is_empty() || theirs.is_empty() || ours.iter().any(|scheme| theirs.contains(scheme));
    schemes && selector::meet(&a.node_selector, &b.node_selector)
}

fn same_cloud(a: &Claim, b: &Claim) -> bool {
    (&a.provider, &a.cloud_config, &a.credentials) == (&b.provider, &b.cloud_config, &b.credentials)
}

fn services(a: &Claim, b: &Claim) -> Option<String> {
    let serves = |claim| controllers::of(claim).contains(&Controller::ServiceLb);
    if !serves(a) || !serves(b) {
        return None;
    }
    let (ours, theirs) = (&a.scope, &b.scope);
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

fn port(a: &Claim, b: &Claim) -> Option<String> {
    let port = a.secure_port;
    (port == b.secure_port)
        .then(|| format!("both use port {port} of the nodes they run on; give one of them another spec.securePort"))
}
