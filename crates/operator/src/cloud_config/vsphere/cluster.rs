//! What a cluster says about its vCenters and networks, and where it goes in a configuration.

use super::yaml::{Map, Node};
use crate::cloud_config::KEY;
use ipnet::IpNet;
use operator_api::infrastructure::{
    platform_spec::{NodeNetwork, VSphere},
    platform_status::VirtualIps,
};
use std::net::IpAddr;

/// An address of the nodes that only their own network plugin uses.
const INTERNAL_TO_NODES: &str = "fd69::2/128";

/// What the cluster says about its vCenters and networks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cluster<'a> {
    /// vCenters, failure domains, the nodes' networks.
    pub(crate) spec: &'a VSphere,
    /// The cluster's own addresses.
    pub(crate) addresses: Option<&'a VirtualIps>,
    /// Where Services get their addresses.
    pub(crate) services: &'a [String],
}

impl Cluster<'_> {
    /// Brings it into a configuration.
    pub(super) fn apply(&self, root: &mut Map) -> Result<(), String> {
        let families = self.families()?;
        // one family that is IPv4 is what the operand assumes
        if let [Family::V6] | [_, _] = families.as_slice() {
            let names: Vec<_> = families.iter().map(|family| family.name()).collect();
            root.map("global").set("ipFamily", Node::texts(&names));
        }
        self.networks(root, &families)?;
        self.vcenters(root)?;
        if self.spec.failure_domains.len() > 1 {
            let labels = root.map("labels");
            labels.set_text("zone", "openshift-zone");
            labels.set_text("region", "openshift-region");
        }
        Ok(())
    }

    fn families(&self) -> Result<Vec<Family>, String> {
        let family = |range: &String| match range.parse() {
            Ok(IpNet::V4(_)) => Ok(Family::V4),
            Ok(IpNet::V6(_)) => Ok(Family::V6),
            Err(_) => Err(format!(
                "spec.serviceNetwork of the Network \"cluster\" has {range:?}, which is no range"
            )),
        };
        self.services.iter().map(family).collect()
    }

    /// The Infrastructure has the last word on the nodes' networks, also where it says nothing.
    fn networks(&self, root: &mut Map, families: &[Family]) -> Result<(), String> {
        let own = if families.contains(&Family::V6) {
            self.own_ranges()?
        } else {
            Vec::new()
        };
        let networking = &self.spec.node_networking;
        let nodes = root.map("nodes");
        for (network, name, ranges, excluded) in [
            (
                &networking.external,
                "externalVmNetworkName",
                "externalNetworkSubnetCidr",
                "excludeExternalNetworkSubnetCidr",
            ),
            (
                &networking.internal,
                "internalVmNetworkName",
                "internalNetworkSubnetCidr",
                "excludeInternalNetworkSubnetCidr",
            ),
        ] {
            let NodeNetwork {
                network,
                network_subnet_cidr,
                exclude_network_subnet_cidr,
            } = network;
            nodes.set_text(name, network);
            nodes.set_text(ranges, &network_subnet_cidr.join(","));
            nodes.set_text(
                excluded,
                &[exclude_network_subnet_cidr.as_slice(), &own].concat().join(","),
            );
        }
        if nodes.is_empty() {
            root.remove("nodes");
        }
        Ok(())
    }

    /// What the nodes have beside their own addresses; with IPv6, the operand would take it for one of them.
    fn own_ranges(&self) -> Result<Vec<String>, String> {
        let addresses = self.addresses.into_iter();
        let all = addresses.flat_map(|ips| ips.api_server_internal_ips.iter().chain(&ips.ingress_ips));
        let range = |address: &String| match address.parse() {
            Ok(IpAddr::V4(_)) => Ok(format!("{address}/32")),
            Ok(IpAddr::V6(_)) => Ok(format!("{address}/128")),
            Err(_) => Err(format!(
                "status.platformStatus.vsphere of the Infrastructure has {address:?}, which is no address"
            )),
        };
        all.map(range).chain([Ok(INTERNAL_TO_NODES.to_owned())]).collect()
    }

    /// The vCenters are those of the Infrastructure, if it names any; what else a file says about each stays.
    fn vcenters(&self, root: &mut Map) -> Result<(), String> {
        if !self.spec.vcenters.is_empty() {
            self.set_vcenters(root.map("vcenter"));
        }
        for domain in &self.spec.failure_domains {
            let vcenters = root.find_map("vcenter");
            if vcenters.is_none_or(|vcenters| name_of(vcenters, &domain.server).is_none()) {
                return Err(self.unknown(&domain.name, &domain.server, root));
            }
        }
        if self.spec.vcenters.is_empty() {
            self.add_datacenters(root);
        }
        Ok(())
    }

    fn set_vcenters(&self, vcenters: &mut Map) {
        for vcenter in &self.spec.vcenters {
            let server = by_server(vcenters, &vcenter.server);
            server.set_text("server", &vcenter.server);
            if let Some(port) = vcenter.port.filter(|port| *port > 0) {
                server.set("port", Node::plain(&port));
            }
            let datacenters = self.datacenters(&vcenter.server, vcenter.datacenters.clone());
            server.set("datacenters", Node::texts(&datacenters));
        }
        let servers: Vec<&str> = self
            .spec
            .vcenters
            .iter()
            .map(|vcenter| vcenter.server.as_str())
            .collect();
        vcenters.keep(&servers);
    }

    /// To the vCenters of the file, as the Infrastructure names none.
    fn add_datacenters(&self, root: &mut Map) {
        for domain in &self.spec.failure_domains {
            let vcenters = root.map("vcenter");
            let Some(name) = name_of(vcenters, &domain.server) else {
                continue;
            };
            let server = vcenters.map(&name);
            let there = match server.find("datacenters") {
                Some(Node::List(items)) => items
                    .iter()
                    .filter_map(|item| item.value.as_text())
                    .map(str::to_owned)
                    .collect(),
                _ => Vec::new(),
            };
            let datacenters = self.datacenters(&domain.server, there);
            server.set("datacenters", Node::texts(&datacenters));
        }
    }

    /// These and the ones of the failure domains in a vCenter.
    fn datacenters(&self, server: &str, mut datacenters: Vec<String>) -> Vec<String> {
        for domain in self
            .spec
            .failure_domains
            .iter()
            .filter(|domain| domain.server == server)
        {
            let name = &domain.topology.datacenter;
            if !name.is_empty() && !datacenters.contains(name) {
                datacenters.push(name.clone());
            }
        }
        datacenters
    }

    fn unknown(&self, domain: &str, server: &str, root: &Map) -> String {
        let known: Vec<_> = root
            .find_map("vcenter")
            .into_iter()
            .flat_map(Map::iter)
            .map(|(name, ..)| name)
            .collect();
        let place = if self.spec.vcenters.is_empty() {
            KEY
        } else {
            "spec.platformSpec.vsphere.vcenters"
        };
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        format!(
            "the failure domain {domain:?} of the Infrastructure is in the vCenter {server:?}, which is not in {place}: \
             add it there or correct the failure domain; there is {known}"
        )
    }
}

/// The map of a vCenter under its own name, with what the file says about it.
fn by_server<'a>(vcenters: &'a mut Map, server: &str) -> &'a mut Map {
    if let Some(name) = name_of(vcenters, server) {
        vcenters.rename(&name, server);
    }
    vcenters.map(server)
}

/// The name under which a vCenter stands: its own, or another with `server` below it.
fn name_of(vcenters: &Map, server: &str) -> Option<String> {
    if vcenters.find(server).is_some() {
        return Some(server.to_owned());
    }
    let is_server =
        |node: &Node| matches!(node, Node::Map(map) if map.find("server").and_then(Node::as_text) == Some(server));
    vcenters
        .iter()
        .find(|(_, _, node)| is_server(node))
        .map(|(name, ..)| name.to_owned())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

impl Family {
    fn name(self) -> &'static str {
        match self {
            Self::V4 => "ipv4",
            Self::V6 => "ipv6",
        }
    }
}
