//! A route to a node: a destination and a next hop. Pure.

use crate::api::neutron::{ports::Port, routers::ExtraRoute};
use cloud::{Address, AddressKind, Error, Result};
use ipnet::IpNet;
use std::net::IpAddr;

/// The separator in the name of a route.
const VIA: &str = " via ";

/// A route to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeRoute {
    /// The pods of a node.
    pub destination: IpNet,
    /// The node's address.
    pub next: IpAddr,
}

impl NodeRoute {
    /// Parses a route of Neutron; `None` if it is malformed.
    pub fn read(route: &ExtraRoute) -> Option<Self> {
        Some(Self {
            destination: route.destination.parse::<IpNet>().ok()?.trunc(),
            next: route.nexthop.parse().ok()?,
        })
    }

    /// The route as Neutron writes it.
    pub fn write(&self) -> ExtraRoute {
        ExtraRoute {
            destination: self.destination.to_string(),
            nexthop: self.next.to_string(),
        }
    }

    /// The name of a listed route, from which it can be parsed.
    pub fn name(&self) -> String {
        format!("{}{VIA}{}", self.destination, self.next)
    }

    /// The route of this name.
    pub fn named(name: &str) -> Result<Self> {
        let parts = name.split_once(VIA);
        let hop = parts.and_then(|(destination, next)| {
            Some(Self {
                destination: destination.parse().ok()?,
                next: next.parse().ok()?,
            })
        });
        hop.ok_or_else(|| Error::invalid("route", format!("{name:?} is none that was listed here")))
    }

    /// Whether a port may send from the destination.
    pub fn is_allowed(&self, port: &Port) -> bool {
        port.port_security_enabled == Some(false)
            || port
                .allowed_address_pairs
                .iter()
                .any(|pair| self.is_pair(&pair.ip_address))
    }

    /// Whether this is the destination, however it is written.
    pub fn is_pair(&self, address: &str) -> bool {
        let range = address
            .parse::<IpNet>()
            .or_else(|_| address.parse::<IpAddr>().map(IpNet::from));
        range.is_ok_and(|range| range.trunc() == self.destination)
    }
}

/// The next hop of a node: its first internal address of the destination's family.
pub fn next(addresses: &[Address], destination: IpNet) -> Option<IpAddr> {
    let internal = addresses
        .iter()
        .filter(|address| address.kind == AddressKind::InternalIP);
    let mut ips = internal.filter_map(|address| address.address.parse::<IpAddr>().ok());
    ips.find(|ip| ip.is_ipv4() == destination.addr().is_ipv4())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::neutron::ports::AddressPair;
    use rstest::rstest;

    // upstream: openstack 49
    #[rstest]
    #[case("v4 wanted from mixed list", "10.244.0.0/24", Some("172.31.3.8"))]
    #[case("v6 wanted", "2001:db8::/64", Some("2001:8071:22c8::1"))]
    fn node_ip_by_family(#[case] what: &str, #[case] destination: &str, #[case] expected: Option<&str>) {
        let address = |kind, ip: &str| Address::new(kind, ip);
        let addresses = [
            address(AddressKind::Hostname, "node-1"),
            address(AddressKind::ExternalIP, "203.0.113.7"),
            address(AddressKind::ExternalIP, "2001:db8:ffff::7"),
            address(AddressKind::InternalIP, "2001:8071:22c8::1"),
            address(AddressKind::InternalIP, "172.31.3.8"),
            address(AddressKind::InternalIP, "172.31.3.9"),
            address(AddressKind::InternalIP, "2001:8071:22c8::2"),
        ];
        let found = next(&addresses, destination.parse().unwrap());
        assert_eq!(found, expected.map(|ip| ip.parse().unwrap()), "{what}");
        assert_eq!(next(&addresses[..3], destination.parse().unwrap()), None);
    }

    #[test]
    fn a_name_can_be_parsed() {
        let hop = NodeRoute {
            destination: "10.244.1.0/24".parse().unwrap(),
            next: "10.0.0.5".parse().unwrap(),
        };
        assert_eq!(hop.name(), "10.244.1.0/24 via 10.0.0.5");
        assert_eq!(NodeRoute::named(&hop.name()).unwrap(), hop);
        assert!(NodeRoute::named("10.244.1.0/24").is_err());
        assert_eq!(NodeRoute::read(&hop.write()), Some(hop));
    }

    #[rstest]
    #[case::same("10.244.1.0/24", true)]
    #[case::host_bits("10.244.1.7/24", true)]
    #[case::wider("10.244.0.0/16", false)]
    #[case::an_address("10.244.1.0", false)]
    #[case::nonsense("x", false)]
    fn pairs(#[case] pair: &str, #[case] expected: bool) {
        let hop = NodeRoute::named("10.244.1.0/24 via 10.0.0.5").unwrap();
        let mut port = Port {
            allowed_address_pairs: vec![AddressPair {
                ip_address: pair.to_owned(),
                mac_address: None,
            }],
            ..Port::default()
        };
        assert_eq!(hop.is_allowed(&port), expected);
        port.port_security_enabled = Some(false);
        assert!(hop.is_allowed(&port));
    }
}
