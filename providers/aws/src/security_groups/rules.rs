//! The rules of a security group as a set.

use crate::api::ec2::security_groups::{GroupPair, Ipv6Range, Permission, Range};
use ipnet::IpNet;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// All protocols.
pub const ALL: &str = "-1";

/// The rules of a group, each with its description, which may be empty. EC2 takes a rule once, whatever its description.
pub type Rules = BTreeMap<Rule, String>;

/// Something that may connect to ports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule {
    pub protocol: String,
    /// The first and the last port, or the type and the code of ICMP; `None` for all protocols.
    pub ports: Option<(i32, i32)>,
    pub source: Source,
}

/// What may connect.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    Range(IpNet),
    /// The members of a security group.
    Group(String),
}

/// How one set of rules becomes another, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Those whose description changes: EC2 does not take a rule a second time.
    pub replaced: Vec<Permission>,
    pub added: Vec<Permission>,
    pub removed: Vec<Permission>,
}

impl Rule {
    /// These clients may connect to this port.
    pub fn port(protocol: &str, port: u16, clients: IpNet) -> Self {
        Self {
            protocol: protocol.to_owned(),
            ports: Some((port.into(), port.into())),
            source: Source::Range(clients.trunc()),
        }
    }

    /// These clients may report that a packet is too large.
    pub fn mtu(clients: IpNet) -> Self {
        let (protocol, ports) = match clients {
            IpNet::V4(_) => ("icmp", (3, 4)),
            IpNet::V6(_) => ("icmpv6", (2, 0)),
        };
        Self {
            protocol: protocol.to_owned(),
            ports: Some(ports),
            source: Source::Range(clients.trunc()),
        }
    }

    /// The members of a group may connect to everything.
    pub fn members(group: &str) -> Self {
        Self {
            protocol: ALL.to_owned(),
            ports: None,
            source: Source::Group(group.to_owned()),
        }
    }
}

/// The rules in an answer of EC2. Sources of other kinds are left out: they are never changed.
pub fn of(permissions: &[Permission]) -> Rules {
    let rules = permissions.iter().flat_map(|permission| {
        let ports = match permission.ip_protocol.as_str() {
            ALL => None,
            _ => permission.from_port.zip(permission.to_port),
        };
        sources(permission).map(move |(source, description)| {
            let protocol = permission.ip_protocol.clone();
            (
                Rule {
                    protocol,
                    ports,
                    source,
                },
                description,
            )
        })
    });
    rules.collect()
}

fn sources(permission: &Permission) -> impl Iterator<Item = (Source, String)> {
    let range = |cidr: &str, description: &Option<String>| {
        let net: IpNet = cidr.parse().ok()?;
        Some((Source::Range(net), description.clone().unwrap_or_default()))
    };
    let v4 = permission.ip_ranges.iter();
    let v4 = v4.filter_map(move |one| range(&one.cidr_ip, &one.description));
    let v6 = permission.ipv6_ranges.iter();
    let v6 = v6.filter_map(move |one| range(&one.cidr_ipv6, &one.description));
    let groups = permission.groups.iter().map(|one| {
        let description = one.description.clone().unwrap_or_default();
        (Source::Group(one.group_id.clone()), description)
    });
    v4.chain(v6).chain(groups)
}

/// The calls that make `old` into `new`.
pub fn changes(old: &Rules, new: &Rules) -> Changes {
    let is_replaced =
        |(rule, description): &(&Rule, &String)| new.get(*rule).is_some_and(|other| other != *description);
    let is_gone = |(rule, _): &(&Rule, &String)| !new.contains_key(*rule);
    let is_new = |(rule, description): &(&Rule, &String)| old.get(*rule) != Some(description);
    Changes {
        replaced: permissions(old.iter().filter(is_replaced)),
        added: permissions(new.iter().filter(is_new)),
        removed: permissions(old.iter().filter(is_gone)),
    }
}

/// Rules as EC2 takes them: those with the same ports together.
fn permissions<'a>(rules: impl Iterator<Item = (&'a Rule, &'a String)>) -> Vec<Permission> {
    type Ports = Option<(i32, i32)>;
    let mut grouped: BTreeMap<(&str, Ports), Permission> = BTreeMap::new();
    for (rule, description) in rules {
        let permission = grouped
            .entry((&rule.protocol, rule.ports))
            .or_insert_with(|| Permission {
                ip_protocol: rule.protocol.clone(),
                from_port: rule.ports.map(|(from, _)| from),
                to_port: rule.ports.map(|(_, to)| to),
                ..Permission::default()
            });
        let description = Some(description.clone()).filter(|text| !text.is_empty());
        match &rule.source {
            Source::Range(net @ IpNet::V4(_)) => permission.ip_ranges.0.push(Range {
                cidr_ip: net.to_string(),
                description,
            }),
            Source::Range(net @ IpNet::V6(_)) => permission.ipv6_ranges.0.push(Ipv6Range {
                cidr_ipv6: net.to_string(),
                description,
            }),
            Source::Group(id) => permission.groups.0.push(GroupPair {
                group_id: id.clone(),
                description,
            }),
        }
    }
    grouped.into_values().collect()
}

/// The rules of the group of a load balancer: clients may connect to its ports, and report that a packet is too large.
pub fn of_load_balancer(protocol: &str, ports: impl Iterator<Item = u16>, clients: &[IpNet]) -> BTreeSet<Rule> {
    let mut rules: BTreeSet<Rule> = clients.iter().map(|net| Rule::mtu(*net)).collect();
    for port in ports {
        rules.extend(clients.iter().map(|net| Rule::port(protocol, port, *net)));
    }
    rules
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = if self.protocol == ALL { "all" } else { &self.protocol };
        match self.ports {
            None => write!(f, "{protocol}")?,
            Some((from, to)) if from == to => write!(f, "{protocol} {from}")?,
            Some((from, to)) => write!(f, "{protocol} {from}-{to}")?,
        }
        match &self.source {
            Source::Range(net) => write!(f, " from {net}"),
            Source::Group(id) => write!(f, " from {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    /// A rule for each line.
    fn shown(rules: &Rules) -> String {
        let line = |(rule, description): (&Rule, &String)| format!("{rule} {description}").trim_end().to_owned();
        rules.iter().map(line).collect::<Vec<_>>().join("; ")
    }

    fn sent(permissions: &[Permission]) -> Value {
        fn prune(value: &mut Value) {
            match value {
                Value::Object(fields) => {
                    fields
                        .retain(|_, value| !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty()));
                    fields.values_mut().for_each(prune);
                }
                Value::Array(items) => items.iter_mut().for_each(prune),
                _ => {}
            }
        }
        let mut value = json!(permissions);
        prune(&mut value);
        value
    }

    #[test]
    fn one_rule_for_each_source() {
        let range = |cidr: &str| Range {
            cidr_ip: cidr.into(),
            description: Some("d".into()),
        };
        let permission = Permission {
            ip_protocol: "tcp".into(),
            from_port: Some(80),
            to_port: Some(81),
            ip_ranges: List(vec![range("10.0.0.0/8"), range("192.0.2.0/24")]),
            ipv6_ranges: List(vec![Ipv6Range {
                cidr_ipv6: "2001:db8::/32".into(),
                description: None,
            }]),
            groups: List(vec![GroupPair {
                group_id: "sg-1".into(),
                description: None,
            }]),
        };
        let all = Permission {
            ip_protocol: "-1".into(),
            from_port: Some(-1),
            to_port: Some(-1),
            groups: permission.groups.clone(),
            ..Permission::default()
        };
        assert_eq!(
            shown(&of(&[permission, all])),
            "all from sg-1; tcp 80-81 from 10.0.0.0/8 d; tcp 80-81 from 192.0.2.0/24 d; tcp 80-81 from 2001:db8::/32; tcp 80-81 from sg-1"
        );
    }
    use crate::api::List;

    #[test]
    fn only_what_differs_is_sent_and_each_family_in_its_list() {
        let keep = (Rule::port("tcp", 80, net("10.0.0.0/8")), String::new());
        let described = |text: &str| (Rule::port("tcp", 81, net("10.0.0.0/8")), text.to_owned());
        let old = Rules::from([keep.clone(), described("a"), (Rule::members("sg-1"), String::new())]);
        let new = Rules::from([
            keep,
            described("b"),
            (Rule::port("udp", 53, net("2001:db8::1/32")), "c".to_owned()),
            (Rule::mtu(net("2001:db8::/32")), String::new()),
        ]);
        let Changes {
            replaced,
            added,
            removed,
        } = changes(&old, &new);
        assert_eq!(
            sent(&replaced),
            json!([{"IpProtocol": "tcp", "FromPort": 81, "ToPort": 81, "IpRanges": [{"CidrIp": "10.0.0.0/8", "Description": "a"}]}])
        );
        assert_eq!(
            sent(&added),
            json!([
                {"IpProtocol": "icmpv6", "FromPort": 2, "ToPort": 0, "Ipv6Ranges": [{"CidrIpv6": "2001:db8::/32"}]},
                {"IpProtocol": "tcp", "FromPort": 81, "ToPort": 81, "IpRanges": [{"CidrIp": "10.0.0.0/8", "Description": "b"}]},
                {"IpProtocol": "udp", "FromPort": 53, "ToPort": 53, "Ipv6Ranges": [{"CidrIpv6": "2001:db8::/32", "Description": "c"}]},
            ])
        );
        assert_eq!(
            sent(&removed),
            json!([{"IpProtocol": "-1", "Groups": [{"GroupId": "sg-1"}]}])
        );
    }

    #[test]
    fn the_group_of_a_load_balancer() {
        let rules = of_load_balancer("tcp", [80, 443].into_iter(), &[net("0.0.0.0/0"), net("::/0")]);
        let shown: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown.join("; "),
            "icmp 3-4 from 0.0.0.0/0; icmpv6 2-0 from ::/0; tcp 80 from 0.0.0.0/0; tcp 80 from ::/0; tcp 443 from 0.0.0.0/0; tcp 443 from ::/0"
        );
    }
}
