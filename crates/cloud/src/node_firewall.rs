//! A firewall in front of the nodes.

use crate::{Result, Spec};
use async_trait::async_trait;

/// A cloud firewall that is open only for the ports of Services.
#[async_trait]
pub trait NodeFirewall: Send + Sync {
    /// Opens the ports of these Services, which are all of the cluster, and closes all others. Writes nothing if the firewall is up to
    /// date. Safe to call again at any time; reverts changes by other programs.
    async fn open(&self, services: &[Exposed]) -> Result<()>;
}

/// A Service that is reachable from outside of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposed {
    /// How it is exposed.
    pub exposure: Exposure,
    /// What it asks for, without hosts.
    pub spec: Spec,
}

/// How a Service is exposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// On a port of every node.
    NodePort,
    /// By a load balancer.
    LoadBalancer,
}
