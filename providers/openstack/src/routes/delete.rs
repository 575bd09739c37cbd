//! Deletes routes: first the allowed addresses of the ports, then all routes at once, last the tags of the ports.

use super::{
    Routes, apply,
    create::router_id,
    features::{Features, Pairs, Tags},
    node_route::NodeRoute,
    observe, ownership,
};
use crate::api::{
    Deleted, Session,
    neutron::{
        ports::{self, Port},
        routers::Router,
    },
};
use cloud::{Error, Result, Route};
use provider_kit::concurrently;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    net::IpAddr,
};
use tracing::warn;

impl Routes {
    pub(super) async fn try_delete(&self, cluster: &str, routes: &[Route]) -> Result<Vec<Result<()>>> {
        (self.gate)()?;
        let connection = self.live.load();
        let session = &connection.session;
        let features = connection.route_features.get(session).await?;
        let router = observe::router(session, router_id(&connection)?).await?;
        let hops: Vec<Result<NodeRoute>> = routes.iter().map(|route| NodeRoute::named(&route.name)).collect();
        let wanted: BTreeSet<NodeRoute> = hops.iter().flatten().copied().collect();
        let ips = wanted.iter().map(|hop| hop.next).collect();
        let ports = observe::ports(session, &router.id, &ips).await?;

        let mut failures = close_ports(session, features, &ports, &wanted).await;
        let remove: Vec<NodeRoute> = wanted
            .iter()
            .copied()
            .filter(|hop| !failures.contains_key(hop))
            .collect();
        match remove_routes(session, router, features, &remove).await {
            Ok(left) => self.forget(session, features, cluster, &ports, &remove, &left).await,
            Err(error) => {
                let error = error.of_batch();
                failures.extend(remove.into_iter().map(|hop| (hop, error.clone())));
            }
        }
        let outcome = |hop: Result<NodeRoute>| failures.get(&hop?).map_or(Ok(()), |error| Err(error.clone()));
        Ok(hops.into_iter().map(outcome).collect())
    }

    /// Removes the tag of ports that are not the next hop of a route any more.
    async fn forget(
        &self,
        session: &Session,
        features: Features,
        cluster: &str,
        ports: &HashMap<IpAddr, Port>,
        removed: &[NodeRoute],
        left: &Router,
    ) {
        for hop in removed {
            self.state().forget(hop);
        }
        let used: HashSet<IpAddr> = left
            .routes
            .iter()
            .filter_map(NodeRoute::read)
            .map(|hop| hop.next)
            .collect();
        let tag = ownership::tag(cluster);
        let free = ports.values().filter(|port| {
            let mut ips = port.fixed_ips.iter().filter_map(|ip| ip.ip_address.parse().ok());
            port.tags.contains(&tag) && !ips.any(|ip: IpAddr| used.contains(&ip))
        });
        if features.tags == Tags::Unknown {
            return;
        }
        let free: BTreeMap<&str, &Port> = free.map(|port| (port.id.as_str(), port)).collect();
        let untagged = free
            .into_keys()
            .map(|id| async move { (id, untag(session, id, cluster).await) });
        for (port, result) in concurrently(untagged).await {
            if let Err(error) = result {
                warn!(port, error = error.report(), "cannot remove the tag of a port");
            }
        }
    }
}

async fn untag(session: &Session, port: &str, cluster: &str) -> Result<Deleted> {
    ports::delete_tag(session, port, &ownership::tag(cluster)).await
}

async fn remove_routes(session: &Session, router: Router, features: Features, hops: &[NodeRoute]) -> Result<Router> {
    let there: HashSet<NodeRoute> = router.routes.iter().filter_map(NodeRoute::read).collect();
    let remove: Vec<NodeRoute> = hops.iter().copied().filter(|hop| there.contains(hop)).collect();
    if remove.is_empty() {
        return Ok(router);
    }
    apply::change(session, router, features.update, &remove, &[]).await
}

/// Removes the destinations from the allowed addresses of the ports. Returns the failures.
async fn close_ports(
    session: &Session,
    features: Features,
    ports: &HashMap<IpAddr, Port>,
    hops: &BTreeSet<NodeRoute>,
) -> HashMap<NodeRoute, Error> {
    let mut by_port: BTreeMap<&str, (&Port, Vec<NodeRoute>)> = BTreeMap::new();
    for hop in hops {
        if let (Some(port), Pairs::Needed) = (ports.get(&hop.next), features.pairs) {
            by_port
                .entry(&port.id)
                .or_insert_with(|| (port, Vec::new()))
                .1
                .push(*hop);
        }
    }
    let closed = by_port.into_values().map(|(port, hops)| async move {
        let closed = apply::forbid(session, port, &hops).await;
        (hops, closed)
    });
    let mut failures = HashMap::new();
    for (hops, closed) in concurrently(closed).await {
        if let Err(error) = closed {
            let error = error.of_batch();
            failures.extend(hops.into_iter().map(|hop| (hop, error.clone())));
        }
    }
    failures
}
