//! The plan for a load balancer. Pure.

use crate::Balancer;
use cloud::{Affinity, Host, IpFamily, Port, Spec, TrafficPolicy};
use ipnet::IpNet;
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    net::IpAddr,
};

/// One change of a load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Creates it, with an address and nothing else.
    Create,
    /// Changes its addresses.
    Readdress,
    /// Removes a port.
    RemovePort(Port),
    /// Adds a port.
    AddPort(Port),
    /// Removes a host.
    RemoveHost(String),
    /// Adds a host, or replaces its data.
    AddHost(Host),
    /// Changes the ranges that may connect.
    SourceRanges(Vec<IpNet>),
    /// Changes its session affinity.
    Affinity(Affinity),
    /// Changes its traffic policy.
    Traffic(TrafficPolicy),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create => write!(f, "create"),
            Self::Readdress => write!(f, "readdress"),
            Self::RemovePort(port) => write!(f, "-port {}/{}", port.port, port.protocol.as_str()),
            Self::AddPort(port) => write!(f, "+port {}/{}", port.port, port.protocol.as_str()),
            Self::RemoveHost(name) => write!(f, "-host {name}"),
            Self::AddHost(host) => write!(f, "+host {}", host.name),
            Self::SourceRanges(ranges) => {
                let ranges: Vec<_> = ranges.iter().map(ToString::to_string).collect();
                write!(f, "source ranges {}", ranges.join(" "))
            }
            Self::Affinity(Affinity::None) => write!(f, "affinity none"),
            Self::Affinity(Affinity::ClientIp { timeout_seconds }) => {
                write!(f, "affinity client IP {timeout_seconds}s")
            }
            Self::Traffic(TrafficPolicy::Cluster) => write!(f, "traffic cluster"),
            Self::Traffic(TrafficPolicy::Local { .. }) => write!(f, "traffic local"),
        }
    }
}

/// The steps from the observed load balancer to the desired one, in the order in which they are applied.
pub(crate) fn plan(observed: Option<&Balancer>, spec: &Spec) -> Vec<Step> {
    let Some(observed) = observed else {
        let mut steps = vec![Step::Create];
        steps.extend(spec.ports.iter().cloned().map(Step::AddPort));
        steps.extend(spec.hosts.iter().map(|host| Step::AddHost((**host).clone())));
        steps.push(Step::SourceRanges(spec.source_ranges.clone()));
        steps.extend((spec.affinity != Affinity::default()).then_some(Step::Affinity(spec.affinity)));
        steps.extend((spec.traffic != TrafficPolicy::default()).then_some(Step::Traffic(spec.traffic)));
        return steps;
    };
    let mut steps = Vec::new();
    steps.extend((!addressed(observed, spec)).then_some(Step::Readdress));
    steps.extend(
        observed
            .ports
            .iter()
            .filter(|port| !spec.ports.contains(port))
            .cloned()
            .map(Step::RemovePort),
    );
    steps.extend(
        spec.ports
            .iter()
            .filter(|port| !observed.ports.contains(port))
            .cloned()
            .map(Step::AddPort),
    );
    steps.extend(plan_hosts(observed, spec));
    if !same_ranges(&observed.source_ranges, &spec.source_ranges) {
        steps.push(Step::SourceRanges(spec.source_ranges.clone()));
    }
    steps.extend((observed.affinity != spec.affinity).then_some(Step::Affinity(spec.affinity)));
    steps.extend((observed.traffic != spec.traffic).then_some(Step::Traffic(spec.traffic)));
    steps
}

/// The steps that make the hosts those of the spec.
pub(crate) fn plan_hosts(observed: &Balancer, spec: &Spec) -> Vec<Step> {
    let current: HashMap<&str, &Host> = observed
        .hosts
        .iter()
        .map(|host| (host.name.as_str(), host.as_ref()))
        .collect();
    let wanted: BTreeMap<&str, &Host> = spec.hosts.iter().map(|host| (host.name.as_str(), &**host)).collect();
    let gone = observed
        .hosts
        .iter()
        .filter(|host| !wanted.contains_key(host.name.as_str()));
    let new = wanted.values().filter(|host| {
        current
            .get(host.name.as_str())
            .is_none_or(|current| !same_host(current, host))
    });
    gone.map(|host| Step::RemoveHost(host.name.clone()))
        .chain(new.map(|host| Step::AddHost((**host).clone())))
        .collect()
}

/// Whether this cloud would send traffic to both in the same way. Labels do not matter to it.
pub(crate) fn same_host(a: &Host, b: &Host) -> bool {
    a.name == b.name && a.provider_id == b.provider_id && a.addresses == b.addresses
}

/// The families of a Service; IPv4 if it has none.
pub(crate) fn families(spec: &Spec) -> Vec<IpFamily> {
    if spec.families.is_empty() {
        vec![IpFamily::V4]
    } else {
        spec.families.clone()
    }
}

/// The family of an address.
pub(crate) fn family(ip: &IpAddr) -> IpFamily {
    if ip.is_ipv4() { IpFamily::V4 } else { IpFamily::V6 }
}

fn addressed(observed: &Balancer, spec: &Spec) -> bool {
    let asked = spec.ip.as_deref().filter(|ip| !ip.is_empty());
    observed.ips.iter().map(family).collect::<Vec<_>>() == families(spec)
        && asked.is_none_or(|asked| observed.ips.iter().any(|ip| asked.parse() == Ok(*ip)))
}

fn same_ranges(a: &[IpNet], b: &[IpNet]) -> bool {
    let sorted = |ranges: &[IpNet]| {
        let mut ranges = ranges.to_vec();
        ranges.sort_unstable();
        ranges.dedup();
        ranges
    };
    sorted(a) == sorted(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phase;
    use cloud::{Address, AddressKind, Protocol, ServiceRef};
    use rstest::rstest;
    use std::sync::Arc;

    /// `80 81/UDP -> a b; 10.0.0.0/8`: ports, hosts, source ranges.
    fn spec(text: &str) -> Spec {
        let (text, ranges) = text.split_once("; ").unwrap_or((text, "0.0.0.0/0"));
        let (ports, hosts) = text.split_once(" ->").expect("an arrow");
        Spec {
            ports: ports.split_whitespace().map(port).collect(),
            hosts: hosts.split_whitespace().map(host).map(Arc::new).collect(),
            source_ranges: ranges
                .split_whitespace()
                .map(|range| range.parse().expect("a range"))
                .collect(),
            ..Spec::default()
        }
    }

    fn port(text: &str) -> Port {
        let (port, protocol) = match text.split_once('/') {
            Some((port, _)) => (port, Protocol::Udp),
            None => (text, Protocol::Tcp),
        };
        Port {
            name: String::new(),
            protocol,
            port: port.parse().expect("a port"),
            node_port: None,
            app_protocol: None,
        }
    }

    /// `a@10.0.0.1` is `a` with an address, `a#x` is `a` with a label.
    fn host(text: &str) -> Host {
        let (text, label) = text.split_once('#').unwrap_or((text, ""));
        let (name, ip) = text.split_once('@').unwrap_or((text, "10.0.0.9"));
        Host {
            name: name.into(),
            addresses: vec![Address::new(AddressKind::InternalIP, ip)],
            labels: [("label".into(), label.into())].into(),
            ..Host::default()
        }
    }

    fn balancer(text: &str) -> Balancer {
        let spec = spec(text);
        Balancer {
            id: String::new(),
            name: String::new(),
            cluster: String::new(),
            service: ServiceRef::default(),
            ips: vec![IpAddr::from([198, 18, 0, 1])],
            ports: spec.ports,
            hosts: spec.hosts.to_vec(),
            source_ranges: spec.source_ranges,
            affinity: Affinity::None,
            traffic: TrafficPolicy::Cluster,
            phase: Phase::Ready,
        }
    }

    fn shown(steps: &[Step]) -> String {
        steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    #[rstest]
    #[case::new("80 -> a", None, "create, +port 80/TCP, +host a, source ranges 0.0.0.0/0")]
    #[case::as_asked("80 -> a b", Some("80 -> b a"), "")]
    #[case::ports_in_another_order("80 443 -> a", Some("443 80 -> a"), "")]
    #[case::ranges_in_another_order("80 -> a; 10.0.0.0/8 1.0.0.0/8", Some("80 -> a; 1.0.0.0/8 10.0.0.0/8"), "")]
    #[case::node_joined("80 -> a b", Some("80 -> a"), "+host b")]
    #[case::node_replaced("80 -> b", Some("80 -> a"), "-host a, +host b")]
    #[case::node_has_another_address("80 -> a@10.0.0.1", Some("80 -> a"), "+host a")]
    #[case::node_has_another_label("80 -> a#x", Some("80 -> a"), "")]
    #[case::no_nodes_left("80 ->", Some("80 -> a b"), "-host a, -host b")]
    #[case::port_moved("81 -> a", Some("80 -> a"), "-port 80/TCP, +port 81/TCP")]
    #[case::other_protocol("80/UDP -> a", Some("80 -> a"), "-port 80/TCP, +port 80/UDP")]
    #[case::other_ranges("80 -> a; 10.0.0.0/8", Some("80 -> a"), "source ranges 10.0.0.0/8")]
    fn plans(#[case] asked: &str, #[case] observed: Option<&str>, #[case] steps: &str) {
        let observed = observed.map(balancer);
        assert_eq!(shown(&plan(observed.as_ref(), &spec(asked))), steps);
    }

    #[rstest]
    #[case::affinity(Spec { affinity: Affinity::ClientIp { timeout_seconds: 60 }, ..spec("80 -> a") }, "affinity client IP 60s")]
    #[case::traffic(Spec { traffic: TrafficPolicy::Local { health_check_port: None }, ..spec("80 -> a") }, "traffic local")]
    #[case::ip(Spec { ip: Some("198.18.0.9".into()), ..spec("80 -> a") }, "readdress")]
    #[case::same_ip(Spec { ip: Some("198.18.0.1".into()), ..spec("80 -> a") }, "")]
    #[case::empty_ip(Spec { ip: Some(String::new()), ..spec("80 -> a") }, "")]
    #[case::second_family(Spec { families: vec![IpFamily::V4, IpFamily::V6], ..spec("80 -> a") }, "readdress")]
    fn plans_the_remaining_steps(#[case] asked: Spec, #[case] steps: &str) {
        assert_eq!(shown(&plan(Some(&balancer("80 -> a")), &asked)), steps);
    }

    #[test]
    fn hosts_alone() {
        assert_eq!(
            shown(&plan_hosts(&balancer("80 -> a b"), &spec("81 -> b c; 10.0.0.0/8"))),
            "-host a, +host c"
        );
    }
}
