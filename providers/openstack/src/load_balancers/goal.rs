//! What a pass is after: everything that a Service asks for, or its hosts alone. Pure.

use super::{
    desired::{Desired, MemberMode, Place, Port, Wish},
    ownership::Identity,
    plan::{plan, plan_hosts},
    step::Step,
    tree::{Tree, key},
};
use cloud::Result;
use provider_kit::load_balancer::Completeness;
use std::collections::{BTreeMap, VecDeque};

/// What a pass is after.
#[derive(Debug)]
pub(super) enum Goal {
    /// Everything.
    All(Desired),
    /// The hosts, behind the members' place. Everything else is there only to tell whether it matches, and is `None` where
    /// it cannot be had: what is wrong with a listener must not keep traffic on nodes that are gone.
    Hosts(Place, Option<Desired>),
}

impl Goal {
    /// The steps to it.
    ///
    /// # Errors
    /// If everything is asked for and a port is taken by another Service.
    pub(super) fn steps(&self, tree: &Tree, wish: &Wish<'_>, identity: &Identity) -> Result<Vec<Step>> {
        match self {
            Self::All(desired) => plan(tree, desired, identity),
            Self::Hosts(place, _) => Ok(plan_hosts(tree, wish, place, identity)),
        }
    }

    /// The steps that replace the hosts of every port, whose pools are known by the port's [`Key`]. `None` if a pool is not known, or if
    /// members are changed one by one.
    pub(super) fn host_steps(&self, wish: &Wish<'_>, pools: &BTreeMap<String, String>) -> Option<VecDeque<Step>> {
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
        match wish.member_mode() {
            MemberMode::Batch => desired.ports.iter().map(step).collect(),
            MemberMode::Serial => None,
        }
    }

    /// Whether everything matches, once no step is left.
    pub(super) fn completeness(&self, tree: &Tree, identity: &Identity) -> Completeness {
        let desired = match self {
            Self::All(_) => return Completeness::Complete,
            Self::Hosts(_, desired) => desired.as_ref(),
        };
        match desired.map(|desired| (desired, plan(tree, desired, identity))) {
            Some((_, Ok(steps))) if steps.is_empty() => Completeness::Complete,
            Some((desired, Ok(_))) => missing(tree, desired).map_or(Completeness::Partial, Completeness::Missing),
            // Nobody could make what is not there.
            Some((_, Err(_))) | None => Completeness::Partial,
        }
    }
}

/// The first part of a port that another program deleted. What is there in another shape is not missing: it serves.
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
