//! Which routes have to go, which have to come, and which nodes can be reached then.

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

/// What has to be done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Routes that have to go, before any comes.
    pub delete: Vec<Route>,
    /// Routes that have to come.
    pub create: Vec<NewRoute>,
    /// The nodes whose condition we write: those with pods' addresses, and those that have a route without.
    pub nodes: BTreeSet<String>,
    /// Nodes that cannot be routed whatever is created: no readable pod CIDR.
    pub unroutable: BTreeSet<String>,
}

/// Compares what the nodes need with what the cloud has. Routes to nodes of `others` are another manager's.
#[must_use]
pub fn plan(nodes: &[Arc<Node>], others: &BTreeSet<String>, there: &[Route], cluster_cidrs: &[IpNet]) -> Plan {
    let wanted = wanted(nodes);
    let mut plan = Plan::default();
    let mut kept = BTreeSet::new();
    for route in there {
        let needed = target(route).and_then(|node| wanted.get(&(node, route.destination.trunc())));
        match needed {
            Some(new) if fits(route, new) => {
                kept.insert((new.node.as_str(), new.destination));
            }
            _ if target(route).is_some_and(|node| others.contains(node)) => {}
            _ if is_ours(&route.destination, cluster_cidrs) => plan.delete.push(route.clone()),
            _ => {}
        }
    }
    plan.create = wanted
        .values()
        .filter(|new| !kept.contains(&(new.node.as_str(), new.destination)))
        .cloned()
        .collect();
    let routed_now = there
        .iter()
        .filter_map(target)
        .filter(|name| nodes.iter().any(|node| node.name_any() == *name));
    plan.nodes = wanted
        .keys()
        .map(|(node, _)| *node)
        .chain(routed_now)
        .map(str::to_owned)
        .collect();
    let readable: BTreeSet<_> = wanted.keys().map(|(node, _)| *node).collect();
    plan.unroutable = plan
        .nodes
        .iter()
        .filter(|node| !readable.contains(node.as_str()))
        .cloned()
        .collect();
    plan
}

/// Whether a route is inside our range: one of its ends is. A route that contains the whole range is somebody else's.
#[must_use]
pub fn is_ours(destination: &IpNet, cluster_cidrs: &[IpNet]) -> bool {
    cluster_cidrs
        .iter()
        .any(|cidr| cidr.contains(&destination.network()) || cidr.contains(&destination.broadcast()))
}

/// The route of each node and pod CIDR, in canonical form: the same CIDR in another spelling is the same.
fn wanted(nodes: &[Arc<Node>]) -> BTreeMap<(&str, IpNet), NewRoute> {
    let mut wanted = BTreeMap::new();
    for node in nodes {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        for cidr in pod_cidrs(node).iter().filter_map(|cidr| cidr.parse::<IpNet>().ok()) {
            wanted.insert((name, cidr.trunc()), new_route(node, cidr.trunc()));
        }
    }
    wanted
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

/// The node that a route leads to.
pub(super) fn target(route: &Route) -> Option<&str> {
    match &route.target {
        RouteTarget::Node(name) => Some(name),
        RouteTarget::Blackhole | RouteTarget::Unknown => None,
    }
}

/// Whether a route that leads to the right node does so by the right addresses, in any order.
fn fits(route: &Route, new: &NewRoute) -> bool {
    let same = |there: &Vec<Address>| {
        there.len() == new.addresses.len() && new.addresses.iter().all(|address| there.contains(address))
    };
    route.addresses.as_ref().is_none_or(same)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.delete.is_empty() && self.create.is_empty() {
            return f.write_str("keep");
        }
        let gone = self.delete.iter().map(|route| match &route.target {
            RouteTarget::Node(node) => format!("-{node} {}", route.destination),
            RouteTarget::Blackhole => format!("-blackhole {}", route.destination),
            RouteTarget::Unknown => format!("-? {}", route.destination),
        });
        let new = self
            .create
            .iter()
            .map(|route| format!("+{} {}", route.node, route.destination));
        let mut steps: Vec<_> = gone.collect();
        steps.sort();
        steps.extend(new);
        f.write_str(&steps.join(", "))
    }
}
