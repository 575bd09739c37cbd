//! What has to be done so that a router has certain routes. Pure.

use super::hop::Hop;
use crate::api::neutron::ports::Port;
use cloud::{Error, Result};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    net::IpAddr,
};

/// What is done for one route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The route.
    pub hop: Hop,
    /// Whether the router has it already.
    pub there: There,
    /// Routes to the same destination that lead nowhere, or elsewhere on the same machine.
    pub replaced: Vec<Hop>,
}

/// Whether a router has a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum There {
    /// It does.
    Already,
    /// It does not.
    NotYet,
}

/// Decides for each route what is done. `ports` has what is at the next hops, of those that are there, too; `vacant` are
/// those that may be replaced of which it has none.
pub fn plan(
    wanted: Vec<Result<Hop>>,
    there: &[Hop],
    ports: &HashMap<IpAddr, Port>,
    vacant: &HashSet<Hop>,
    needs_port: NeedsPort,
) -> Vec<Result<Step>> {
    let mut taken: BTreeMap<_, IpAddr> = BTreeMap::new();
    let step = |hop: Result<Hop>| {
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
            There::Already
        } else {
            There::NotYet
        };
        Ok(Step { hop, there, replaced })
    };
    wanted.into_iter().map(step).collect()
}

/// Whether a route can be made only to a port that we see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedsPort {
    /// The port has to be changed.
    Yes,
    /// There is nothing to change about it.
    No,
}

/// The routes that have to go for this one. One that is, or may be, somebody else's is in its way.
fn replaced(
    hop: &Hop,
    port: Option<&Port>,
    there: &[Hop],
    ports: &HashMap<IpAddr, Port>,
    vacant: &HashSet<Hop>,
) -> Result<Vec<Hop>> {
    let rivals = there
        .iter()
        .filter(|rival| rival.destination == hop.destination && rival.next != hop.next);
    let same_machine = |theirs: &Port| port.is_some_and(|ours| ours.device_id == theirs.device_id);
    let gives_way = |rival: &Hop| match ports.get(&rival.next) {
        Some(theirs) if same_machine(theirs) => Ok(*rival),
        Some(_) => Err(is_taken(hop, rival.next)),
        None if vacant.contains(rival) => Ok(*rival),
        None => Err(may_be_taken(hop, rival.next)),
    };
    rivals.map(gives_way).collect()
}

fn is_taken(hop: &Hop, by: IpAddr) -> Error {
    Error::invalid(
        "route",
        format!("{} leads to {by} already, which is another machine", hop.destination),
    )
}

fn may_be_taken(hop: &Hop, by: IpAddr) -> Error {
    Error::invalid(
        "route",
        format!(
            "{} leads to {by} already, where another project may have a machine; remove that route if nobody needs it",
            hop.destination
        ),
    )
}

fn no_port(hop: &Hop) -> Error {
    Error::unusable(
        format!("the port with the address {}", hop.next),
        "the router does not reach exactly one such port",
    )
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for hop in &self.replaced {
            write!(f, "-{} ", hop.name())?;
        }
        let sign = match self.there {
            There::Already => "=",
            There::NotYet => "+",
        };
        write!(f, "{sign}{}", self.hop.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// Addresses and what is there: `10.0.0.5=a` is one of machine a, `10.0.0.9=` one where nothing is.
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

    fn vacant(text: &str, there: &[Hop]) -> HashSet<Hop> {
        let empty: Vec<IpAddr> = devices(text)
            .filter(|(_, device)| device.is_empty())
            .map(|(ip, _)| ip)
            .collect();
        there.iter().filter(|hop| empty.contains(&hop.next)).copied().collect()
    }

    fn hops(names: &[&str]) -> Vec<Hop> {
        names.iter().map(|name| Hop::named(name).unwrap()).collect()
    }

    const NEW: &str = "10.244.1.0/24 via 10.0.0.5";
    const OLD: &str = "10.244.1.0/24 via 10.0.0.9";

    #[rstest]
    #[case::nothing_there(&[NEW], &[], "10.0.0.5=a", "+10.244.1.0/24 via 10.0.0.5")]
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
        let text = |step: &Result<Step>| step.as_ref().map_or_else(Error::report, ToString::to_string);
        let texts: Vec<String> = steps.iter().map(text).collect();
        for (text, expected) in texts.iter().zip(expected.split(", ")) {
            assert!(text.contains(expected), "{texts:?}");
        }
    }
}
