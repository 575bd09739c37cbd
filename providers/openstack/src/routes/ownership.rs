//! The owner of a route. Pure.
//!
//! A router is shared with other clusters, with other projects whose ports are hidden, and with users who add routes. Neutron's routes have no
//! tags, so the port at the next hop is tagged with the name of the cluster. Routes of occm have no such tag, but their next hop is a port of a
//! node, which may send from the destination of the route.

use super::{features::Pairs, node_route::NodeRoute};
use crate::api::neutron::ports::Port;
use std::collections::{HashMap, HashSet};

/// The prefix of the tags.
const MARK: &str = "kube_route_";

/// The longest tag that all versions of Neutron accept.
const LONGEST_TAG: usize = 60;

/// The tag of a cluster.
pub fn tag(cluster: &str) -> String {
    let mut tag = format!("{MARK}{cluster}");
    tag.truncate(tag.floor_char_boundary(LONGEST_TAG));
    // A comma separates tags in a filter, and a slash separates segments of a path.
    tag.replace([',', '/'], "-")
}

/// The routes that this process has read or created.
#[derive(Debug, Default)]
pub struct State {
    clusters: HashMap<NodeRoute, String>,
    nodes: HashMap<NodeRoute, String>,
}

impl State {
    /// This route belongs to this cluster.
    pub fn learn(&mut self, cluster: &str, hop: NodeRoute) {
        self.clusters.insert(hop, cluster.to_owned());
    }

    /// The next hop of this route is this node.
    pub fn learn_node(&mut self, hop: NodeRoute, node: &str) {
        self.nodes.insert(hop, node.to_owned());
    }

    /// The node of a route.
    pub fn node(&self, hop: &NodeRoute) -> Option<String> {
        self.nodes.get(hop).cloned()
    }

    /// This route does not exist any more.
    pub fn forget(&mut self, hop: &NodeRoute) {
        self.clusters.remove(hop);
        self.nodes.remove(hop);
    }

    /// Forgets what is not among these.
    pub fn keep(&mut self, hops: &HashSet<NodeRoute>) {
        self.clusters.retain(|hop, _| hops.contains(hop));
        self.nodes.retain(|hop, _| hops.contains(hop));
    }

    fn owner(&self, hop: &NodeRoute) -> KnownOwner<'_> {
        self.clusters
            .get(hop)
            .map_or(KnownOwner::Unknown, |cluster| KnownOwner::Cluster(cluster))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum KnownOwner<'a> {
    Cluster(&'a str),
    Unknown,
}

/// The owner of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteOwner {
    /// This cluster.
    Ours,
    /// Another owner.
    Other,
    /// No port has the address of its next hop, and this process does not know it.
    Orphan,
}

/// The owner of a route. `is_node`: whether a device is known to run a node of this cluster.
pub fn owner_of(
    cluster: &str,
    hop: &NodeRoute,
    port: Option<&Port>,
    pairs: Pairs,
    known: &State,
    is_node: impl Fn(&str) -> bool,
) -> RouteOwner {
    let (KnownOwner::Unknown, Some(port)) = (known.owner(hop), port) else {
        return owner_of_unseen(cluster, hop, known);
    };
    let ours = match mark(port) {
        Some(mark) => mark == tag(cluster),
        None => is_node(&port.device_id) && (pairs == Pairs::Unknown || hop.is_allowed(port)),
    };
    if ours { RouteOwner::Ours } else { RouteOwner::Other }
}

/// The owner of a route whose next hop has no visible port.
pub fn owner_of_unseen(cluster: &str, hop: &NodeRoute, known: &State) -> RouteOwner {
    match known.owner(hop) {
        KnownOwner::Cluster(owner) if owner == cluster => RouteOwner::Ours,
        KnownOwner::Cluster(_) => RouteOwner::Other,
        KnownOwner::Unknown => RouteOwner::Orphan,
    }
}

/// The cluster tag of a port.
pub fn mark(port: &Port) -> Option<&str> {
    port.tags.iter().map(String::as_str).find(|tag| tag.starts_with(MARK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::neutron::ports::AddressPair;
    use rstest::rstest;

    fn port(tags: &[&str], pairs: &[&str], device: &str) -> Port {
        Port {
            device_id: device.to_owned(),
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            allowed_address_pairs: pairs
                .iter()
                .map(|&ip| AddressPair {
                    ip_address: ip.to_owned(),
                    mac_address: None,
                })
                .collect(),
            ..Port::default()
        }
    }

    const PAIR: &str = "10.244.1.0/24";

    #[rstest]
    #[case::marked(Some(port(&["kube_route_blue"], &[], "x")), None, RouteOwner::Ours)]
    #[case::marked_by_another(Some(port(&["kube_route_red"], &[PAIR], "node")), None, RouteOwner::Other)]
    #[case::occm_made_it(Some(port(&["web"], &[PAIR], "node")), None, RouteOwner::Ours)]
    #[case::by_hand_through_a_node(Some(port(&[], &[], "node")), None, RouteOwner::Other)]
    #[case::another_machine(Some(port(&[], &[PAIR], "gateway")), None, RouteOwner::Other)]
    #[case::no_port(None, None, RouteOwner::Orphan)]
    #[case::port_is_deleted(None, Some("blue"), RouteOwner::Ours)]
    #[case::port_of_another_cluster_is_deleted(None, Some("red"), RouteOwner::Other)]
    #[case::made_by_us(Some(port(&[], &[], "node")), Some("blue"), RouteOwner::Ours)]
    fn owners(#[case] port: Option<Port>, #[case] known_of: Option<&str>, #[case] expected: RouteOwner) {
        let hop = NodeRoute::named("10.244.1.0/24 via 10.0.0.5").unwrap();
        let mut known = State::default();
        if let Some(cluster) = known_of {
            known.learn(cluster, hop);
        }
        let is_node = |device: &str| device == "node";
        assert_eq!(
            owner_of("blue", &hop, port.as_ref(), Pairs::Needed, &known, is_node),
            expected
        );
    }

    #[rstest]
    #[case::plain("kubernetes", "kube_route_kubernetes")]
    #[case::no_filter("a,b/c", "kube_route_a-b-c")]
    #[case::long(&"x".repeat(80), &format!("kube_route_{}", "x".repeat(49)))]
    fn tags(#[case] cluster: &str, #[case] expected: &str) {
        assert_eq!(tag(cluster), expected);
    }
}
