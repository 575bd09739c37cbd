//! Deletes routes: first what the ports may send, then all routes at once, last the mark on the ports.

use super::{
    Routes,
    abilities::{Ability, Pairs, Tags},
    act,
    create::router_id,
    hop::Hop,
    look, ownership,
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
        let ability = connection.extensions.get(session).await?;
        let router = look::router(session, router_id(&connection)?).await?;
        let hops: Vec<Result<Hop>> = routes.iter().map(|route| Hop::named(&route.name)).collect();
        let wanted: BTreeSet<Hop> = hops.iter().flatten().copied().collect();
        let ips = wanted.iter().map(|hop| hop.next).collect();
        let ports = look::ports(session, &router.id, &ips).await?;

        let mut failures = close_ports(session, ability, &ports, &wanted).await;
        let remove: Vec<Hop> = wanted
            .iter()
            .copied()
            .filter(|hop| !failures.contains_key(hop))
            .collect();
        match remove_routes(session, router, ability, &remove).await {
            Ok(left) => self.forget(session, ability, cluster, &ports, &remove, &left).await,
            Err(error) => {
                let error = error.of_batch();
                failures.extend(remove.into_iter().map(|hop| (hop, error.clone())));
            }
        }
        let outcome = |hop: Result<Hop>| failures.get(&hop?).map_or(Ok(()), |error| Err(error.clone()));
        Ok(hops.into_iter().map(outcome).collect())
    }

    /// Takes the mark off ports that no route leads to any more.
    async fn forget(
        &self,
        session: &Session,
        ability: Ability,
        cluster: &str,
        ports: &HashMap<IpAddr, Port>,
        removed: &[Hop],
        left: &Router,
    ) {
        for hop in removed {
            self.known().forget(hop);
        }
        let used: HashSet<IpAddr> = left.routes.iter().filter_map(Hop::read).map(|hop| hop.next).collect();
        let tag = ownership::tag(cluster);
        let free = ports.values().filter(|port| {
            let mut ips = port.fixed_ips.iter().filter_map(|ip| ip.ip_address.parse().ok());
            port.tags.contains(&tag) && !ips.any(|ip: IpAddr| used.contains(&ip))
        });
        if ability.tags == Tags::Unknown {
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

async fn remove_routes(session: &Session, router: Router, ability: Ability, hops: &[Hop]) -> Result<Router> {
    let there: HashSet<Hop> = router.routes.iter().filter_map(Hop::read).collect();
    let remove: Vec<Hop> = hops.iter().copied().filter(|hop| there.contains(hop)).collect();
    if remove.is_empty() {
        return Ok(router);
    }
    act::change(session, router, ability.update, &remove, &[]).await
}

/// Does not let the ports send from the destinations any more. Says where that failed.
async fn close_ports(
    session: &Session,
    ability: Ability,
    ports: &HashMap<IpAddr, Port>,
    hops: &BTreeSet<Hop>,
) -> HashMap<Hop, Error> {
    let mut by_port: BTreeMap<&str, (&Port, Vec<Hop>)> = BTreeMap::new();
    for hop in hops {
        if let (Some(port), Pairs::Needed) = (ports.get(&hop.next), ability.pairs) {
            by_port
                .entry(&port.id)
                .or_insert_with(|| (port, Vec::new()))
                .1
                .push(*hop);
        }
    }
    let closed = by_port.into_values().map(|(port, hops)| async move {
        let closed = act::forbid(session, port, &hops).await;
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
