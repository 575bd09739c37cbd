//! A firewall in front of the nodes.

use crate::{Result, Spec};
use async_trait::async_trait;

/// A cloud firewall that is closed but for the ports of Services.
#[async_trait]
pub trait NodeFirewall: Send + Sync {
    /// Opens what these Services need, which are all of the cluster, and closes everything else. Writes nothing if that is so already.
    /// Safe to call again at any time; also repairs what another program changed, though not at once.
    async fn open(&self, services: &[Exposed]) -> Result<()>;
}

/// A Service that is reachable from outside of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposed {
    /// How it is exposed.
    pub exposure: Exposure,
    /// What it asks for; it has no hosts.
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
