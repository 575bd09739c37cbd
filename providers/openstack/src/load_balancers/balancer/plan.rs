//! The steps that make a load balancer match a Service. Pure.

mod changes;
mod members;

use super::{
    desired::{Desired, Inputs, MemberNetwork, Port},
    step::Step,
    tree::{Tree, key},
};
use crate::{
    api::octavia::{
        Listener, LoadBalancer, LoadBalancerChange, Member, Monitor, NewListener, NewMonitor, NewPool, Pool,
    },
    load_balancers::{names, ownership::Relation},
};
use changes::{listener_change, marked, monitor_change, pool_changes};
use cloud::{Error, Result};
use members::members;
use provider_kit::load_balancer::Ownership;
use std::collections::BTreeSet;

/// The steps, in an order that Octavia accepts: obstacles are deleted first, and what is not needed any more last.
///
/// # Errors
/// If another owner has a port.
pub(crate) fn plan(tree: &Tree, desired: &Desired, relation: &Relation) -> Result<Vec<Step>> {
    let planner = Planner {
        tree,
        desired,
        relation,
    };
    let mark = planner.mark();
    let guest = relation.ownership == Ownership::Guest && relation.previous_name.is_none();
    // A guest adds its tag first, so that the owner does not delete the load balancer when it leaves at the same time.
    let (first, last) = if guest { (mark, None) } else { (None, mark) };
    let mut steps = Vec::from_iter(first);
    for port in &desired.ports {
        steps.extend(planner.port(port)?);
    }
    steps.extend(planner.leftovers());
    // Their listener was deleted by another program, or this process stopped in between.
    steps.extend(unused_pools(tree, |pool| is_ours(pool, relation)));
    steps.extend(last);
    Ok(steps)
}

/// The steps that replace the hosts and nothing else, on every existing port of the Service, desired or not. If the members' subnet is not
/// known, new members get that of the existing ones.
pub(crate) fn plan_hosts(
    tree: &Tree,
    inputs: &Inputs<'_>,
    member_network: &MemberNetwork,
    relation: &Relation,
) -> Vec<Step> {
    let ours = tree.listeners.iter().filter(|listener| relation.owns(listener));
    let pools = ours.filter_map(|listener| Some((key(listener), tree.pool_of(listener)?)));
    pools
        .flat_map(|(key, pool)| {
            let there = tree.members_of(pool);
            let asked = inputs
                .spec
                .ports
                .iter()
                .find(|port| (port.protocol, port.port) == (key.protocol, key.port));
            let node_port = match asked {
                Some(port) => port.node_port.filter(|port| *port != 0),
                None => there.first().map(|member| member.protocol_port),
            };
            let member_network = MemberNetwork {
                member_subnet: member_network.member_subnet.clone().or_else(|| subnet_of(there)),
                ..member_network.clone()
            };
            let wanted = node_port.map_or_else(Vec::new, |port| inputs.members(key.protocol, port, &member_network));
            members(key, Some(pool), there, &wanted, inputs.member_mode())
        })
        .collect()
}

/// The steps that remove everything from a load balancer.
pub(crate) fn plan_empty(tree: &Tree) -> Vec<Step> {
    let listeners = tree.listeners.iter().flat_map(|listener| remove(tree, listener));
    listeners.chain(unused_pools(tree, |_| true)).collect()
}

/// The steps that remove what a Service has on a load balancer that others use.
pub(crate) fn plan_detach(tree: &Tree, relation: &Relation) -> Vec<Step> {
    let ours = tree.listeners.iter().filter(|listener| relation.owns(listener));
    let listeners = ours.flat_map(|listener| remove(tree, listener));
    let pools = unused_pools(tree, |pool| is_ours(pool, relation));
    listeners.chain(pools).chain(unmark(&tree.balancer, relation)).collect()
}

fn subnet_of(members: &[Member]) -> Option<String> {
    members.iter().find_map(|member| member.subnet_id.clone())
}

struct Planner<'a> {
    tree: &'a Tree,
    desired: &'a Desired,
    relation: &'a Relation,
}

impl Planner<'_> {
    fn port(&self, port: &Port) -> Result<Vec<Step>> {
        let there = self.tree.listeners.iter().find(|listener| key(listener) == port.key);
        let Some(listener) = there else {
            return Ok(self.create(port));
        };
        if !self.relation.may_claim(listener) {
            return Err(Error::unusable(
                format!("port {} of load balancer {}", port.key, self.tree.balancer.id),
                format!(
                    "it belongs to another owner: listener {} ({})",
                    listener.id, listener.name
                ),
            ));
        }
        if listener.protocol != port.listener.protocol {
            // Octavia accepts no second listener on the port, whatever its protocol.
            return Ok([remove(self.tree, listener), self.create(port)].concat());
        }
        let change = listener_change(listener, &port.listener, &self.desired.headers, self.relation);
        let change = change.map(|change| Step::UpdateListener {
            key: port.key,
            id: listener.id.clone(),
            change: Box::new(change),
        });
        Ok(change.into_iter().chain(self.pool(listener, port)).collect())
    }

    fn create(&self, port: &Port) -> Vec<Step> {
        let new = NewListener {
            loadbalancer_id: Some(self.tree.balancer.id.clone()),
            ..port.listener.clone()
        };
        let mut steps = vec![Step::CreateListener {
            key: port.key,
            new: Box::new(new),
        }];
        steps.extend(self.create_pool(None, port));
        steps
    }

    fn pool(&self, listener: &Listener, port: &Port) -> Vec<Step> {
        let Some(pool) = self.tree.pool_of(listener) else {
            return self.create_pool(Some(listener), port);
        };
        if pool.protocol != port.pool.protocol {
            let mut steps = vec![delete_pool(pool)];
            steps.extend(self.create_pool(Some(listener), port));
            return steps;
        }
        let changes = pool_changes(pool, &port.pool, self.relation)
            .into_iter()
            .map(|change| Step::UpdatePool {
                key: port.key,
                id: pool.id.clone(),
                change,
            });
        let members = members(
            port.key,
            Some(pool),
            self.tree.members_of(pool),
            &port.members,
            self.desired.members,
        );
        changes.chain(members).chain(self.monitor(pool, port)).collect()
    }

    fn create_pool(&self, listener: Option<&Listener>, port: &Port) -> Vec<Step> {
        let new = NewPool {
            listener_id: listener.map(|listener| listener.id.clone()),
            ..port.pool.clone()
        };
        let mut steps = vec![Step::CreatePool {
            key: port.key,
            new: Box::new(new),
        }];
        steps.extend(members(port.key, None, &[], &port.members, self.desired.members));
        steps.extend(port.monitor.as_ref().map(|monitor| create_monitor(None, monitor, port)));
        steps
    }

    fn monitor(&self, pool: &Pool, port: &Port) -> Vec<Step> {
        let create = |wanted| create_monitor(Some(pool), wanted, port);
        let delete = |there: &Monitor| Step::DeleteMonitor {
            key: port.key,
            id: there.id.clone(),
        };
        match (self.tree.monitor_of(pool), &port.monitor) {
            (None, None) => Vec::new(),
            (None, Some(wanted)) => vec![create(wanted)],
            (Some(there), None) => vec![delete(there)],
            (Some(there), Some(wanted)) if there.kind != wanted.kind => vec![delete(there), create(wanted)],
            (Some(there), Some(wanted)) => {
                let named = NewMonitor {
                    name: self.monitor_name(there, wanted),
                    ..wanted.clone()
                };
                let change = monitor_change(there, &named).map(|change| Step::UpdateMonitor {
                    key: port.key,
                    id: there.id.clone(),
                    change,
                });
                Vec::from_iter(change)
            }
        }
    }

    /// occm names a guest's monitors after the load balancer when nodes change, and after the Service otherwise: either name is kept.
    fn monitor_name(&self, there: &Monitor, wanted: &NewMonitor) -> String {
        let guest = self.relation.ownership == Ownership::Guest && self.relation.previous_name.is_none();
        if guest && names::is_child("monitor", &there.name, &self.tree.balancer.name) {
            there.name.clone()
        } else {
            wanted.name.clone()
        }
    }

    fn leftovers(&self) -> Vec<Step> {
        let wanted: BTreeSet<_> = self.desired.ports.iter().map(|port| port.key).collect();
        let left = self
            .tree
            .listeners
            .iter()
            .filter(|listener| !wanted.contains(&key(listener)));
        left.filter(|listener| self.relation.owns(listener))
            .flat_map(|listener| remove(self.tree, listener))
            .collect()
    }

    /// The load balancer's tags, and its name if the cluster got another.
    fn mark(&self) -> Option<Step> {
        let (balancer, relation) = (&self.tree.balancer, self.relation);
        let renamed = relation.previous_name.as_ref().filter(|name| **name == balancer.name);
        let tags = marked(&balancer.tags, &self.desired.tags, relation);
        if renamed.is_none() && tags.is_none() {
            return None;
        }
        let added = tags
            .iter()
            .flatten()
            .filter(|tag| !balancer.tags.contains(tag))
            .cloned()
            .collect();
        Some(Step::UpdateLoadBalancer {
            change: LoadBalancerChange {
                name: renamed.map(|_| relation.name.clone()),
                tags,
            },
            added,
        })
    }
}

/// The steps that delete a listener and its pool.
fn remove(tree: &Tree, listener: &Listener) -> Vec<Step> {
    let pool = tree.pool_of(listener).map(delete_pool);
    let listener = Step::DeleteListener {
        key: key(listener),
        id: listener.id.clone(),
    };
    pool.into_iter().chain([listener]).collect()
}

/// The steps that delete those of these pools that have no listener.
fn unused_pools<'a>(tree: &'a Tree, is_meant: impl Fn(&Pool) -> bool + 'a) -> impl Iterator<Item = Step> + 'a {
    let unused = tree.pools.iter().filter(|pool| !tree.is_used(pool));
    unused.filter(move |pool| is_meant(pool)).map(delete_pool)
}

fn is_ours(pool: &Pool, relation: &Relation) -> bool {
    let mut names = relation.names();
    names.any(|name| names::is_child("pool", &pool.name, name))
}

/// The load balancer without the tags of the Service; all others are kept.
fn unmark(balancer: &LoadBalancer, relation: &Relation) -> Option<Step> {
    let is_name = |tag: &&String| relation.names().any(|name| name == *tag);
    let is_uid =
        |tag: &&String| relation.ownership == Ownership::Owner && names::uid_of(std::slice::from_ref(*tag)).is_some();
    let left = balancer.tags.iter().filter(|tag| !is_name(tag) && !is_uid(tag));
    let left = left.cloned().collect();
    let is_marked = balancer.tags.iter().any(|tag| is_name(&tag));
    is_marked.then(|| Step::UpdateLoadBalancer {
        change: LoadBalancerChange {
            name: None,
            tags: Some(left),
        },
        added: Vec::new(),
    })
}

fn delete_pool(pool: &Pool) -> Step {
    Step::DeletePool {
        name: pool.name.clone(),
        id: pool.id.clone(),
    }
}

fn create_monitor(pool: Option<&Pool>, wanted: &NewMonitor, port: &Port) -> Step {
    Step::CreateMonitor {
        key: port.key,
        new: NewMonitor {
            pool_id: pool.map(|pool| pool.id.clone()),
            ..wanted.clone()
        },
    }
}

#[cfg(test)]
mod tests;
