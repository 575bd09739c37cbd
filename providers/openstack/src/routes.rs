//! Neutron's extra routes: the way to the pods of each node.
//!
//! Read `ownership` first: a router is shared, and only this cluster's routes are listed, and therefore only they are ever
//! deleted. Then `plan`, which is pure, and `create` and `delete`, which say in which order things happen, so that after a
//! crash at any point the rest is found and done again.

mod abilities;
mod act;
mod create;
mod delete;
mod hop;
mod look;
mod ownership;
mod plan;

pub use abilities::Abilities;

use crate::{
    instances::node_index::NodeIndex,
    provider::{Connection, Live},
};
use abilities::Pairs;
use async_trait::async_trait;
use cloud::{Gate, NewRoute, Result, Route, RouteTarget};
use create::router_id;
use hop::Hop;
use ownership::Known;
use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The routes of one router.
pub struct Routes {
    live: Live,
    nodes: Arc<NodeIndex>,
    gate: Gate,
    known: Mutex<Known>,
}

impl Routes {
    /// Asks through whatever connection is in use.
    pub fn new(live: Live, nodes: Arc<NodeIndex>, gate: Gate) -> Self {
        Self {
            live,
            nodes,
            gate,
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn listed(&self, cluster: &str, connection: &Connection) -> Result<Vec<Route>> {
        let session = &connection.session;
        let ability = connection.extensions.get(session).await?;
        let router = look::router(session, router_id(connection)?).await?;
        let hops: Vec<Hop> = router.routes.iter().filter_map(Hop::read).collect();
        self.known().keep(&hops.iter().copied().collect::<HashSet<Hop>>());
        if hops.is_empty() {
            return Ok(Vec::new());
        }
        let ips: BTreeSet<_> = hops.iter().map(|hop| hop.next).collect();
        let ports = look::ports(session, &router.id, &ips).await?;
        let sorted = look::sorted(cluster, &hops, &ports, ability, &self.known(), &self.nodes);

        let mut routes = Vec::with_capacity(sorted.ours.len());
        for (hop, port) in &sorted.ours {
            let node = match port {
                Some(port) => look::node(session, &self.nodes, &port.device_id).await?,
                // A port that we need not change we need not see either.
                None if ability.pairs == Pairs::Unknown => self.known().node(hop),
                None => None,
            };
            routes.push(route(hop, node));
            self.known().learn(cluster, *hop);
        }
        let ours: Vec<_> = sorted.ours.iter().map(|(hop, port)| (*hop, port.as_ref())).collect();
        let adopted = look::adopted(session, &ours, &sorted.orphans).await?;
        routes.extend(adopted.iter().map(|hop| route(hop, None)));
        Ok(routes)
    }
}

fn route(hop: &Hop, node: Option<String>) -> Route {
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
        everybody(routes.len(), self.try_create(cluster, routes).await)
    }

    async fn delete(&self, cluster: &str, routes: &[Route]) -> Vec<Result<()>> {
        if routes.is_empty() {
            return Vec::new();
        }
        everybody(routes.len(), self.try_delete(cluster, routes).await)
    }
}

/// A failure of the whole call is every route's answer.
fn everybody(routes: usize, results: Result<Vec<Result<()>>>) -> Vec<Result<()>> {
    results.unwrap_or_else(|error| vec![Err(error.of_batch()); routes])
}
