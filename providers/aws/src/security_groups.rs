//! Security groups: those of the load balancers, and the rules of Services in those of the nodes.
//!
//! The nodes share a few groups, and every Service has rules in them. Services are distinguished by the descriptions of their rules, or by the
//! group of their load balancer. Concurrent Services share one read and one write of a group through its lane.

mod nodes;
mod own;
pub mod rules;
mod store;

pub use nodes::{
    NodeMark, NodeRules, Others, has_health as has_health_rules, health as health_rules, network as network_rules,
};
pub use own::OwnGroup;

use crate::api::{Api, ec2::security_groups::SecurityGroup};
use cloud::Result;
use nodes::Registry;
use provider_kit::{lanes::Lanes, list_cache::ListCache};
use rules::Rules;
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The security groups of one cluster.
pub struct SecurityGroups {
    api: Arc<Api>,
    list: ListCache<Vec<SecurityGroup>>,
    lanes: Lanes<String, Rules>,
    /// The rules that Services want in the groups of the nodes.
    registry: Arc<Mutex<Registry>>,
    state: Arc<Mutex<State>>,
}

/// Longer than any list serves callers.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(1);

#[derive(Default)]
struct State {
    /// When a Service last changed rules, by its load balancer: a list from before that is out of date for it.
    edited: HashMap<String, Instant>,
    /// Groups of nodes that do not have the tag of the cluster. Those that no node has any more may be among them, for as long as they exist.
    untagged: BTreeSet<String>,
}

impl SecurityGroups {
    /// The security groups of the cluster. Nothing is read yet.
    pub fn new(api: Arc<Api>) -> Self {
        Self {
            api,
            list: ListCache::default(),
            lanes: Lanes::default(),
            registry: Arc::default(),
            state: Arc::default(),
        }
    }

    /// The groups in the VPC that have the tag of the cluster, and those of nodes that lack it, as a load balancer has left them.
    ///
    /// # Errors
    /// As EC2 answers.
    pub async fn list(&self, load_balancer: &str) -> Result<Arc<Vec<SecurityGroup>>> {
        let changed = self.state().edited.get(load_balancer).copied();
        let (api, state) = (Arc::clone(&self.api), Arc::clone(&self.state));
        let untagged = self.state().untagged.clone();
        let read = || async move {
            let cluster = api.cluster().await?;
            let vpc = &cluster.vpc_id;
            let mut groups = match cluster.name {
                Some(_) => api.security_groups_tagged(vpc, &cluster.tag_keys()).await?,
                None => api.security_groups_in(vpc).await?,
            };
            groups.retain(|group| cluster.has_tag(&group.tag_set));
            let missing: Vec<&String> = untagged
                .iter()
                .filter(|id| !groups.iter().any(|group| group.group_id == **id))
                .collect();
            if !missing.is_empty() {
                let found = api.security_groups_by_id(&missing).await?;
                let exists = |id: &String| found.iter().any(|group| group.group_id == *id);
                lock(&state).untagged.retain(|id| !missing.contains(&id) || exists(id));
                groups.extend(found);
            }
            Ok(groups)
        };
        self.list.get(changed, read).await
    }

    /// A load balancer changed rules or groups.
    fn edited(&self, load_balancer: &str) {
        self.state().edited.insert(load_balancer.to_owned(), Instant::now());
    }

    /// Nothing is left of a load balancer. For a while lists still have its group, and a Service may be given the same name again.
    pub fn forget(&self, load_balancer: &str) {
        let mut state = self.state();
        state.edited.retain(|_, when| when.elapsed() < FORGOTTEN_AFTER);
        state.edited.insert(load_balancer.to_owned(), Instant::now());
        drop(state);
        lock(&self.registry).forget(load_balancer);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
