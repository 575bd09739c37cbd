//! The Nodes that are hosts of load balancers.

mod fan_out;

pub(super) use fan_out::Gatherer;

use crate::nodes::{Scope, addresses::to_cloud, provider_id, taints};
use cloud::Host;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use runtime::informer::{Change, Store};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A Node with this label, unless its value is false, is not a host of load balancers.
pub const EXCLUDE: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// The autoscaler is about to delete a Node with this taint.
pub const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

/// Identifies a set of hosts by their names, provider IDs and addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

/// The hosts that a load balancer sends traffic to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSet {
    hosts: Arc<[Arc<Host>]>,
    fingerprint: Fingerprint,
}

impl HostSet {
    /// The Nodes that satisfy the predicate, sorted by name.
    pub fn of<'a>(nodes: impl IntoIterator<Item = &'a Node>, predicate: impl Fn(&Node) -> bool) -> Self {
        let usable = nodes.into_iter().filter(|node| predicate(node));
        Self::from_hosts(usable.map(|node| Arc::new(host(node))).collect())
    }

    fn from_hosts(mut hosts: Vec<Arc<Host>>) -> Self {
        hosts.sort_by(|a, b| a.name.cmp(&b.name));
        let fingerprint = fingerprint(&hosts);
        Self {
            hosts: hosts.into(),
            fingerprint,
        }
    }

    /// The hosts, sorted by name.
    #[must_use]
    pub fn hosts(&self) -> &Arc<[Arc<Host>]> {
        &self.hosts
    }

    /// Equal for equal sets.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

/// Whether this Node can be a host. Readiness does not matter: the load balancer has its own health checks.
#[must_use]
pub fn usable(node: &Node) -> bool {
    node.metadata.deletion_timestamp.is_none() && included(node) && !to_be_deleted(node)
}

/// Whether this Node is not excluded from load balancers.
#[must_use]
pub fn included(node: &Node) -> bool {
    node.labels()
        .get(EXCLUDE)
        .is_none_or(|value| matches!(&**value, "0" | "f" | "F" | "FALSE" | "false" | "False"))
}

/// Whether the autoscaler is about to delete this Node.
#[must_use]
pub fn to_be_deleted(node: &Node) -> bool {
    taints::has_key(node, TO_BE_DELETED)
}

/// Whether load balancers have to be updated because of this change of a Node.
///
/// A Node that is about to be deleted can wait: the health check of the load balancer notices it first, and the deletion is
/// another change.
#[must_use]
pub fn should_sync_updated_node(old: &Node, new: &Node) -> bool {
    included(old) != included(new) || provider_id(old) != provider_id(new)
}

/// Whether the addresses changed; a new Node gets its addresses after a while.
#[must_use]
pub fn addresses_changed(old: &Node, new: &Node) -> bool {
    to_cloud(old).ne(to_cloud(new))
}

/// How a change of a Node affects load balancers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relevance {
    /// Not at all.
    None,
    /// The next update uses the new hosts.
    Later,
    /// All of them are updated.
    Now,
}

/// How this change affects load balancers.
#[must_use]
pub fn relevance(change: &Change<Node>, scope: &Scope) -> Relevance {
    let Change::Updated { old, new } = change else {
        return Relevance::Now;
    };
    if scope.contains(old) != scope.contains(new) || should_sync_updated_node(old, new) || addresses_changed(old, new) {
        return Relevance::Now;
    }
    if usable(old) != usable(new) || old.labels() != new.labels() {
        Relevance::Later
    } else {
        Relevance::None
    }
}

/// The current hosts, computed once per change. Clones share them.
#[derive(Clone)]
pub struct Hosts {
    nodes: Store<Node>,
    scope: Scope,
    cache: Arc<Mutex<Cache>>,
}

#[derive(Default)]
struct Cache {
    /// The set, if nothing has changed since it was computed.
    current: Option<Arc<HostSet>>,
    /// The host of each Node, and the Node that it was computed from.
    hosts: HashMap<String, (Arc<Node>, Arc<Host>)>,
}

impl Hosts {
    /// The usable Nodes of this store that are in scope.
    pub fn new(nodes: Store<Node>, scope: Scope) -> Self {
        Self {
            nodes,
            scope,
            cache: Arc::default(),
        }
    }

    /// The current hosts.
    pub fn current(&self) -> Arc<HostSet> {
        let mut cache = self.lock();
        if let Some(current) = &cache.current {
            return current.clone();
        }
        let current = Arc::new(self.compute(&mut cache.hosts));
        cache.current = Some(current.clone());
        current
    }

    /// Handles a change, and returns how it affects load balancers.
    pub fn handle(&self, change: &Change<Node>) -> Relevance {
        let relevance = relevance(change, &self.scope);
        if relevance != Relevance::None {
            self.lock().current = None;
        }
        relevance
    }

    /// Hosts of Nodes that have not changed are reused.
    fn compute(&self, hosts: &mut HashMap<String, (Arc<Node>, Arc<Host>)>) -> HostSet {
        let mut before = std::mem::take(hosts);
        for node in self.nodes.list() {
            if !usable(&node) || !self.scope.contains(&node) {
                continue;
            }
            let entry = match before.remove(node.metadata.name.as_deref().unwrap_or_default()) {
                Some((old, host)) if Arc::ptr_eq(&old, &node) => (old, host),
                _ => {
                    let host = Arc::new(host(&node));
                    (node, host)
                }
            };
            hosts.insert(entry.1.name.clone(), entry);
        }
        HostSet::from_hosts(hosts.values().map(|(_, host)| host.clone()).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn host(node: &Node) -> Host {
    Host {
        name: node.name_any(),
        provider_id: provider_id(node),
        addresses: to_cloud(node).collect(),
        labels: node.labels().clone(),
    }
}

/// Labels do not matter: a new label is not a reason to update all load balancers.
fn fingerprint(hosts: &[Arc<Host>]) -> Fingerprint {
    let mut hasher = DefaultHasher::new();
    for Host {
        name,
        provider_id,
        addresses,
        labels: _,
    } in hosts.iter().map(|host| &**host)
    {
        (name, provider_id, addresses).hash(&mut hasher);
    }
    Fingerprint(hasher.finish())
}

#[cfg(test)]
mod tests;
