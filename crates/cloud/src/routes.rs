//! Routes between the pods of different nodes.

use crate::{Address, Result};
use async_trait::async_trait;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// Routes to the pods of each node.
#[async_trait]
pub trait Routes: Send + Sync {
    /// The routes of this cluster, and only of this cluster. A route whose destination cannot be read is left out.
    async fn list(&self, cluster: &str) -> Result<Vec<Route>>;

    /// Creates routes: one answer a route, in the order asked. Creating one that exists already is a success if it
    /// points at the same node.
    async fn create(&self, cluster: &str, routes: &[NewRoute]) -> Vec<Result<()>>;

    /// Deletes routes as they were listed: one answer a route, in the order asked. One that is gone is a success.
    async fn delete(&self, cluster: &str, routes: &[Route]) -> Vec<Result<()>>;
}

/// A route that the cloud has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The cloud's own name of it.
    pub name: String,
    /// Where it leads.
    pub destination: IpNet,
    /// What is behind it.
    pub target: RouteTarget,
    /// The addresses of the node that it uses; `None` on clouds where a change of address needs no new route.
    pub addresses: Option<Vec<Address>>,
}

/// What is behind a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RouteTarget {
    /// This node.
    Node(String),
    /// A machine that is gone.
    Blackhole,
    /// Something that the cloud cannot put a node's name to.
    Unknown,
}

/// A route to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRoute {
    /// Something unique to name it by: the UID of the Node.
    pub hint: String,
    /// The node's name.
    pub node: String,
    /// The node's provider ID, if it is known.
    pub provider_id: Option<crate::ProviderId>,
    /// The node's addresses.
    pub addresses: Vec<Address>,
    /// The pods of the node.
    pub destination: IpNet,
}
