//! What has to be done so that a router has certain routes. Pure.

use super::hop::Hop;
use crate::api::neutron::ports::Port;
use cloud::{Error, Result};
use std::{
    collections::{BTreeMap, HashMap},
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

/// Decides for each route what is done. `ports` has what is at the next hops, of those that are there, too.
pub fn plan(
    wanted: Vec<Result<Hop>>,
    there: &[Hop],
    ports: &HashMap<IpAddr, Port>,
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
        step(hop, port, there, ports)
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

fn step(hop: Hop, port: Option<&Port>, there: &[Hop], ports: &HashMap<IpAddr, Port>) -> Result<Step> {
    let rivals = there
        .iter()
        .filter(|rival| rival.destination == hop.destination && rival.next != hop.next);
    let replaced: Vec<Hop> = rivals.copied().collect();
    let elsewhere = replaced.iter().find(|rival| {
        let theirs = ports.get(&rival.next);
        theirs.is_some_and(|theirs| port.is_none_or(|ours| ours.device_id != theirs.device_id))
    });
    if let Some(rival) = elsewhere {
        return Err(is_taken(&hop, rival.next));
    }
    let there = if there.contains(&hop) {
        There::Already
    } else {
        There::NotYet
    };
    Ok(Step { hop, there, replaced })
}

fn is_taken(hop: &Hop, by: IpAddr) -> Error {
    Error::invalid(
        "route",
        format!("{} leads to {by} already, which is another machine", hop.destination),
    )
}

fn no_port(hop: &Hop) -> Error {
    Error::unavailable(
        "port list",
        format!(
            "there is not exactly one port with the address {} that the router can reach",
            hop.next
        ),
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

    /// Ports by address: `10.0.0.5=a` is an address of machine a.
    fn ports(text: &str) -> HashMap<IpAddr, Port> {
        let port = |word: &str| {
            let (ip, device) = word.split_once('=').unwrap();
            let port = Port {
                device_id: device.to_owned(),
                ..Port::default()
            };
            (ip.parse().unwrap(), port)
        };
        text.split_whitespace().map(port).collect()
    }

    fn hops(names: &[&str]) -> Vec<Hop> {
        names.iter().map(|name| Hop::named(name).unwrap()).collect()
    }

    const NEW: &str = "10.244.1.0/24 via 10.0.0.5";
    const OLD: &str = "10.244.1.0/24 via 10.0.0.9";

    #[rstest]
    #[case::nothing_there(&[NEW], &[], "10.0.0.5=a", "+10.244.1.0/24 via 10.0.0.5")]
    #[case::there(&[NEW], &[NEW], "10.0.0.5=a", "=10.244.1.0/24 via 10.0.0.5")]
    #[case::blackhole(&[NEW], &[OLD], "10.0.0.5=a", "-10.244.1.0/24 via 10.0.0.9 +10.244.1.0/24 via 10.0.0.5")]
    #[case::other_address_of_the_machine(&[NEW], &[OLD], "10.0.0.5=a 10.0.0.9=a", "-10.244.1.0/24 via 10.0.0.9 +10.244.1.0/24 via 10.0.0.5")]
    #[case::other_machine(&[NEW], &[OLD], "10.0.0.5=a 10.0.0.9=b", "10.244.1.0/24 leads to 10.0.0.9 already")]
    #[case::both(&[NEW], &[NEW, OLD], "10.0.0.5=a 10.0.0.9=b", "10.244.1.0/24 leads to 10.0.0.9 already")]
    #[case::no_port(&[NEW], &[], "", "not exactly one port with the address 10.0.0.5")]
    #[case::twice(&[NEW, NEW], &[], "10.0.0.5=a", "+10.244.1.0/24 via 10.0.0.5, +10.244.1.0/24 via 10.0.0.5")]
    #[case::rivals(&[NEW, OLD], &[], "10.0.0.5=a 10.0.0.9=b", "+10.244.1.0/24 via 10.0.0.5, 10.244.1.0/24 leads to 10.0.0.5 already")]
    fn plans(#[case] wanted: &[&str], #[case] there: &[&str], #[case] behind: &str, #[case] expected: &str) {
        let wanted = hops(wanted).into_iter().map(Ok).collect();
        let steps = plan(wanted, &hops(there), &ports(behind), NeedsPort::Yes);
        let text = |step: &Result<Step>| step.as_ref().map_or_else(Error::report, ToString::to_string);
        let texts: Vec<String> = steps.iter().map(text).collect();
        for (text, expected) in texts.iter().zip(expected.split(", ")) {
            assert!(text.contains(expected), "{texts:?}");
        }
    }
}
