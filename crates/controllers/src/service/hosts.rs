//! The nodes that may stand behind load balancers.

use super::options::Scope;
use crate::nodes::{addresses::to_cloud, provider_id, taints};
use cloud::Host;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use runtime::informer::{Change, Store};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A node with this label, unless it says `false`, is not put behind load balancers.
pub const EXCLUDE: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// A node with this taint is about to be deleted by the autoscaler.
pub const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

/// Tells sets of hosts apart: by names, provider IDs and addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

/// The hosts that a load balancer sends traffic to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSet {
    hosts: Arc<[Arc<Host>]>,
    fingerprint: Fingerprint,
}

impl HostSet {
    /// The nodes that satisfy the predicate, sorted by name.
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

/// Whether traffic may be sent to this node. Readiness does not count: the load balancer's health check knows better.
#[must_use]
pub fn usable(node: &Node) -> bool {
    node.metadata.deletion_timestamp.is_none() && included(node) && !to_be_deleted(node)
}

/// Whether nobody asked to keep this node from load balancers.
#[must_use]
pub fn included(node: &Node) -> bool {
    node.labels()
        .get(EXCLUDE)
        .is_none_or(|value| matches!(&**value, "0" | "f" | "F" | "FALSE" | "false" | "False"))
}

/// Whether the autoscaler is about to delete this node.
#[must_use]
pub fn to_be_deleted(node: &Node) -> bool {
    taints::has_key(node, TO_BE_DELETED)
}

/// Whether load balancers have to hear of this change of a node.
///
/// A node that is about to go needs no hurry: the health check of the load balancer sees it first, and its leaving is a
/// change of its own.
#[must_use]
pub fn should_sync_updated_node(old: &Node, new: &Node) -> bool {
    included(old) != included(new) || provider_id(old) != provider_id(new)
}

/// Whether the node can be reached elsewhere now; a node that joins gets its addresses only after a while.
#[must_use]
pub fn addresses_changed(old: &Node, new: &Node) -> bool {
    to_cloud(old).ne(to_cloud(new))
}

/// What a change of a node means for load balancers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relevance {
    /// Nothing.
    None,
    /// The next one to be touched must know.
    Later,
    /// All of them have to hear of it.
    Now,
}

/// What this change means for load balancers.
#[must_use]
pub fn relevance(change: &Change<Node>, scope: &Scope) -> Relevance {
    let Change::Updated { old, new } = change else {
        return Relevance::Now;
    };
    if scope(old) != scope(new) || should_sync_updated_node(old, new) || addresses_changed(old, new) {
        return Relevance::Now;
    }
    if usable(old) != usable(new) || old.labels() != new.labels() {
        Relevance::Later
    } else {
        Relevance::None
    }
}

/// The hosts as they are now, put together once per change. Clones share it.
#[derive(Clone)]
pub struct Hosts {
    nodes: Store<Node>,
    scope: Scope,
    state: Arc<Mutex<Gathered>>,
}

#[derive(Default)]
struct Gathered {
    /// The set, if nothing has changed since it was put together.
    current: Option<Arc<HostSet>>,
    /// The host of each node, and the node it was made from.
    known: HashMap<String, (Arc<Node>, Arc<Host>)>,
}

impl Hosts {
    /// The usable nodes of this store that are in scope.
    pub fn new(nodes: Store<Node>, scope: Scope) -> Self {
        Self {
            nodes,
            scope,
            state: Arc::default(),
        }
    }

    /// The hosts as they are now.
    pub fn current(&self) -> Arc<HostSet> {
        let mut state = self.lock();
        if let Some(current) = &state.current {
            return current.clone();
        }
        let current = Arc::new(self.gather(&mut state.known));
        state.current = Some(current.clone());
        current
    }

    /// Takes note of a change, and says what it means.
    pub fn heed(&self, change: &Change<Node>) -> Relevance {
        let relevance = relevance(change, &self.scope);
        if relevance != Relevance::None {
            self.lock().current = None;
        }
        relevance
    }

    /// Only nodes that have changed are looked at anew.
    fn gather(&self, known: &mut HashMap<String, (Arc<Node>, Arc<Host>)>) -> HostSet {
        let mut before = std::mem::take(known);
        for node in self.nodes.list() {
            if !usable(&node) || !(self.scope)(&node) {
                continue;
            }
            let entry = match before.remove(node.metadata.name.as_deref().unwrap_or_default()) {
                Some((old, host)) if Arc::ptr_eq(&old, &node) => (old, host),
                _ => {
                    let host = Arc::new(host(&node));
                    (node, host)
                }
            };
            known.insert(entry.1.name.clone(), entry);
        }
        HostSet::from_hosts(known.values().map(|(_, host)| host.clone()).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Gathered> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Labels do not count: a load balancer is not touched because somebody labelled a node.
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
