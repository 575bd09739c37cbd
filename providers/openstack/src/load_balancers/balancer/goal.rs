//! What a reconcile aims at: everything that a Service asks for, or only its hosts. Pure.

use super::{
    desired::{Desired, Inputs, MemberMode, MemberNetwork, Port},
    plan::{plan, plan_hosts},
    step::Step,
    tree::{Tree, key},
};
use crate::load_balancers::ownership::Relation;
use cloud::Result;
use provider_kit::load_balancer::Completeness;
use std::collections::{BTreeMap, VecDeque};

/// What a reconcile aims at.
#[derive(Debug)]
pub(crate) enum Goal {
    /// Everything.
    All(Desired),
    /// The hosts, in these networks. The rest only decides whether everything matches, and is `None` if it cannot be determined: an invalid
    /// listener must not keep traffic on nodes that do not exist any more.
    Hosts(MemberNetwork, Option<Desired>),
}

impl Goal {
    /// The steps to it.
    ///
    /// # Errors
    /// If everything should match and another Service owns a port.
    pub(crate) fn steps(&self, tree: &Tree, inputs: &Inputs<'_>, relation: &Relation) -> Result<Vec<Step>> {
        match self {
            Self::All(desired) => plan(tree, desired, relation),
            Self::Hosts(member_network, _) => Ok(plan_hosts(tree, inputs, member_network, relation)),
        }
    }

    /// The steps that replace the hosts of every port, if the pools of all ports are known, by the port's [`Key`], and members are changed in
    /// batches.
    pub(crate) fn host_steps(&self, inputs: &Inputs<'_>, pools: &BTreeMap<String, String>) -> Option<VecDeque<Step>> {
        let (Self::All(desired) | Self::Hosts(_, Some(desired))) = self else {
            return None;
        };
        let step = |port: &Port| {
            Some(Step::SetMembers {
                key: port.key,
                pool: Some(pools.get(&port.key.to_string())?.clone()),
                members: port.members.clone(),
                differences: vec![format!("={}", port.members.len())],
            })
        };
        match inputs.member_mode() {
            MemberMode::Batch => desired.ports.iter().map(step).collect(),
            MemberMode::Serial => None,
        }
    }

    /// Whether everything matches, once no step is left.
    pub(crate) fn completeness(&self, tree: &Tree, relation: &Relation) -> Completeness {
        let desired = match self {
            Self::All(_) => return Completeness::Complete,
            Self::Hosts(_, desired) => desired.as_ref(),
        };
        match desired.map(|desired| (desired, plan(tree, desired, relation))) {
            Some((_, Ok(steps))) if steps.is_empty() => Completeness::Complete,
            Some((desired, Ok(_))) => missing(tree, desired).map_or(Completeness::Partial, Completeness::Missing),
            // A full reconcile cannot create it either.
            Some((_, Err(_))) | None => Completeness::Partial,
        }
    }
}

/// The first part of a port that another program deleted. A part that exists with other settings is not missing: it works.
fn missing(tree: &Tree, desired: &Desired) -> Option<String> {
    let lacks = |port: &Port| {
        let listener = tree.listeners.iter().find(|listener| key(listener) == port.key);
        let pool = listener.and_then(|listener| tree.pool_of(listener));
        match (listener, pool) {
            (None, _) => Some("listener"),
            (_, None) => Some("pool"),
            (_, Some(pool)) if port.monitor.is_some() && tree.monitor_of(pool).is_none() => Some("health monitor"),
            _ => None,
        }
    };
    let mut missing = desired.ports.iter().filter_map(|port| Some((lacks(port)?, port.key)));
    missing.next().map(|(what, port)| format!("{what} of port {port}"))
}
