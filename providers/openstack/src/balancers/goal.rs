//! What a pass is after: everything that a Service asks for, or its hosts alone. Pure.

use super::{
    desired::{Desired, Key, Place, Port, Wish},
    ensure::Completeness,
    plan::{plan, plan_hosts},
    role::Identity,
    step::Step,
    tree::{Tree, key},
};
use cloud::Result;
use std::fmt;

/// What a pass is after.
#[derive(Debug)]
pub(super) enum Goal {
    /// Everything.
    All(Desired),
    /// The hosts, behind the members' place. Everything else is there only to tell whether it matches, and is `None` where
    /// it cannot be had: what is wrong with a listener must not keep traffic on nodes that are gone.
    Hosts(Place, Option<Desired>),
}

/// Something of a port that is not there at all: somebody deleted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap(&'static str, Key);

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(what, port) = self;
        write!(f, "{what} of port {port}")
    }
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

    /// Whether everything matches, once no step is left.
    pub(super) fn whole(&self, tree: &Tree, identity: &Identity) -> Completeness {
        let desired = match self {
            Self::All(_) => return Completeness::Whole,
            Self::Hosts(_, desired) => desired.as_ref(),
        };
        match desired.map(|desired| (desired, plan(tree, desired, identity))) {
            Some((_, Ok(steps))) if steps.is_empty() => Completeness::Whole,
            Some((desired, Ok(_))) => gap(tree, desired).map_or(Completeness::Part, Completeness::Gap),
            // Nobody could make what is not there.
            Some((_, Err(_))) | None => Completeness::Part,
        }
    }
}

/// The first port that leads nowhere, or that nobody watches. What is there in another shape is no gap: it serves.
fn gap(tree: &Tree, desired: &Desired) -> Option<Gap> {
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
    let mut gaps = desired
        .ports
        .iter()
        .filter_map(|port| Some(Gap(lacks(port)?, port.key)));
    gaps.next()
}
