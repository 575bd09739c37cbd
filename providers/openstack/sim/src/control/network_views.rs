//! What is on the networks, as plain data.

use crate::neutron::{FloatingIp, Group, Neutron, Port, Rule};
use ipnet::IpNet;
use std::{collections::BTreeSet, net::IpAddr};
use uuid::Uuid;

/// A port as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortView {
    /// Its ID.
    pub id: Uuid,
    /// Its network.
    pub network: Uuid,
    /// Its name.
    pub name: String,
    /// The device that it belongs to.
    pub device_id: String,
    /// What kind of device that is.
    pub device_owner: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Its security groups.
    pub groups: Vec<Uuid>,
    /// The addresses besides its own that it may use.
    pub pairs: Vec<String>,
    /// Its tags.
    pub tags: BTreeSet<String>,
}

/// A floating IP as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FloatingIpView {
    /// Its ID.
    pub id: Uuid,
    /// Its address.
    pub address: IpAddr,
    /// Its network.
    pub network: Uuid,
    /// Its subnet.
    pub subnet: Uuid,
    /// The port that it is on.
    pub port: Option<Uuid>,
    /// Its description.
    pub description: String,
    /// Its tags.
    pub tags: BTreeSet<String>,
}

/// A security group as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupView {
    /// Its ID.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its rules.
    pub rules: Vec<RuleView>,
}

/// A rule of a security group as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleView {
    /// Its ID.
    pub id: Uuid,
    /// `ingress` or `egress`.
    pub direction: String,
    /// `IPv4` or `IPv6`.
    pub ethertype: String,
    /// `tcp`, …
    pub protocol: Option<String>,
    /// The lowest port.
    pub min: Option<u16>,
    /// The highest port.
    pub max: Option<u16>,
    /// The other side.
    pub prefix: Option<IpNet>,
}

/// A route of a router as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteView {
    /// Where to.
    pub destination: IpNet,
    /// The next hop.
    pub nexthop: IpAddr,
}

pub(super) fn port(port: &Port) -> PortView {
    PortView {
        id: port.id,
        network: port.network,
        name: port.standard.name.to_string(),
        device_id: port.device_id.to_string(),
        device_owner: port.device_owner.to_string(),
        addresses: port.fixed.iter().map(|fixed| fixed.address).collect(),
        groups: port.groups.clone(),
        pairs: port.pairs.iter().map(|pair| pair.address.to_string()).collect(),
        tags: port.standard.tags.clone(),
    }
}

pub(super) fn floating_ip(floating: &FloatingIp) -> FloatingIpView {
    FloatingIpView {
        id: floating.id,
        address: floating.address,
        network: floating.network,
        subnet: floating.subnet,
        port: floating.port,
        description: floating.standard.description.to_string(),
        tags: floating.standard.tags.clone(),
    }
}

pub(super) fn group(neutron: &Neutron, group: &Group) -> GroupView {
    GroupView {
        id: group.id,
        name: group.standard.name.to_string(),
        description: group.standard.description.to_string(),
        rules: neutron
            .rules
            .values()
            .filter(|rule| rule.group == group.id)
            .map(rule)
            .collect(),
    }
}

fn rule(rule: &Rule) -> RuleView {
    RuleView {
        id: rule.id,
        direction: rule.direction.clone(),
        ethertype: rule.ethertype.clone(),
        protocol: rule.protocol.clone(),
        min: rule.ports.0,
        max: rule.ports.1,
        prefix: rule.prefix,
    }
}
