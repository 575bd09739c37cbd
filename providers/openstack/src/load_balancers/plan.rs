//! What has to be done so that a load balancer is what a Service asks for. Pure.

mod changes;
mod members;

use super::{
    desired::{Desired, Place, Port, Wish},
    names,
    ownership::Identity,
    step::Step,
    tree::{Tree, key},
};
use crate::api::octavia::{Listener, LoadBalancerChange, Member, Monitor, NewListener, NewMonitor, NewPool, Pool};
use changes::{listener_change, marked, monitor_change, pool_changes};
use cloud::{Error, Result};
use members::members;
use provider_kit::load_balancer::Ownership;
use std::collections::BTreeSet;

/// The steps, in an order in which Octavia takes them: what is in the way goes first, what is no longer needed goes last.
///
/// # Errors
/// If a port is taken by another Service.
pub(crate) fn plan(tree: &Tree, desired: &Desired, identity: &Identity) -> Result<Vec<Step>> {
    let planner = Planner {
        tree,
        desired,
        identity,
    };
    let mark = planner.mark();
    let guest = identity.ownership == Ownership::Guest && identity.former.is_none();
    // A guest first says that it is there, so that the owner, if it leaves now, leaves the load balancer behind.
    let (first, last) = if guest { (mark, None) } else { (None, mark) };
    let mut steps = Vec::from_iter(first);
    for port in &desired.ports {
        steps.extend(planner.port(port)?);
    }
    steps.extend(planner.leftovers());
    steps.extend(planner.orphans());
    steps.extend(last);
    Ok(steps)
}

/// The steps that replace the hosts and nothing else, on every port that the Service has there, asked for or not. Where the
/// members' subnet is not known, new ones are where those are that are there.
pub(crate) fn plan_hosts(tree: &Tree, wish: &Wish<'_>, place: &Place, identity: &Identity) -> Vec<Step> {
    let ours = tree.listeners.iter().filter(|listener| identity.owns(listener));
    let pools = ours.filter_map(|listener| Some((key(listener), tree.pool_of(listener)?)));
    pools
        .flat_map(|(key, pool)| {
            let there = tree.members_of(pool);
            let asked = wish
                .spec
                .ports
                .iter()
                .find(|port| (port.protocol, port.port) == (key.protocol, key.port));
            let node_port = match asked {
                Some(port) => port.node_port.filter(|port| *port != 0),
                None => there.first().map(|member| member.protocol_port),
            };
            let place = Place {
                member_subnet: place.member_subnet.clone().or_else(|| subnet_of(there)),
                ..place.clone()
            };
            let wanted = node_port.map_or_else(Vec::new, |port| wish.members(key.protocol, port, &place));
            members(key, Some(pool), there, &wanted, wish.member_mode())
        })
        .collect()
}

fn subnet_of(members: &[Member]) -> Option<String> {
    members.iter().find_map(|member| member.subnet_id.clone())
}

struct Planner<'a> {
    tree: &'a Tree,
    desired: &'a Desired,
    identity: &'a Identity,
}

impl Planner<'_> {
    fn port(&self, port: &Port) -> Result<Vec<Step>> {
        let there = self.tree.listeners.iter().find(|listener| key(listener) == port.key);
        let Some(listener) = there else {
            return Ok(self.create(port));
        };
        if !self.identity.may_claim(listener) {
            return Err(Error::unusable(
                format!("port {} of load balancer {}", port.key, self.tree.balancer.id),
                format!(
                    "it belongs to another owner: listener {} ({})",
                    listener.id, listener.name
                ),
            ));
        }
        if listener.protocol != port.listener.protocol {
            // Octavia takes no second listener on the port, whatever its protocol.
            return Ok([self.remove(listener), self.create(port)].concat());
        }
        let change = listener_change(listener, &port.listener, &self.desired.headers, self.identity);
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
        let changes = pool_changes(pool, &port.pool, self.identity)
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

    /// The Go program names a guest's monitors after the load balancer when nodes change and after the Service otherwise:
    /// either name does.
    fn monitor_name(&self, there: &Monitor, wanted: &NewMonitor) -> String {
        let guest = self.identity.ownership == Ownership::Guest && self.identity.former.is_none();
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
        left.filter(|listener| self.identity.owns(listener))
            .flat_map(|listener| self.remove(listener))
            .collect()
    }

    fn remove(&self, listener: &Listener) -> Vec<Step> {
        remove(self.tree, listener)
    }

    /// Pools of ours that nothing leads to: their listener was deleted behind our back, or we crashed in between.
    fn orphans(&self) -> Vec<Step> {
        let ours = |pool: &&Pool| {
            self.identity
                .named()
                .any(|name| names::is_child("pool", &pool.name, name))
        };
        let unused = self.tree.pools.iter().filter(|pool| !self.tree.is_used(pool));
        unused.filter(ours).map(delete_pool).collect()
    }

    /// The load balancer's tags, and its name if the cluster got another.
    fn mark(&self) -> Option<Step> {
        let (balancer, identity) = (&self.tree.balancer, self.identity);
        let renamed = identity.former.as_ref().filter(|former| **former == balancer.name);
        let tags = marked(&balancer.tags, &self.desired.tags, identity);
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
                name: renamed.map(|_| identity.name.clone()),
                tags,
            },
            added,
        })
    }
}

/// The steps that take a listener and its pool away.
pub(crate) fn remove(tree: &Tree, listener: &Listener) -> Vec<Step> {
    let pool = tree.pool_of(listener).map(delete_pool);
    let listener = Step::DeleteListener {
        key: key(listener),
        id: listener.id.clone(),
    };
    pool.into_iter().chain([listener]).collect()
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
