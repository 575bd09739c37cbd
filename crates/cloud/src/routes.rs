//! Routes between the pods of different nodes.

use crate::{Address, Result};
use async_trait::async_trait;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// Routes to the pods of each node.
#[async_trait]
pub trait Routes: Send + Sync {
    /// The routes of this cluster, and only of this cluster. Routes with an invalid destination are left out.
    async fn list(&self, cluster: &str) -> Result<Vec<Route>>;

    /// Creates routes: one answer for each, in the same order. Creating one that exists already is a success if it leads to the
    /// same node.
    async fn create(&self, cluster: &str, routes: &[NewRoute]) -> Vec<Result<()>>;

    /// Deletes routes as they were listed: one answer for each, in the same order. It is a success if one does not exist.
    async fn delete(&self, cluster: &str, routes: &[Route]) -> Vec<Result<()>>;
}

/// A route in the cloud.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Its name in the cloud.
    pub name: String,
    /// Its destination.
    pub destination: IpNet,
    /// Its target.
    pub target: RouteTarget,
    /// The addresses of the node that it uses; `None` on clouds where a change of address needs no new route.
    pub addresses: Option<Vec<Address>>,
}

/// The target of a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RouteTarget {
    /// This node.
    Node(String),
    /// The node whose provider ID is this, or ends with it after a slash. For clouds whose routes name machines and not nodes.
    Machine(String),
    /// A machine that does not exist any more.
    Blackhole,
    /// A target without a known node name.
    Unknown,
}

impl RouteTarget {
    /// Whether it is the node of this name and provider ID.
    #[must_use]
    pub fn is(&self, node: &str, provider_id: Option<&str>) -> bool {
        match self {
            Self::Node(name) => name == node,
            Self::Machine(id) => provider_id.and_then(|text| text.rsplit('/').next()) == Some(id),
            Self::Blackhole | Self::Unknown => false,
        }
    }
}

/// A route to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRoute {
    /// A unique part for its name: the UID of the Node.
    pub hint: String,
    /// The node's name.
    pub node: String,
    /// The node's provider ID, if it is known.
    pub provider_id: Option<crate::ProviderId>,
    /// The node's addresses.
    pub addresses: Vec<Address>,
    /// The pod CIDR of the node.
    pub destination: IpNet,
}
