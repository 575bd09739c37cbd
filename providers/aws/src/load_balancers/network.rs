//! Network load balancers.
//!
//! A load balancer is created first, then for each port a target group with its targets, and a listener that forwards to it. Whatever a crash
//! leaves behind is found by the name and the tags of the Service, and is used or deleted.

mod apply;
mod desired;
mod engine;
pub use engine::{name_in, status};
mod guard;
mod observe;
mod plan;
mod step;

use super::Shared;
use crate::api::elbv2::{LoadBalancer, target_groups::TargetGroup};
use plan::Observed;
use provider_kit::{list_cache::ListCache, load_balancer::State};
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use step::Step;

/// Network load balancers.
pub struct Network {
    pub(super) shared: Arc<Shared>,
    state: State<Observed, Step>,
    list: ListCache<Vec<LoadBalancer>>,
    groups: ListCache<Vec<TargetGroup>>,
    known: Mutex<Known>,
}

/// What this process knows because it made it so.
#[derive(Default)]
struct Known {
    /// Load balancers that were just created, by their ARN.
    created: HashMap<String, LoadBalancer>,
    /// The targets of groups, by their ARN.
    targets: HashMap<String, BTreeSet<(String, u16)>>,
}

/// A load balancer and its target groups. They have no targets here.
#[derive(Debug, Clone, Default)]
pub struct Balancer {
    pub lb: LoadBalancer,
    /// Those that a listener uses.
    pub groups: Vec<TargetGroup>,
    /// Those of the Service, or of one with a similar name, that no listener uses.
    loose: Vec<TargetGroup>,
}

impl Network {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            state: State::default(),
            list: ListCache::default(),
            groups: ListCache::default(),
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The targets of a group, as this process left them.
    fn registered(&self, group: &str) -> Option<BTreeSet<(String, u16)>> {
        self.known().targets.get(group).cloned()
    }

    fn remember_group(&self, group: &str, targets: BTreeSet<(String, u16)>) {
        self.known().targets.insert(group.to_owned(), targets);
    }

    /// What another process deleted is not needed any more. One that was created meanwhile is read again.
    fn forget_groups_besides(&self, all: &[TargetGroup]) {
        let exists: BTreeSet<&str> = all.iter().map(|group| group.target_group_arn.as_str()).collect();
        self.known().targets.retain(|arn, _| exists.contains(arn.as_str()));
    }

    fn forget_group(&self, group: &str) {
        self.known().targets.remove(group);
    }
}
