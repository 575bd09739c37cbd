//! The settings of a platform.

use serde::{Deserialize, Serialize};

/// One of these is set, if any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlatformSpec {
    /// `VSphere`. The type in the status has precedence.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub type_: String,
    /// For `VSphere`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vsphere: Option<VSphere>,
}

/// The vCenters and how the nodes' addresses are selected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VSphere {
    /// All vCenters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vcenters: Vec<VCenter>,
    /// Regions and zones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<FailureDomain>,
    /// The networks of the nodes' addresses.
    #[serde(skip_serializing_if = "crate::is_empty")]
    pub node_networking: NodeNetworking,
    /// The addresses of the API server.
    #[serde(rename = "apiServerInternalIPs", skip_serializing_if = "Vec::is_empty")]
    pub api_server_internal_ips: Vec<String>,
    /// The addresses of the ingress.
    #[serde(rename = "ingressIPs", skip_serializing_if = "Vec::is_empty")]
    pub ingress_ips: Vec<String>,
}

/// A vCenter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VCenter {
    /// Its name or address.
    pub server: String,
    /// Its port, if it is not 443.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// Its datacenters with nodes.
    pub datacenters: Vec<String>,
}

/// A region and zone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FailureDomain {
    /// Its name.
    pub name: String,
    /// The value of the region's tag.
    pub region: String,
    /// The value of the zone's tag.
    pub zone: String,
    /// The vCenter, which should be one of the spec's.
    pub server: String,
    /// Its objects in the vCenter.
    pub topology: Topology,
}

/// Objects in a vCenter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Topology {
    /// The datacenter.
    pub datacenter: String,
    /// The cluster's path.
    pub compute_cluster: String,
    /// The datastore's path.
    pub datastore: String,
    /// The port groups.
    pub networks: Vec<String>,
}

/// How internal and external addresses of a node are found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeNetworking {
    /// For external addresses.
    #[serde(skip_serializing_if = "crate::is_empty")]
    pub external: NodeNetwork,
    /// For internal addresses.
    #[serde(skip_serializing_if = "crate::is_empty")]
    pub internal: NodeNetwork,
}

/// A network, by name or by ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeNetwork {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub network: String,
    /// Addresses in these ranges count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network_subnet_cidr: Vec<String>,
    /// Addresses in these ranges do not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_network_subnet_cidr: Vec<String>,
}
