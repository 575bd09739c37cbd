//! The machines behind the nodes.

use crate::{ProviderId, Result};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// Answers questions about machines, many at a time.
#[async_trait]
pub trait Instances: Send + Sync {
    /// Describes the machine behind each node: one answer a node, in the order asked. One node is a batch of one.
    ///
    /// A node is found by its provider ID if it has one, else by its name or whatever else [`NodeRef`] tells. A failure
    /// that concerns a single node is that node's answer; a failure of the whole call is every node's answer.
    async fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Vec<Result<Answer>>;

    /// Whether machines of this cloud have provider IDs at all.
    fn provider_ids(&self) -> ProviderIds {
        ProviderIds::Given
    }
}

/// What a provider is told about a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRef {
    /// The Node's name.
    pub name: String,
    /// `spec.providerID`, once it is known.
    pub provider_id: Option<ProviderId>,
    /// `status.nodeInfo.systemUUID`, for clouds that know machines by it.
    pub system_uuid: Option<String>,
    /// `status.addresses`: what the kubelet or an earlier answer says, for clouds that find machines by it.
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

/// How much is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Detail {
    /// Does it exist, is it powered on? Only `provider_id` and `power` of the answer count.
    Liveness,
    /// Everything.
    Full,
}

/// What the cloud says about one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It exists (also when it is powered off).
    Found(Box<Instance>),
    /// The cloud itself says that it does not exist. This deletes the Node: a doubt is an error, never this.
    Missing,
    /// The cloud knows of it but asks to be asked later; the node is left as it is.
    NotYet,
    /// The machine exists and is not managed through this cloud, such as a node on premises. Nothing is known of it: its
    /// Node is initialised as it is, without a provider ID, and is never deleted.
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
    /// Its lasting name; `None` if the cloud does not say (the Node's own is kept then).
    pub provider_id: Option<ProviderId>,
    /// Its type, for the instance-type labels.
    pub instance_type: Option<String>,
    /// Its addresses, in the order in which they are to stand in `status.addresses`.
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
    /// This cloud cannot tell; counts as running.
    #[default]
    Unknown,
}

/// Whether machines of a cloud have provider IDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProviderIds {
    /// Every machine has one; a node without is not initialised.
    Given,
    /// The cloud has none; nodes are initialised without.
    None,
}

/// One entry of `status.addresses`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Address {
    /// What kind of address it is.
    pub kind: AddressKind,
    /// The IP or name, as it is to stand in the Node.
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
