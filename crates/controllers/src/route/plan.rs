//! Which routes are deleted and created, and which Nodes have all their routes then. Pure.

use crate::nodes::{addresses::to_cloud, pod_cidrs, provider_id};
use cloud::{Address, NewRoute, Route, RouteTarget};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

/// The changes of the routes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Routes to delete, before others are created.
    pub delete: Vec<Route>,
    /// Routes to create.
    pub create: Vec<NewRoute>,
    /// Nodes with a condition: those with pod CIDRs, and those with a route.
    pub nodes: BTreeSet<String>,
    /// Nodes for which no route can be created, because they have no valid pod CIDR.
    pub unroutable: BTreeSet<String>,
}

/// Compares the desired routes of the Nodes with the `current` ones. Routes to Nodes of `others` are managed by other
/// managers.
#[must_use]
pub fn plan(nodes: &[Arc<Node>], others: &BTreeSet<String>, current: &[Route], cluster_cidrs: &[IpNet]) -> Plan {
    let desired = desired(nodes);
    let mut plan = Plan::default();
    let mut kept = BTreeSet::new();
    for route in current {
        let needed = target(route).and_then(|node| desired.get(&(node, route.destination.trunc())));
        match needed {
            Some(new) if fits(route, new) => {
                kept.insert((new.node.as_str(), new.destination));
            }
            _ if target(route).is_some_and(|node| others.contains(node)) => {}
            _ if is_ours(&route.destination, cluster_cidrs) => plan.delete.push(route.clone()),
            _ => {}
        }
    }
    plan.create = desired
        .values()
        .filter(|new| !kept.contains(&(new.node.as_str(), new.destination)))
        .cloned()
        .collect();
    let routed_now = current
        .iter()
        .filter_map(target)
        .filter(|name| nodes.iter().any(|node| node.name_any() == *name));
    plan.nodes = desired
        .keys()
        .map(|(node, _)| *node)
        .chain(routed_now)
        .map(str::to_owned)
        .collect();
    let valid: BTreeSet<_> = desired.keys().map(|(node, _)| *node).collect();
    plan.unroutable = plan
        .nodes
        .iter()
        .filter(|node| !valid.contains(node.as_str()))
        .cloned()
        .collect();
    plan
}

/// Replaces machines by the Nodes that run on them. A machine without a Node is an unknown target.
pub(super) fn name_targets(routes: &mut [Route], nodes: &[Arc<Node>]) {
    for route in routes {
        let is_target = |node: &&Arc<Node>| {
            let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
            route.target.is(&node.name_any(), id)
        };
        if matches!(route.target, RouteTarget::Machine(_)) {
            let node = nodes.iter().find(is_target);
            route.target = node.map_or(RouteTarget::Unknown, |node| RouteTarget::Node(node.name_any()));
        }
    }
}

/// Whether a route is managed by this controller: its destination begins or ends within a cluster CIDR. A route that
/// contains a whole cluster CIDR is not.
#[must_use]
pub fn is_ours(destination: &IpNet, cluster_cidrs: &[IpNet]) -> bool {
    cluster_cidrs
        .iter()
        .any(|cidr| cidr.contains(&destination.network()) || cidr.contains(&destination.broadcast()))
}

/// The route for each Node and pod CIDR. CIDRs are compared in canonical form.
fn desired(nodes: &[Arc<Node>]) -> BTreeMap<(&str, IpNet), NewRoute> {
    let mut desired = BTreeMap::new();
    for node in nodes {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        for cidr in pod_cidrs(node).iter().filter_map(|cidr| cidr.parse::<IpNet>().ok()) {
            desired.insert((name, cidr.trunc()), new_route(node, cidr.trunc()));
        }
    }
    desired
}

fn new_route(node: &Node, destination: IpNet) -> NewRoute {
    NewRoute {
        hint: node.uid().unwrap_or_default(),
        node: node.name_any(),
        provider_id: provider_id(node),
        addresses: to_cloud(node).collect(),
        destination,
    }
}

/// The Node that is the target of a route.
pub(super) fn target(route: &Route) -> Option<&str> {
    match &route.target {
        RouteTarget::Node(name) => Some(name),
        RouteTarget::Machine(_) | RouteTarget::Blackhole | RouteTarget::Unknown => None,
    }
}

/// Whether a route to the right Node has the right addresses, in any order.
fn fits(route: &Route, new: &NewRoute) -> bool {
    let same = |current: &Vec<Address>| {
        current.len() == new.addresses.len() && new.addresses.iter().all(|address| current.contains(address))
    };
    route.addresses.as_ref().is_none_or(same)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.delete.is_empty() && self.create.is_empty() {
            return f.write_str("keep");
        }
        let deleted = self.delete.iter().map(|route| match &route.target {
            RouteTarget::Node(node) => format!("-{node} {}", route.destination),
            RouteTarget::Blackhole => format!("-blackhole {}", route.destination),
            RouteTarget::Machine(_) | RouteTarget::Unknown => format!("-? {}", route.destination),
        });
        let created = self
            .create
            .iter()
            .map(|route| format!("+{} {}", route.node, route.destination));
        let mut steps: Vec<_> = deleted.collect();
        steps.sort();
        steps.extend(created);
        f.write_str(&steps.join(", "))
    }
}
