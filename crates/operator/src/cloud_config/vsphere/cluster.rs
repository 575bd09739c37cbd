//! The vCenters and networks of the cluster, and their keys in a configuration.

use super::{Tree, section};
use crate::cloud_config::{Invalid, KEY};
use ipnet::IpNet;
use operator_api::infrastructure::{
    platform_spec::{NodeNetwork, VSphere},
    platform_status::VirtualIps,
};
use serde_json::{Value, json};
use std::net::IpAddr;

/// An address of nodes that only their own network plugin uses.
const INTERNAL_TO_NODES: &str = "fd69::2/128";

/// The vCenters and networks of the cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cluster<'a> {
    /// vCenters, failure domains and the networks of the nodes.
    pub(crate) spec: &'a VSphere,
    /// The cluster's own addresses.
    pub(crate) addresses: Option<&'a VirtualIps>,
    /// The address ranges of Services.
    pub(crate) services: &'a [String],
}

impl Cluster<'_> {
    /// Writes them into a configuration.
    pub(super) fn apply(&self, tree: &mut Tree) -> Result<(), Invalid> {
        let families = self.families()?;
        // The operand assumes IPv4 if there is one family
        if let [Family::V6] | [_, _] = families.as_slice() {
            let names: Vec<_> = families.iter().map(|family| family.name()).collect();
            section(tree, "global").insert("ipFamily".to_owned(), json!(names));
        }
        self.networks(tree, &families)?;
        self.vcenters(tree)?;
        if self.spec.failure_domains.len() > 1 {
            let labels = section(tree, "labels");
            labels.insert("zone".to_owned(), json!("openshift-zone"));
            labels.insert("region".to_owned(), json!("openshift-region"));
        }
        Ok(())
    }

    fn families(&self) -> Result<Vec<Family>, Invalid> {
        let family = |range: &String| match range.parse() {
            Ok(IpNet::V4(_)) => Ok(Family::V4),
            Ok(IpNet::V6(_)) => Ok(Family::V6),
            Err(_) => Err(Invalid(format!(
                "spec.serviceNetwork of the Network \"cluster\" has {range:?}, which is no range"
            ))),
        };
        self.services.iter().map(family).collect()
    }

    /// The Infrastructure overrides the networks of the nodes, also if it names none.
    fn networks(&self, tree: &mut Tree, families: &[Family]) -> Result<(), Invalid> {
        let own = if families.contains(&Family::V6) {
            self.own_ranges()?
        } else {
            Vec::new()
        };
        let networking = &self.spec.node_networking;
        let nodes = section(tree, "nodes");
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
            nodes.insert(name.to_owned(), json!(network));
            nodes.insert(ranges.to_owned(), json!(network_subnet_cidr.join(",")));
            let all = [exclude_network_subnet_cidr.as_slice(), &own].concat();
            nodes.insert(excluded.to_owned(), json!(all.join(",")));
        }
        Ok(())
    }

    /// Addresses that nodes have in addition to their own; with IPv6, the operand would confuse them.
    fn own_ranges(&self) -> Result<Vec<String>, Invalid> {
        let addresses = self.addresses.into_iter();
        let all = addresses.flat_map(|ips| ips.api_server_internal_ips.iter().chain(&ips.ingress_ips));
        let range = |address: &String| match address.parse() {
            Ok(IpAddr::V4(_)) => Ok(format!("{address}/32")),
            Ok(IpAddr::V6(_)) => Ok(format!("{address}/128")),
            Err(_) => Err(Invalid(format!(
                "status.platformStatus.vsphere of the Infrastructure has {address:?}, which is no address"
            ))),
        };
        all.map(range).chain([Ok(INTERNAL_TO_NODES.to_owned())]).collect()
    }

    /// The vCenters are those of the Infrastructure, if it names any. Other keys of a vCenter in the file are kept.
    fn vcenters(&self, tree: &mut Tree) -> Result<(), Invalid> {
        let servers = section(tree, "vcenter");
        if !self.spec.vcenters.is_empty() {
            self.set_vcenters(servers);
        }
        for domain in &self.spec.failure_domains {
            let Some(name) = name_of(servers, &domain.server) else {
                return Err(self.unknown(&domain.name, &domain.server, servers));
            };
            let server = section(servers, &name);
            let existing = server
                .get("datacenters")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let mut datacenters: Vec<_> = existing.filter_map(Value::as_str).map(str::to_owned).collect();
            let new = &domain.topology.datacenter;
            if !new.is_empty() && !datacenters.contains(new) {
                datacenters.push(new.clone());
            }
            server.insert("datacenters".to_owned(), json!(datacenters));
        }
        Ok(())
    }

    fn set_vcenters(&self, servers: &mut Tree) {
        for vcenter in &self.spec.vcenters {
            let name = name_of(servers, &vcenter.server);
            let existing = name.and_then(|name| servers.remove(&name));
            servers.insert(vcenter.server.clone(), existing.unwrap_or_default());
            let server = section(servers, &vcenter.server);
            server.insert("server".to_owned(), json!(vcenter.server));
            if let Some(port) = vcenter.port.filter(|port| *port > 0) {
                server.insert("port".to_owned(), json!(port));
            }
            server.insert("datacenters".to_owned(), json!(vcenter.datacenters));
        }
        servers.retain(|name, _| self.spec.vcenters.iter().any(|vcenter| vcenter.server == *name));
    }

    fn unknown(&self, domain: &str, server: &str, servers: &Tree) -> Invalid {
        let known: Vec<_> = servers.keys().map(String::as_str).collect();
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
        Invalid(format!(
            "the failure domain {domain:?} of the Infrastructure is in the vCenter {server:?}, which is not in {place}: \
             add it there or correct the failure domain; there is {known}"
        ))
    }
}

/// The name of a vCenter in the file: its own, or another one with `server` below it.
fn name_of(servers: &Tree, server: &str) -> Option<String> {
    if servers.contains_key(server) {
        return Some(server.to_owned());
    }
    let named = servers.iter().find(|(_, section)| section["server"] == server);
    named.map(|(name, _)| name.clone())
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
