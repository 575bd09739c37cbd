//! The addresses of a node, in the order that running clusters have them. Pure.

mod order;

#[cfg(test)]
mod tests;

use crate::{
    api::{
        neutron::ports::Port,
        nova::{Server, ServerAddress},
    },
    config::{Ipv6, Networking},
};
use cloud::{Address, AddressKind};
use std::{collections::BTreeMap, net::IpAddr};

/// Under this key of its metadata a server's owner notes its host name.
const HOSTNAME: &str = "hostname";

/// A port that is plugged into one of a server's ports, and the name of its network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubPort {
    /// The name of its network.
    pub network: String,
    /// Its addresses.
    pub ips: Vec<String>,
}

/// The addresses of a server with these ports, in the order of the Node's status.
pub fn of(server: &Server, ports: &[&Port], sub_ports: &[SubPort], networking: &Networking) -> Vec<Address> {
    let mut list = List {
        addresses: Vec::new(),
        ipv6: networking.ipv6,
    };
    let active = ports.iter().filter(|port| port.status == "ACTIVE");
    for ip in active.flat_map(|port| &port.fixed_ips) {
        list.add(AddressKind::InternalIP, &ip.ip_address);
    }
    list.add_access(server);
    for (network, address) in by_network(server, sub_ports) {
        list.add_of_network(network, &address, networking);
    }
    let mut addresses = list.addresses;
    order::sort(&mut addresses, &networking.address_sort_order);
    addresses
}

/// Nova's addresses and those of the sub-ports, which Nova does not know, by network in alphabetical order.
fn by_network<'a>(server: &'a Server, sub_ports: &'a [SubPort]) -> Vec<(&'a str, ServerAddress)> {
    let mut all: BTreeMap<&str, Vec<ServerAddress>> = BTreeMap::new();
    for (network, addresses) in &server.addresses {
        all.entry(network).or_default().extend(addresses.iter().cloned());
    }
    for sub_port in sub_ports {
        let fixed = sub_port.ips.iter().map(|ip| ServerAddress {
            addr: ip.clone(),
            kind: Some("fixed".to_owned()),
        });
        all.entry(&sub_port.network).or_default().extend(fixed);
    }
    let each = all
        .into_iter()
        .flat_map(|(network, addresses)| addresses.into_iter().map(move |address| (network, address)));
    each.collect()
}

struct List {
    addresses: Vec<Address>,
    ipv6: Ipv6,
}

impl List {
    fn add_access(&mut self, server: &Server) {
        if !server.access_ipv4.is_empty() {
            self.push(AddressKind::ExternalIP, &server.access_ipv4);
        }
        if !server.access_ipv6.is_empty() && self.ipv6 == Ipv6::Enabled {
            self.push(AddressKind::ExternalIP, &server.access_ipv6);
        }
        if let Some(hostname) = server.metadata.get(HOSTNAME).filter(|hostname| !hostname.is_empty()) {
            self.push(AddressKind::Hostname, hostname);
        }
    }

    fn add_of_network(&mut self, network: &str, address: &ServerAddress, networking: &Networking) {
        let named = |names: &[String]| names.iter().any(|name| name == network);
        let ip = &address.addr;
        if address.kind.as_deref() == Some("floating") {
            self.add(AddressKind::ExternalIP, ip);
        } else if named(&networking.public_network_names) {
            // It is internal by its port.
            self.remove(ip);
            self.add(AddressKind::ExternalIP, ip);
        } else if networking.internal_network_names.is_empty() || named(&networking.internal_network_names) {
            self.add(AddressKind::InternalIP, ip);
        } else {
            self.remove(ip);
        }
    }

    /// Adds an IP, unless it is of a family that does not count.
    fn add(&mut self, kind: AddressKind, ip: &str) {
        // What is no IPv4 address counts as IPv6.
        let is_ipv4 = ip.parse().is_ok_and(|ip: IpAddr| ip.to_canonical().is_ipv4());
        if is_ipv4 || self.ipv6 == Ipv6::Enabled {
            self.push(kind, ip);
        }
    }

    fn push(&mut self, kind: AddressKind, address: &str) {
        let new = Address::new(kind, address);
        if !self.addresses.contains(&new) {
            self.addresses.push(new);
        }
    }

    fn remove(&mut self, address: &str) {
        self.addresses.retain(|there| there.address != address);
    }
}
