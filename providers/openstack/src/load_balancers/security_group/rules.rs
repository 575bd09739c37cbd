//! Which rules a group has, and which it should have. Pure.

use crate::api::neutron::security_groups::{NewSecurityGroupRule, SecurityGroupRule};
use cloud::{IpFamily, Protocol, Spec, TrafficPolicy};
use ipnet::IpNet;
use std::{collections::BTreeSet, fmt};

/// Lets traffic in: to one port, from one range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rule {
    /// Which protocol.
    pub protocol: Protocol,
    /// To which port.
    pub port: u16,
    /// From where; it decides the rule's family, too.
    pub source: IpNet,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} from {}", self.port, self.protocol.as_str(), self.source)
    }
}

/// From where traffic comes to the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sources {
    /// From the balancer, which is in the members' subnet.
    Balancer,
    /// From the clients themselves: ovn keeps their addresses.
    Clients,
}

/// The rules that open the node ports of a Service. Probes of `healthCheckNodePort` come from the members' subnet. `vips` are the families of
/// the load balancer's addresses: no client uses another one.
pub(crate) fn wanted(spec: &Spec, sources: Sources, vips: &[IpFamily], subnets: &[IpNet]) -> BTreeSet<Rule> {
    let clients: Vec<IpNet> = spec
        .source_ranges
        .iter()
        .copied()
        .filter(|range| is_of(&spec.families, range) && is_of(vips, range))
        .collect();
    let ranges = match sources {
        Sources::Balancer => subnets,
        Sources::Clients => &clients,
    };
    let node_ports = spec
        .ports
        .iter()
        .filter_map(|port| Some((port.protocol, port.node_port?)));
    let traffic = node_ports.flat_map(|port| ranges.iter().map(move |range| (port, range)));
    let probes = match spec.traffic {
        TrafficPolicy::Local { health_check_port } => health_check_port,
        TrafficPolicy::Cluster => None,
    };
    let probes = probes.map(|port| (Protocol::Tcp, port)).into_iter();
    traffic
        .chain(probes.flat_map(|port| subnets.iter().map(move |range| (port, range))))
        .filter(|((_, port), _)| *port != 0)
        .map(|((protocol, port), source)| Rule {
            protocol,
            port,
            source: source.trunc(),
        })
        .collect()
}

/// The missing rules, and the surplus ones. The two rules of every new group that allow all egress are surplus: the nodes' other groups decide
/// about that.
pub(crate) fn diff<'a>(
    wanted: &BTreeSet<Rule>,
    there: &'a [SecurityGroupRule],
) -> (Vec<Rule>, Vec<&'a SecurityGroupRule>) {
    let mut met = BTreeSet::new();
    let surplus = there.iter().filter(|rule| match parse(rule) {
        // Of two equal rules one is surplus.
        Some(rule) if wanted.contains(&rule) => !met.insert(rule),
        _ => true,
    });
    let surplus = surplus.collect();
    (wanted.difference(&met).copied().collect(), surplus)
}

/// The body of the request that creates a rule.
pub(crate) fn body(group: &str, rule: &Rule) -> NewSecurityGroupRule {
    NewSecurityGroupRule {
        security_group_id: group.to_owned(),
        direction: "ingress",
        ethertype: ethertype(rule.source),
        protocol: match rule.protocol {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Sctp => "sctp",
        },
        port_range_min: rule.port,
        port_range_max: rule.port,
        remote_ip_prefix: rule.source.to_string(),
    }
}

/// The rule as one of ours, if it can be one.
fn parse(rule: &SecurityGroupRule) -> Option<Rule> {
    let foreign = rule.remote_group_id.is_some() || rule.remote_address_group_id.is_some();
    if rule.direction != "ingress" || rule.port_range_min != rule.port_range_max || foreign {
        return None;
    }
    let name = rule.protocol.as_deref()?;
    let protocol = [Protocol::Tcp, Protocol::Udp, Protocol::Sctp]
        .into_iter()
        .find(|protocol| protocol.as_str().eq_ignore_ascii_case(name))?;
    let source: IpNet = rule.remote_ip_prefix.as_deref()?.parse().ok()?;
    (rule.ethertype == ethertype(source)).then_some(Rule {
        protocol,
        port: rule.port_range_min?,
        source: source.trunc(),
    })
}

fn ethertype(source: IpNet) -> &'static str {
    match source {
        IpNet::V4(_) => "IPv4",
        IpNet::V6(_) => "IPv6",
    }
}

/// Whether a range is of one of these families; all are if there are none.
fn is_of(families: &[IpFamily], range: &IpNet) -> bool {
    let family = match range {
        IpNet::V4(_) => IpFamily::V4,
        IpNet::V6(_) => IpFamily::V6,
    };
    families.is_empty() || families.contains(&family)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloud::Port;
    use rstest::rstest;

    fn rule(text: &str) -> Rule {
        let (target, source) = text.split_once(" from ").expect("port/protocol from range");
        let (port, protocol) = target.split_once('/').expect("port/protocol");
        let protocols = [Protocol::Tcp, Protocol::Udp, Protocol::Sctp];
        Rule {
            protocol: protocols
                .into_iter()
                .find(|known| known.as_str() == protocol)
                .expect("a protocol"),
            port: port.parse().expect("a port"),
            source: source.parse().expect("a range"),
        }
    }

    /// `123/tcp from 10.0.0.0/8` or `egress IPv4`, with an ID by its place.
    fn existing(texts: &[&str]) -> Vec<SecurityGroupRule> {
        let rule = |(index, text): (usize, &&str)| {
            let id = index.to_string();
            if let Some(ethertype) = text.strip_prefix("egress ") {
                return SecurityGroupRule {
                    id,
                    direction: "egress".to_owned(),
                    ethertype: ethertype.to_owned(),
                    ..SecurityGroupRule::default()
                };
            }
            let (target, source) = text.split_once(" from ").expect("port/protocol from range");
            let (port, protocol) = target.split_once('/').expect("port/protocol");
            SecurityGroupRule {
                id,
                direction: "ingress".to_owned(),
                ethertype: if source.contains(':') { "IPv6" } else { "IPv4" }.to_owned(),
                protocol: (!protocol.is_empty()).then(|| protocol.to_owned()),
                port_range_min: port.parse().ok(),
                port_range_max: port.parse().ok(),
                remote_ip_prefix: Some(source.to_owned()),
                ..SecurityGroupRule::default()
            }
        };
        texts.iter().enumerate().map(rule).collect()
    }

    // upstream: openstack 34
    #[rstest]
    #[case("Empty elements", &[], &[], "")]
    #[case(
        "Removal of default egress SG rules",
        &["123/TCP from 10.0.0.0/8"],
        &["egress IPv4", "egress IPv6"],
        "+123/TCP from 10.0.0.0/8 -0 -1"
    )]
    #[case("Protocol case mismatch", &["123/TCP from 10.0.0.0/8"], &["123/tcp from 10.0.0.0/8"], "")]
    #[case(
        "changing a port number",
        &["124/TCP from 10.0.0.0/8"],
        &["123/tcp from 10.0.0.0/8"],
        "+124/TCP from 10.0.0.0/8 -0"
    )]
    #[case(
        "changing the CIDR",
        &["123/TCP from 10.0.0.0/24"],
        &["123/tcp from 10.0.0.0/8"],
        "+123/TCP from 10.0.0.0/24 -0"
    )]
    #[case(
        "wiping all rules",
        &[],
        &["123/tcp from 10.0.0.0/8", "124/tcp from 10.0.0.0/8", "125/tcp from 10.0.0.0/8"],
        "-0 -1 -2"
    )]
    #[case(
        "several rules for an empty SG",
        &["123/TCP from 10.0.0.0/8", "124/TCP from 10.0.10.0/24", "124/UDP from 10.0.12.0/24"],
        &[],
        "+123/TCP from 10.0.0.0/8 +124/TCP from 10.0.10.0/24 +124/UDP from 10.0.12.0/24"
    )]
    #[case("rule of any protocol", &["123/TCP from 10.0.0.0/8"], &["123/ from 10.0.0.0/8"], "+123/TCP from 10.0.0.0/8 -0")]
    #[case("prefix that is not cut", &["123/TCP from 10.0.0.0/24"], &["123/tcp from 10.0.0.7/24"], "")]
    #[case("long form of IPv6", &["123/TCP from 2001:db8::/32"], &["123/tcp from 2001:0db8::/32"], "")]
    #[case(
        "the same twice",
        &["123/TCP from 10.0.0.0/24"],
        &["123/tcp from 10.0.0.0/24", "123/tcp from 10.0.0.7/24"],
        "-1"
    )]
    fn differs(#[case] name: &str, #[case] wanted: &[&str], #[case] there: &[&str], #[case] expected: &str) {
        let wanted = wanted.iter().map(|text| rule(text)).collect();
        let there = existing(there);
        let (missing, surplus) = diff(&wanted, &there);
        let missing = missing.iter().map(|rule| format!("+{rule}"));
        let surplus = surplus.iter().map(|rule| format!("-{}", rule.id));
        assert_eq!(missing.chain(surplus).collect::<Vec<_>>().join(" "), expected, "{name}");
    }

    #[test]
    fn a_rule_for_a_group_of_addresses_is_not_ours() {
        let mut there = existing(&["123/tcp from 10.0.0.0/24"]);
        there[0].remote_address_group_id = Some("x".to_owned());
        let wanted = [rule("123/TCP from 10.0.0.0/24")].into();
        assert_eq!(
            diff(&wanted, &there),
            ([rule("123/TCP from 10.0.0.0/24")].into(), vec![&there[0]])
        );
    }

    fn spec(ports: &[(Protocol, Option<u16>)], ranges: &[&str], families: &[IpFamily]) -> Spec {
        let port = |(protocol, node_port): &(Protocol, Option<u16>)| Port {
            name: String::new(),
            protocol: *protocol,
            port: 80,
            node_port: *node_port,
            app_protocol: None,
        };
        Spec {
            ports: ports.iter().map(port).collect(),
            source_ranges: ranges.iter().map(|range| range.parse().expect("a range")).collect(),
            families: families.to_vec(),
            ..Spec::default()
        }
    }

    const TCP: (Protocol, Option<u16>) = (Protocol::Tcp, Some(30_001));
    const UDP: (Protocol, Option<u16>) = (Protocol::Udp, Some(30_001));
    const NONE: (Protocol, Option<u16>) = (Protocol::Tcp, None);
    const BOTH: &[IpFamily] = &[IpFamily::V4, IpFamily::V6];

    #[rstest]
    #[case::amphora(&[TCP, UDP], Sources::Balancer, &["1.0.0.0/8"], BOTH, &["10.0.0.0/24"], "30001/TCP from 10.0.0.0/24, 30001/UDP from 10.0.0.0/24")]
    #[case::no_node_port(&[NONE], Sources::Balancer, &[], BOTH, &["10.0.0.0/24"], "")]
    #[case::ovn(&[TCP], Sources::Clients, &["1.0.0.0/8", "2.0.0.1/8"], BOTH, &["10.0.0.0/24"], "30001/TCP from 1.0.0.0/8, 30001/TCP from 2.0.0.0/8")]
    #[case::ovn_of_both_families(&[TCP], Sources::Clients, &["0.0.0.0/0", "::/0"], BOTH, &["10.0.0.0/24"], "30001/TCP from 0.0.0.0/0, 30001/TCP from ::/0")]
    #[case::ovn_of_one_family(&[TCP], Sources::Clients, &["0.0.0.0/0", "::/0"], &[IpFamily::V4], &["10.0.0.0/24"], "30001/TCP from 0.0.0.0/0")]
    #[case::two_subnets(&[TCP], Sources::Balancer, &[], BOTH, &["10.0.0.0/24", "2001:db8::/64"], "30001/TCP from 10.0.0.0/24, 30001/TCP from 2001:db8::/64")]
    #[case::no_subnet(&[TCP], Sources::Balancer, &["1.0.0.0/8"], BOTH, &[], "")]
    fn wants(
        #[case] ports: &[(Protocol, Option<u16>)],
        #[case] sources: Sources,
        #[case] ranges: &[&str],
        #[case] families: &[IpFamily],
        #[case] subnets: &[&str],
        #[case] expected: &str,
    ) {
        let subnets: Vec<IpNet> = subnets.iter().map(|subnet| subnet.parse().expect("a subnet")).collect();
        let rules = wanted(&spec(ports, ranges, BOTH), sources, families, &subnets);
        assert_eq!(
            rules,
            wanted(&spec(ports, ranges, families), sources, BOTH, &subnets),
            "either way"
        );
        let rules: Vec<_> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(rules.join(", "), expected);
    }

    #[rstest]
    #[case::amphora(Sources::Balancer, "30001/TCP from 10.0.0.0/24, 32000/TCP from 10.0.0.0/24")]
    #[case::ovn(Sources::Clients, "30001/TCP from 0.0.0.0/0, 32000/TCP from 10.0.0.0/24")]
    fn probes_come_from_the_subnet(#[case] sources: Sources, #[case] expected: &str) {
        let mut spec = spec(&[TCP], &["0.0.0.0/0"], &[]);
        spec.traffic = TrafficPolicy::Local {
            health_check_port: Some(32_000),
        };
        let rules = wanted(&spec, sources, &[], &["10.0.0.0/24".parse().unwrap()]);
        let rules: Vec<_> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(rules.join(", "), expected);
    }

    #[test]
    fn the_family_of_a_rule_is_that_of_its_source() {
        assert_eq!(body("g", &rule("1/TCP from ::/0")).ethertype, "IPv6");
        assert_eq!(body("g", &rule("1/TCP from 0.0.0.0/0")).ethertype, "IPv4");
    }
}
