//! What the operator of a cloud can do.

use crate::sample;
use async_trait::async_trait;
use cloud::{Gate, Host, NodeRef, Protocol, Provider, ServiceRef, Spec};
use ipnet::IpNet;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// A cloud under test, seen from its operator's side: not through the provider.
///
/// Methods with a default say that the world cannot do this; the cases that need it are then listed as such.
#[async_trait]
pub trait World: Send + Sync {
    /// A provider on this cloud that writes while the gate says so. All providers of a world are on the same cloud.
    fn provider(&self, gate: Gate) -> Arc<dyn Provider>;

    /// Starts a machine, and returns the node that would run on it, with its name and provider ID.
    async fn create_machine(&self, name: &str) -> Result<NodeRef, Stop>;

    /// Deletes a machine for good; one that is gone is a success.
    async fn delete_machine(&self, node: &NodeRef) -> Result<(), Stop>;

    /// Takes back a machine that no case needs any more, whatever became of it. A cloud whose machines start slowly may
    /// give it to another case under another name; it must run then, and know nothing of before.
    async fn return_machine(&self, node: &NodeRef) -> Result<(), Stop> {
        self.delete_machine(node).await
    }

    /// The node of a machine that exists and is not managed through this cloud.
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

    /// So many hosts for load balancers; a cloud that checks hosts must return real ones.
    async fn hosts(&self, count: usize) -> Result<Vec<Host>, Stop> {
        Ok((1..=count).map(sample::host).collect())
    }

    /// Completes what a Service asks for, where this cloud wants something more, such as an annotation.
    fn complete(&self, spec: Spec) -> Spec {
        spec
    }

    /// What load balancers are named after here.
    fn naming(&self) -> Naming {
        Naming::Uid
    }

    /// What load balancers of this cloud say about whose they are.
    fn marks(&self) -> Marks {
        Marks::ClusterAndService
    }

    /// How many hosts a load balancer must have at least.
    fn fewest_hosts(&self) -> usize {
        0
    }

    /// The protocols that load balancers of this cloud know.
    fn protocols(&self) -> Vec<Protocol> {
        vec![Protocol::Tcp, Protocol::Udp, Protocol::Sctp]
    }

    /// How many load balancers bear the mark of this cluster.
    async fn count_load_balancers(&self, cluster: &str) -> Result<usize, Stop> {
        let _ = cluster;
        Err(Stop::unable("count load balancers"))
    }

    /// Looks at the load balancer of a Service.
    async fn load_balancer(&self, cluster: &str, service: &ServiceRef) -> Result<Option<LoadBalancer>, Stop> {
        let _ = (cluster, service);
        Err(Stop::unable("look at a load balancer"))
    }

    /// How many routes bear the mark of this cluster.
    async fn count_routes(&self, cluster: &str) -> Result<usize, Stop> {
        let _ = cluster;
        Err(Stop::unable("count routes"))
    }

    /// How many writes the cloud has seen so far that changed something, or tried to.
    async fn count_writes(&self) -> Result<u64, Stop> {
        Err(Stop::unable("count writes"))
    }

    /// Makes load balancers take so long to become ready from now on.
    async fn slow_load_balancers(&self, provisioning: Duration) -> Result<(), Stop> {
        let _ = provisioning;
        Err(Stop::unable("make load balancers slow"))
    }

    /// Makes the next write go wrong.
    async fn spoil_next_write(&self, fault: WriteFault) -> Result<(), Stop> {
        Err(Stop::unable(format!("make a write go wrong ({fault:?})")))
    }

    /// The longest time in which a case may make no progress on this cloud: no call of it ends, and what a load balancer waits
    /// for stays the same.
    fn patience(&self) -> Duration {
        Duration::from_mins(1)
    }
}

/// What the name of a load balancer is made of, besides the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// The UID of the Service: a new Service of an old name has another one.
    Uid,
    /// The namespace and the name of the Service, because running clusters have such balancers; something else tells two
    /// Services of one name apart.
    NamespaceAndName,
}

/// What a load balancer says about whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// The cluster, by `--cluster-name`, and the Service.
    ClusterAndService,
    /// The cluster, by the configuration of the provider, and no Service.
    ConfiguredCluster,
}

/// How a write goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFault {
    /// The cloud refuses it and changes nothing.
    Fails,
    /// The cloud does it, and the answer gets lost.
    LosesAnswer,
    /// The cloud does a part of it and fails.
    FailsHalfway,
}

/// A load balancer, as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadBalancer {
    /// What it listens on.
    pub ports: BTreeSet<(Protocol, u16)>,
    /// The names of the hosts behind it.
    pub hosts: BTreeSet<String>,
    /// Who may connect; `None` if this cloud's load balancers cannot tell.
    pub source_ranges: Option<BTreeSet<IpNet>>,
}

/// Why a case ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The provider, or the world, did something wrong.
    #[error("{0}")]
    Failed(String),
    /// The world cannot do what the case needs.
    #[error("this world cannot {0}")]
    Unable(String),
}

impl Stop {
    /// Something went wrong.
    pub fn failed(what: impl Into<String>) -> Self {
        Self::Failed(what.into())
    }

    /// The world cannot do this; `what` completes "this world cannot …".
    pub fn unable(what: impl Into<String>) -> Self {
        Self::Unable(what.into())
    }
}
