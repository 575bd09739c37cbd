//! Whose a route is. Pure.
//!
//! A router is shared: with other clusters, with other projects whose ports we cannot see, with whoever adds routes by hand.
//! Neutron's routes bear no mark, so the mark is on the port behind the next hop: a tag with the cluster's name. Routes of
//! occm have no such tag, but lead to a port of one of our nodes, which is allowed to send from their destination.

use super::{abilities::Pairs, hop::Hop};
use crate::api::neutron::ports::Port;
use std::collections::{HashMap, HashSet};

/// What the tags begin with.
const MARK: &str = "kube_route_";

/// What all versions of Neutron take.
const LONGEST_TAG: usize = 60;

/// The tag of a cluster.
pub fn tag(cluster: &str) -> String {
    let mut tag = format!("{MARK}{cluster}");
    tag.truncate(tag.floor_char_boundary(LONGEST_TAG));
    // A comma would make two tags of it where it is used as a filter, and a slash another path.
    tag.replace([',', '/'], "-")
}

/// What this process has seen or made.
#[derive(Debug, Default)]
pub struct Known {
    clusters: HashMap<Hop, String>,
    nodes: HashMap<Hop, String>,
}

impl Known {
    /// This route is this cluster's.
    pub fn learn(&mut self, cluster: &str, hop: Hop) {
        self.clusters.insert(hop, cluster.to_owned());
    }

    /// This route leads to this node.
    pub fn learn_node(&mut self, hop: Hop, node: &str) {
        self.nodes.insert(hop, node.to_owned());
    }

    /// The node that a route was made for.
    pub fn node(&self, hop: &Hop) -> Option<String> {
        self.nodes.get(hop).cloned()
    }

    /// This route is gone.
    pub fn forget(&mut self, hop: &Hop) {
        self.clusters.remove(hop);
        self.nodes.remove(hop);
    }

    /// Forgets what is not among these.
    pub fn keep(&mut self, hops: &HashSet<Hop>) {
        self.clusters.retain(|hop, _| hops.contains(hop));
        self.nodes.retain(|hop, _| hops.contains(hop));
    }

    fn owner(&self, hop: &Hop) -> Owner<'_> {
        self.clusters
            .get(hop)
            .map_or(Owner::Unknown, |cluster| Owner::Cluster(cluster))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Owner<'a> {
    Cluster(&'a str),
    Unknown,
}

/// Whose a route is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// This cluster's.
    Ours,
    /// Somebody else's.
    Theirs,
    /// There is nothing at its next hop, and nobody remembers it.
    Orphan,
}

/// Decides whose a route is. `is_node` says whether a device is known to run one of our nodes.
pub fn whose(
    cluster: &str,
    hop: &Hop,
    port: Option<&Port>,
    pairs: Pairs,
    known: &Known,
    is_node: impl Fn(&str) -> bool,
) -> Whose {
    let (Owner::Unknown, Some(port)) = (known.owner(hop), port) else {
        return of_unseen(cluster, hop, known);
    };
    let ours = match mark(port) {
        Some(mark) => mark == tag(cluster),
        None => is_node(&port.device_id) && (pairs == Pairs::Unknown || hop.is_allowed(port)),
    };
    if ours { Whose::Ours } else { Whose::Theirs }
}

/// Decides whose a route is of which no port is seen.
pub fn of_unseen(cluster: &str, hop: &Hop, known: &Known) -> Whose {
    match known.owner(hop) {
        Owner::Cluster(owner) if owner == cluster => Whose::Ours,
        Owner::Cluster(_) => Whose::Theirs,
        Owner::Unknown => Whose::Orphan,
    }
}

/// The tag of whichever cluster has marked this port.
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
    #[case::marked(Some(port(&["kube_route_blue"], &[], "x")), None, Whose::Ours)]
    #[case::marked_by_another(Some(port(&["kube_route_red"], &[PAIR], "node")), None, Whose::Theirs)]
    #[case::occm_made_it(Some(port(&["web"], &[PAIR], "node")), None, Whose::Ours)]
    #[case::by_hand_through_a_node(Some(port(&[], &[], "node")), None, Whose::Theirs)]
    #[case::another_machine(Some(port(&[], &[PAIR], "gateway")), None, Whose::Theirs)]
    #[case::nothing_there(None, None, Whose::Orphan)]
    #[case::nothing_there_any_more(None, Some("blue"), Whose::Ours)]
    #[case::nothing_there_of_another(None, Some("red"), Whose::Theirs)]
    #[case::made_by_us(Some(port(&[], &[], "node")), Some("blue"), Whose::Ours)]
    fn owners(#[case] port: Option<Port>, #[case] known_of: Option<&str>, #[case] expected: Whose) {
        let hop = Hop::named("10.244.1.0/24 via 10.0.0.5").unwrap();
        let mut known = Known::default();
        if let Some(cluster) = known_of {
            known.learn(cluster, hop);
        }
        let is_node = |device: &str| device == "node";
        assert_eq!(
            whose("blue", &hop, port.as_ref(), Pairs::Needed, &known, is_node),
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
