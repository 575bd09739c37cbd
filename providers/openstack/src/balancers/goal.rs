//! What a pass is after: everything that a Service asks for, or its hosts alone. Pure.

use super::{
    desired::{Desired, Place, Wish},
    ensure::Completeness,
    plan::{plan, plan_hosts},
    role::Identity,
    step::Step,
    tree::Tree,
};
use cloud::Result;

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

    /// Whether everything matches, once no step is left.
    pub(super) fn whole(&self, tree: &Tree, identity: &Identity) -> Completeness {
        let matches = |desired: &Desired| plan(tree, desired, identity).is_ok_and(|steps| steps.is_empty());
        match self {
            Self::All(_) => Completeness::Whole,
            Self::Hosts(_, Some(desired)) if matches(desired) => Completeness::Whole,
            Self::Hosts(..) => Completeness::Part,
        }
    }
}
