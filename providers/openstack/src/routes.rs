//! Neutron's extra routes to the pods of each node.
//!
//! Read `ownership` first: a router is shared, and only the routes of this cluster are listed, and therefore deleted. Then `plan`, which is
//! pure, and `create` and `delete`: their order of calls makes it safe to stop at any point.

mod apply;
mod create;
mod delete;
mod features;
mod node_route;
mod observe;
mod ownership;
mod plan;

pub use features::FeatureCache;

use crate::{
    instances::node_index::NodeIndex,
    provider::{Connection, Live},
};
use async_trait::async_trait;
use cloud::{Gate, NewRoute, Result, Route, RouteTarget};
use create::router_id;
use features::Pairs;
use node_route::NodeRoute;
use ownership::State;
use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The routes of one router.
pub struct Routes {
    live: Live,
    nodes: Arc<NodeIndex>,
    gate: Gate,
    state: Mutex<State>,
}

impl Routes {
    /// Uses the current connection.
    pub fn new(live: Live, nodes: Arc<NodeIndex>, gate: Gate) -> Self {
        Self {
            live,
            nodes,
            gate,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn listed(&self, cluster: &str, connection: &Connection) -> Result<Vec<Route>> {
        let session = &connection.session;
        let features = connection.route_features.get(session).await?;
        let router = observe::router(session, router_id(connection)?).await?;
        let hops: Vec<NodeRoute> = router.routes.iter().filter_map(NodeRoute::read).collect();
        self.state().keep(&hops.iter().copied().collect::<HashSet<NodeRoute>>());
        if hops.is_empty() {
            return Ok(Vec::new());
        }
        let ips: BTreeSet<_> = hops.iter().map(|hop| hop.next).collect();
        let ports = observe::ports(session, &router.id, &ips).await?;
        let sorted = observe::sorted(cluster, &hops, &ports, features, &self.state(), &self.nodes);

        let mut routes = Vec::with_capacity(sorted.ours.len());
        for (hop, port) in &sorted.ours {
            let node = match port {
                Some(port) => observe::node(session, &self.nodes, &port.device_id).await?,
                // Without address pairs the port is not needed.
                None if features.pairs == Pairs::Unknown => self.state().node(hop),
                None => None,
            };
            routes.push(route(hop, node));
            self.state().learn(cluster, *hop);
        }
        let ours: Vec<_> = sorted.ours.iter().map(|(hop, port)| (*hop, port.as_ref())).collect();
        let adopted = observe::adopted(session, &ours, &sorted.orphans).await?;
        routes.extend(adopted.iter().map(|hop| route(hop, None)));
        Ok(routes)
    }
}

fn route(hop: &NodeRoute, node: Option<String>) -> Route {
    Route {
        name: hop.name(),
        destination: hop.destination,
        target: node.map_or(RouteTarget::Blackhole, RouteTarget::Node),
        addresses: None,
    }
}

#[async_trait]
impl cloud::Routes for Routes {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>> {
        let connection = self.live.load();
        self.listed(cluster, &connection).await
    }

    async fn create(&self, cluster: &str, routes: &[NewRoute]) -> Vec<Result<()>> {
        if routes.is_empty() {
            return Vec::new();
        }
        for_each_route(routes.len(), self.try_create(cluster, routes).await)
    }

    async fn delete(&self, cluster: &str, routes: &[Route]) -> Vec<Result<()>> {
        if routes.is_empty() {
            return Vec::new();
        }
        for_each_route(routes.len(), self.try_delete(cluster, routes).await)
    }
}

/// A failure of the whole call is the answer for every route.
fn for_each_route(routes: usize, results: Result<Vec<Result<()>>>) -> Vec<Result<()>> {
    results.unwrap_or_else(|error| vec![Err(error.of_batch()); routes])
}
