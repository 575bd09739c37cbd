//! The operations of a cloud's operator.

use crate::objects;
use async_trait::async_trait;
use cloud::{Gate, Host, NodeRef, Protocol, Provider, ServiceRef, Spec};
use ipnet::IpNet;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// A cloud under test, from its operator's view: not through the provider.
///
/// The default of a method is that the world cannot do it; the cases that need it are then listed as such.
#[async_trait]
pub trait World: Send + Sync {
    /// A provider on this cloud that writes while the gate allows it. All providers of a world share the cloud.
    fn provider(&self, gate: Gate) -> Arc<dyn Provider>;

    /// Starts a machine, and returns the node that would run on it, with its name and provider ID.
    async fn create_machine(&self, name: &str) -> Result<NodeRef, Stop>;

    /// Deletes a machine; it is a success if it does not exist.
    async fn delete_machine(&self, node: &NodeRef) -> Result<(), Stop>;

    /// Takes back a machine that no case needs any more, in any state. A cloud whose machines start slowly may give it to
    /// another case under another name; it must run then, and be like a new one.
    async fn return_machine(&self, node: &NodeRef) -> Result<(), Stop> {
        self.delete_machine(node).await
    }

    /// The node of a machine that exists and is not managed by this cloud.
    async fn unmanaged_node(&self, name: &str) -> Result<NodeRef, Stop> {
        Err(Stop::unable(format!("have {name}, a node that it does not manage")))
    }

    /// Turns a machine off and waits until it is.
    async fn power_off(&self, node: &NodeRef) -> Result<(), Stop> {
        let _ = node;
        Err(Stop::unable("turn a machine off"))
    }

    /// How many machines a case may ask for at most.
    fn most_machines(&self) -> usize {
        250
    }

    /// Provider IDs that no machine of this cloud can have, besides those that no cloud can have.
    fn foreign_ids(&self) -> Vec<String> {
        Vec::new()
    }

    /// Hosts for load balancers; a cloud that checks hosts must return real ones.
    async fn hosts(&self, count: usize) -> Result<Vec<Host>, Stop> {
        Ok((1..=count).map(objects::host).collect())
    }

    /// Completes a Service for this cloud, for example with an annotation.
    fn complete(&self, spec: Spec) -> Spec {
        spec
    }

    /// What load balancers are named after.
    fn naming(&self) -> Naming {
        Naming::Uid
    }

    /// How load balancers of this cloud are marked with their owner.
    fn marks(&self) -> Marks {
        Marks::ClusterAndService
    }

    /// How many hosts a load balancer must have at least.
    fn fewest_hosts(&self) -> usize {
        0
    }

    /// The protocols that load balancers of this cloud support.
    fn protocols(&self) -> Vec<Protocol> {
        vec![Protocol::Tcp, Protocol::Udp, Protocol::Sctp]
    }

    /// Whether a load balancer can have ports of several of these protocols.
    fn mixes_protocols(&self) -> bool {
        true
    }

    /// How many load balancers have the mark of this cluster.
    async fn count_load_balancers(&self, cluster: &str) -> Result<usize, Stop> {
        let _ = cluster;
        Err(Stop::unable("count load balancers"))
    }

    /// Reads the load balancer of a Service.
    async fn load_balancer(&self, cluster: &str, service: &ServiceRef) -> Result<Option<LoadBalancer>, Stop> {
        let _ = (cluster, service);
        Err(Stop::unable("look at a load balancer"))
    }

    /// How many routes have the mark of this cluster.
    async fn count_routes(&self, cluster: &str) -> Result<usize, Stop> {
        let _ = cluster;
        Err(Stop::unable("count routes"))
    }

    /// How many writes the cloud has received so far.
    async fn count_writes(&self) -> Result<u64, Stop> {
        Err(Stop::unable("count writes"))
    }

    /// Sets the time that load balancers need to become ready.
    async fn slow_load_balancers(&self, provisioning: Duration) -> Result<(), Stop> {
        let _ = provisioning;
        Err(Stop::unable("make load balancers slow"))
    }

    /// Makes the next write fail.
    async fn spoil_next_write(&self, fault: WriteFault) -> Result<(), Stop> {
        Err(Stop::unable(format!("make a write go wrong ({fault:?})")))
    }

    /// The longest time without progress of a case on this cloud: no call ends, and load balancers wait for the same.
    fn patience(&self) -> Duration {
        Duration::from_mins(1)
    }
}

/// What the name of a load balancer consists of, besides the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// The UID of the Service: a recreated Service has another one.
    Uid,
    /// The namespace and the name of the Service, for compatibility with existing clusters; two Services of one name are
    /// distinguished by something else.
    NamespaceAndName,
}

/// How a load balancer is marked with its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// The cluster, by `--cluster-name`, and the Service.
    ClusterAndService,
    /// The cluster, by the configuration of the provider, and no Service.
    ConfiguredCluster,
    /// The cluster, by the configuration of the provider, and the Service, by its namespace and name. Routes have no mark.
    ConfiguredClusterAndName,
}

impl Marks {
    /// Whether the configuration of the provider names the cluster, and not `--cluster-name`.
    pub(crate) fn are_configured(self) -> bool {
        self != Self::ClusterAndService
    }
}

/// How a write fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFault {
    /// The cloud refuses it, and nothing changes.
    Fails,
    /// The cloud applies it, and the answer is lost.
    LosesAnswer,
    /// The cloud applies a part of it, and fails.
    FailsHalfway,
}

/// A load balancer, as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadBalancer {
    /// Its ports.
    pub ports: BTreeSet<(Protocol, u16)>,
    /// The names of its hosts.
    pub hosts: BTreeSet<String>,
    /// The networks from which clients may connect; `None` if load balancers of this cloud do not have them.
    pub source_ranges: Option<BTreeSet<IpNet>>,
}

/// Why a case ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The provider or the world failed.
    #[error("{0}")]
    Failed(String),
    /// The world cannot do what the case needs.
    #[error("this world cannot {0}")]
    Unable(String),
}

impl Stop {
    /// The case failed.
    pub fn failed(what: impl Into<String>) -> Self {
        Self::Failed(what.into())
    }

    /// The world cannot do this; `what` completes "this world cannot …".
    pub fn unable(what: impl Into<String>) -> Self {
        Self::Unable(what.into())
    }
}
