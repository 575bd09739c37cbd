//! The steps that give a router certain routes. Pure.

use super::node_route::NodeRoute;
use crate::api::neutron::ports::Port;
use cloud::{Error, Result};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    net::IpAddr,
};

/// The step for one route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteStep {
    /// The route.
    pub hop: NodeRoute,
    /// Whether the router has it already.
    pub there: Presence,
    /// Routes to the same destination whose next hop does not exist, or is another address of the same machine.
    pub replaced: Vec<NodeRoute>,
}

/// Whether a router has a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It does.
    Present,
    /// It does not.
    Missing,
}

/// The steps for these routes. `ports` are those at the next hops, also of existing routes; `vacant` are routes without a port that may be
/// replaced.
pub fn plan(
    wanted: Vec<Result<NodeRoute>>,
    there: &[NodeRoute],
    ports: &HashMap<IpAddr, Port>,
    vacant: &HashSet<NodeRoute>,
    needs_port: NeedsPort,
) -> Vec<Result<RouteStep>> {
    let mut taken: BTreeMap<_, IpAddr> = BTreeMap::new();
    let step = |hop: Result<NodeRoute>| {
        let hop = hop?;
        let first = *taken.entry(hop.destination).or_insert(hop.next);
        if first != hop.next {
            return Err(is_taken(&hop, first));
        }
        let port = ports.get(&hop.next);
        if port.is_none() && needs_port == NeedsPort::Yes {
            return Err(no_port(&hop));
        }
        let replaced = replaced(&hop, port, there, ports, vacant)?;
        let there = if there.contains(&hop) {
            Presence::Present
        } else {
            Presence::Missing
        };
        Ok(RouteStep { hop, there, replaced })
    };
    wanted.into_iter().map(step).collect()
}

/// Whether a route needs a visible port at its next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedsPort {
    /// The port has to be changed.
    Yes,
    /// It does not have to be changed.
    No,
}

/// The routes that this one replaces. A route that belongs, or may belong, to another owner is an error.
fn replaced(
    hop: &NodeRoute,
    port: Option<&Port>,
    there: &[NodeRoute],
    ports: &HashMap<IpAddr, Port>,
    vacant: &HashSet<NodeRoute>,
) -> Result<Vec<NodeRoute>> {
    let rivals = there
        .iter()
        .filter(|rival| rival.destination == hop.destination && rival.next != hop.next);
    let same_machine = |theirs: &Port| port.is_some_and(|ours| ours.device_id == theirs.device_id);
    let gives_way = |rival: &NodeRoute| match ports.get(&rival.next) {
        Some(theirs) if same_machine(theirs) => Ok(*rival),
        Some(_) => Err(is_taken(hop, rival.next)),
        None if vacant.contains(rival) => Ok(*rival),
        None => Err(may_be_taken(hop, rival.next)),
    };
    rivals.map(gives_way).collect()
}

fn is_taken(hop: &NodeRoute, by: IpAddr) -> Error {
    Error::invalid(
        "route",
        format!("{} leads to {by} already, which is another machine", hop.destination),
    )
}

fn may_be_taken(hop: &NodeRoute, by: IpAddr) -> Error {
    Error::invalid(
        "route",
        format!(
            "{} leads to {by} already, where another project may have a machine; remove that route if it is not needed",
            hop.destination
        ),
    )
}

fn no_port(hop: &NodeRoute) -> Error {
    Error::unusable(
        format!("the port with the address {}", hop.next),
        "the router does not reach exactly one such port",
    )
}

impl fmt::Display for RouteStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for hop in &self.replaced {
            write!(f, "-{} ", hop.name())?;
        }
        let sign = match self.there {
            Presence::Present => "=",
            Presence::Missing => "+",
        };
        write!(f, "{sign}{}", self.hop.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// Addresses and their devices: `10.0.0.5=a` belongs to machine a, `10.0.0.9=` to none.
    fn devices(text: &str) -> impl Iterator<Item = (IpAddr, &str)> {
        let words = text.split_whitespace().map(|word| word.split_once('=').unwrap());
        words.map(|(ip, device)| (ip.parse().unwrap(), device))
    }

    fn ports(text: &str) -> HashMap<IpAddr, Port> {
        let port = |device: &str| Port {
            device_id: device.to_owned(),
            ..Port::default()
        };
        let there = devices(text).filter(|(_, device)| !device.is_empty());
        there.map(|(ip, device)| (ip, port(device))).collect()
    }

    fn vacant(text: &str, there: &[NodeRoute]) -> HashSet<NodeRoute> {
        let empty: Vec<IpAddr> = devices(text)
            .filter(|(_, device)| device.is_empty())
            .map(|(ip, _)| ip)
            .collect();
        there.iter().filter(|hop| empty.contains(&hop.next)).copied().collect()
    }

    fn hops(names: &[&str]) -> Vec<NodeRoute> {
        names.iter().map(|name| NodeRoute::named(name).unwrap()).collect()
    }

    const NEW: &str = "10.244.1.0/24 via 10.0.0.5";
    const OLD: &str = "10.244.1.0/24 via 10.0.0.9";

    #[rstest]
    #[case::no_routes(&[NEW], &[], "10.0.0.5=a", "+10.244.1.0/24 via 10.0.0.5")]
    #[case::there(&[NEW], &[NEW], "10.0.0.5=a", "=10.244.1.0/24 via 10.0.0.5")]
    #[case::blackhole(&[NEW], &[OLD], "10.0.0.5=a 10.0.0.9=", "-10.244.1.0/24 via 10.0.0.9 +10.244.1.0/24 via 10.0.0.5")]
    #[case::unseen(&[NEW], &[OLD], "10.0.0.5=a", "10.244.1.0/24 leads to 10.0.0.9 already, where another project may")]
    #[case::there_and_unseen(&[NEW], &[NEW, OLD], "10.0.0.5=a", "10.244.1.0/24 leads to 10.0.0.9 already, where another")]
    #[case::other_address_of_the_machine(&[NEW], &[OLD], "10.0.0.5=a 10.0.0.9=a", "-10.244.1.0/24 via 10.0.0.9 +10.244.1.0/24 via 10.0.0.5")]
    #[case::other_machine(&[NEW], &[OLD], "10.0.0.5=a 10.0.0.9=b", "10.244.1.0/24 leads to 10.0.0.9 already")]
    #[case::both(&[NEW], &[NEW, OLD], "10.0.0.5=a 10.0.0.9=b", "10.244.1.0/24 leads to 10.0.0.9 already")]
    #[case::no_port(&[NEW], &[], "", "the port with the address 10.0.0.5 cannot be used: the router does not reach exactly one such port")]
    #[case::twice(&[NEW, NEW], &[], "10.0.0.5=a", "+10.244.1.0/24 via 10.0.0.5, +10.244.1.0/24 via 10.0.0.5")]
    #[case::rivals(&[NEW, OLD], &[], "10.0.0.5=a 10.0.0.9=b", "+10.244.1.0/24 via 10.0.0.5, 10.244.1.0/24 leads to 10.0.0.5 already")]
    fn plans(#[case] wanted: &[&str], #[case] there: &[&str], #[case] behind: &str, #[case] expected: &str) {
        let wanted = hops(wanted).into_iter().map(Ok).collect();
        let there = hops(there);
        let vacant = vacant(behind, &there);
        let steps = plan(wanted, &there, &ports(behind), &vacant, NeedsPort::Yes);
        let text = |step: &Result<RouteStep>| step.as_ref().map_or_else(Error::report, ToString::to_string);
        let texts: Vec<String> = steps.iter().map(text).collect();
        for (text, expected) in texts.iter().zip(expected.split(", ")) {
            assert!(text.contains(expected), "{texts:?}");
        }
    }
}
