//! The machines behind the nodes.

use crate::{ProviderId, Result};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// Describes machines, many at a time.
#[async_trait]
pub trait Instances: Send + Sync {
    /// Describes the machine behind each node: one answer for each node, in the same order.
    ///
    /// A node is found by its provider ID if it has one, else by its name or another field of [`NodeRef`]. A failure for
    /// one node is the answer for that node; a failure of the whole call is the answer for every node.
    async fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Vec<Result<Answer>>;

    /// Whether machines of this cloud have provider IDs at all.
    fn provider_ids(&self) -> ProviderIds {
        ProviderIds::Given
    }

    /// What a node without a provider ID is found by, for the message that there is no machine with it. The name of the node follows.
    fn found_by(&self) -> &'static str {
        "name"
    }
}

/// A node as a provider sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRef {
    /// The Node's name.
    pub name: String,
    /// `spec.providerID`, if it is set.
    pub provider_id: Option<ProviderId>,
    /// `status.nodeInfo.systemUUID`, for clouds that find machines by it.
    pub system_uuid: Option<String>,
    /// `status.addresses`, from the kubelet or an earlier answer, for clouds that find machines by them.
    pub addresses: Vec<Address>,
    /// The Node's labels.
    pub labels: BTreeMap<String, String>,
    /// The Node's annotations.
    pub annotations: BTreeMap<String, String>,
}

impl NodeRef {
    /// A node known by its name only.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// The same node, known by this provider ID.
    #[must_use]
    pub fn with_provider_id(mut self, id: impl Into<String>) -> Self {
        self.provider_id = ProviderId::parse(id);
        self
    }
}

/// How much of a machine to describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Detail {
    /// Whether it exists and is powered on: only `provider_id` and `power` of the answer are used.
    Liveness,
    /// Everything.
    Full,
}

/// The cloud's answer about one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It exists (also when it is powered off).
    Found(Box<Instance>),
    /// The cloud itself reports that it does not exist. The Node is deleted then, so any uncertainty must be an error.
    Missing,
    /// It exists, but the cloud cannot describe it yet; the Node is not changed.
    NotYet,
    /// It exists and is not managed by this cloud, such as a node on premises. Its Node is initialized unchanged, without a
    /// provider ID, and never deleted.
    Unmanaged,
}

impl Answer {
    /// The machine, if there is one.
    pub fn found(self) -> Option<Instance> {
        match self {
            Self::Found(instance) => Some(*instance),
            Self::Missing | Self::NotYet | Self::Unmanaged => None,
        }
    }
}

/// A machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Its provider ID; if `None`, that of the Node is kept.
    pub provider_id: Option<ProviderId>,
    /// Its type, for the instance-type labels.
    pub instance_type: Option<String>,
    /// Its addresses, in the order of `status.addresses`.
    pub addresses: Vec<Address>,
    /// Its zone, for the zone labels.
    pub zone: Option<String>,
    /// Its region, for the region labels.
    pub region: Option<String>,
    /// More labels for the Node; those under `kubernetes.io` and `k8s.io` are dropped.
    pub labels: BTreeMap<String, String>,
    /// Whether it runs.
    pub power: Power,
}

/// Whether a machine runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Power {
    /// It runs, or is about to.
    On,
    /// It is shut down.
    Off,
    /// Not known to this cloud; counts as running.
    #[default]
    Unknown,
}

/// Whether machines of a cloud have provider IDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProviderIds {
    /// Every machine has one; a node without one is not initialized.
    Given,
    /// The cloud has none; nodes are initialized without.
    None,
}

/// One entry of `status.addresses`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Address {
    /// What kind of address it is.
    pub kind: AddressKind,
    /// The IP or name, as it is written to the Node.
    pub address: String,
}

impl Address {
    /// An address of this kind.
    pub fn new(kind: AddressKind, address: impl Into<String>) -> Self {
        Self {
            kind,
            address: address.into(),
        }
    }
}

/// The kinds of address that Kubernetes knows; the names are those on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AddressKind {
    /// `Hostname`
    Hostname,
    /// `InternalIP`
    InternalIP,
    /// `ExternalIP`
    ExternalIP,
    /// `InternalDNS`
    InternalDNS,
    /// `ExternalDNS`
    ExternalDNS,
}

impl AddressKind {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hostname => "Hostname",
            Self::InternalIP => "InternalIP",
            Self::ExternalIP => "ExternalIP",
            Self::InternalDNS => "InternalDNS",
            Self::ExternalDNS => "ExternalDNS",
        }
    }

    /// The kind with this name on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::Hostname,
            Self::InternalIP,
            Self::ExternalIP,
            Self::InternalDNS,
            Self::ExternalDNS,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
