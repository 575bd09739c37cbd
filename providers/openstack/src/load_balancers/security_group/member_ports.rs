//! Which ports have a group, and which should. Pure.

use crate::api::neutron::ports::Port;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

/// A server, and the address by which the load balancer reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemberAddress {
    /// The server.
    pub server: String,
    /// The address; `None` if it is not known yet. Nothing is changed on that server then.
    pub address: Option<IpAddr>,
}

/// What has to change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// These get the group.
    pub attach: Vec<Port>,
    /// These lose it.
    pub detach: Vec<Port>,
}

/// The servers of which no port with the group has the member's address: their ports have to be read.
pub(crate) fn servers_without_port<'a>(members: &'a [MemberAddress], group_ports: &[Port]) -> BTreeSet<&'a str> {
    let missing = members.iter().filter(|member| {
        let met = group_ports.iter().any(|port| is_at(port, member));
        member.address.is_some() && !met
    });
    missing.map(|member| member.server.as_str()).collect()
}

/// What has to change: `ports` are those of the servers that [`servers_without_port`] named.
///
/// The port with the member's address gets the group; if two have it, the one on the members' subnet. A port without port security cannot have
/// groups, and accepts everything. A server whose port is not found keeps its groups.
pub(crate) fn changes(
    group: &str,
    members: &[MemberAddress],
    subnets: &[String],
    group_ports: &[Port],
    ports: &[Port],
) -> Changes {
    let known: BTreeMap<&str, &Port> = ports
        .iter()
        .chain(group_ports)
        .map(|port| (port.id.as_str(), port))
        .collect();
    let found = members.iter().filter_map(|member| {
        let at = known.values().copied().filter(|port| is_at(port, member));
        at.max_by_key(|port| is_on(port, subnets))
    });
    let wanted: BTreeMap<&str, &Port> = found.map(|port| (port.id.as_str(), port)).collect();
    let served: BTreeSet<&str> = wanted.values().map(|port| port.device_id.as_str()).collect();
    let servers: BTreeSet<&str> = members.iter().map(|member| member.server.as_str()).collect();

    let lacking = |port: &&&Port| !has(port, group) && port.port_security_enabled != Some(false);
    let left = |port: &&Port| {
        let device = port.device_id.as_str();
        !wanted.contains_key(port.id.as_str()) && (served.contains(device) || !servers.contains(device))
    };
    Changes {
        attach: wanted.values().filter(lacking).map(|port| (*port).clone()).collect(),
        detach: group_ports.iter().filter(left).cloned().collect(),
    }
}

fn has(port: &Port, group: &str) -> bool {
    port.security_groups.iter().any(|id| id == group)
}

fn is_at(port: &Port, member: &MemberAddress) -> bool {
    let Some(address) = member.address else {
        return false;
    };
    port.device_id == member.server
        && port
            .fixed_ips
            .iter()
            .any(|fixed| fixed.ip_address.parse() == Ok(address))
}

fn is_on(port: &Port, subnets: &[String]) -> bool {
    port.fixed_ips.iter().any(|fixed| subnets.contains(&fixed.subnet_id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::neutron::ports::FixedIp;
    use rstest::rstest;

    const GROUP: &str = "g";

    /// `p1@a:10.0.0.1` on server a; `!` security off; `+` carries the group; `/s2` on another subnet than s1.
    fn port(text: &str) -> Port {
        let (flags, rest) = text.split_at(text.find('p').expect("a port"));
        let (id, rest) = rest.split_once('@').expect("port@server");
        let (server, rest) = rest.split_once(':').expect("server:address");
        let (address, subnet) = rest.split_once('/').unwrap_or((rest, "s1"));
        Port {
            id: id.to_owned(),
            device_id: server.to_owned(),
            fixed_ips: vec![FixedIp {
                subnet_id: subnet.to_owned(),
                ip_address: address.to_owned(),
            }],
            security_groups: if flags.contains('+') {
                vec!["x".to_owned(), GROUP.to_owned()]
            } else {
                vec!["x".to_owned()]
            },
            port_security_enabled: Some(!flags.contains('!')),
            ..Port::default()
        }
    }

    /// `a:10.0.0.1`, or `a` without an address.
    fn members(text: &str) -> Vec<MemberAddress> {
        let member = |text: &str| {
            let (server, address) = text.split_once(':').unwrap_or((text, ""));
            MemberAddress {
                server: server.to_owned(),
                address: address.parse().ok(),
            }
        };
        text.split_whitespace().map(member).collect()
    }

    // upstream: openstack 63
    #[rstest]
    #[case("nothing to do", "a:10.0.0.1", "+p1@a:10.0.0.1", "")]
    #[case("node joined", "a:10.0.0.1 b:10.0.0.2", "+p1@a:10.0.0.1 p2@b:10.0.0.2", "+p2")]
    #[case(
        "node leaving the selector loses the SG",
        "a:10.0.0.1",
        "+p1@a:10.0.0.1 +p2@b:10.0.0.2",
        "-p2"
    )]
    #[case(
        "port_security off skipped",
        "a:10.0.0.1 b:10.0.0.2",
        "!p1@a:10.0.0.1 p2@b:10.0.0.2",
        "+p2"
    )]
    #[case("port without the address", "a:10.0.0.1", "p1@a:10.9.0.1 p2@a:10.0.0.1", "+p2")]
    #[case(
        "address moved to another port",
        "a:10.0.0.2",
        "+p1@a:10.0.0.1 p2@a:10.0.0.2",
        "+p2 -p1"
    )]
    #[case("address on no port", "a:10.0.0.9", "+p1@a:10.0.0.1", "")]
    #[case("address not known yet", "a", "+p1@a:10.0.0.1", "")]
    #[case(
        "same address twice, on the subnet",
        "a:10.0.0.1",
        "p1@a:10.0.0.1/s2 p2@a:10.0.0.1",
        "+p2"
    )]
    #[case("address on another subnet only", "a:10.0.0.1", "p1@a:10.0.0.1/s2", "+p1")]
    #[case("last node left", "", "+p1@a:10.0.0.1 +p2@b:10.0.0.2", "-p1 -p2")]
    #[case("two families on one port", "a:10.0.0.1 a:2001:db8::1", "p1@a:10.0.0.1", "+p1")]
    #[case("same address of another server", "a:10.0.0.1", "p1@b:10.0.0.1 p2@a:10.0.0.1", "+p2")]
    fn changes_are(#[case] name: &str, #[case] wanted: &str, #[case] there: &str, #[case] expected: &str) {
        let ports: Vec<Port> = there.split_whitespace().map(port).collect();
        let (group_ports, others): (Vec<_>, Vec<_>) = ports.into_iter().partition(|port| has(port, GROUP));
        let members = members(wanted);
        let Changes { attach, detach } = changes(GROUP, &members, &["s1".to_owned()], &group_ports, &others);
        let attach = attach.iter().map(|port| format!("+{}", port.id));
        let detach = detach.iter().map(|port| format!("-{}", port.id));
        assert_eq!(attach.chain(detach).collect::<Vec<_>>().join(" "), expected, "{name}");
    }

    #[rstest]
    #[case::all_carry_it("a:10.0.0.1", "+p1@a:10.0.0.1", "")]
    #[case::one_does_not("a:10.0.0.1 b:10.0.0.2", "+p1@a:10.0.0.1", "b")]
    #[case::another_address("a:10.0.0.2", "+p1@a:10.0.0.1", "a")]
    #[case::no_address("a", "", "")]
    fn servers_without_a_port_in_the_group(#[case] wanted: &str, #[case] group_ports: &str, #[case] expected: &str) {
        let group_ports: Vec<Port> = group_ports.split_whitespace().map(port).collect();
        let members = members(wanted);
        let servers: Vec<&str> = servers_without_port(&members, &group_ports).into_iter().collect();
        assert_eq!(servers.join(" "), expected);
    }
}
