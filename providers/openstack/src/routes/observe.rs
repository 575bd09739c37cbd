//! Reads the router and the ports at its next hops.

use super::{
    features::Features,
    node_route::NodeRoute,
    ownership::{self, RouteOwner},
};
use crate::{
    api::{
        Session,
        neutron::{
            FILTER_VALUES, networks,
            ports::{self, Port},
            routers::{self, Router},
        },
    },
    instances::node_index::NodeIndex,
};
use cloud::{Error, Result};
use ipnet::IpNet;
use provider_kit::concurrently;
use std::{
    collections::{BTreeSet, HashMap},
    net::IpAddr,
};

/// The router.
///
/// # Errors
/// [`Error::Invalid`] if there is none.
pub async fn router(session: &Session, id: &str) -> Result<Router> {
    let router = routers::router(session, id).await?;
    router.ok_or_else(|| Error::invalid("router-id", format!("there is no router {id}")))
}

/// The ports that have these addresses and that the router can reach: one list for each hundred.
pub async fn ports(session: &Session, router: &str, ips: &BTreeSet<IpAddr>) -> Result<HashMap<IpAddr, Port>> {
    let values: Vec<String> = ips.iter().map(|ip| format!("ip_address={ip}")).collect();
    let lists = values.chunks(FILTER_VALUES).map(|chunk| async move {
        let filters: Vec<_> = chunk.iter().map(|value| ("fixed_ips", value.as_str())).collect();
        ports::ports(session, &filters).await
    });
    let lists: Result<Vec<Vec<Port>>> = concurrently(lists).await.into_iter().collect();
    let mut by_ip: HashMap<IpAddr, Vec<Port>> = HashMap::new();
    for port in lists?.into_iter().flatten() {
        for ip in port.fixed_ips.iter().filter_map(|ip| ip.ip_address.parse().ok()) {
            if ips.contains(&ip) {
                by_ip.entry(ip).or_default().push(port.clone());
            }
        }
    }
    if by_ip.values().any(|ports| ports.len() > 1) {
        let reachable = networks_of(session, router).await?;
        for ports in by_ip.values_mut() {
            ports.retain(|port| reachable.contains(&port.network_id));
        }
    }
    let single = |(ip, mut ports): (IpAddr, Vec<Port>)| Some((ip, ports.pop().filter(|_| ports.is_empty())?));
    Ok(by_ip.into_iter().filter_map(single).collect())
}

/// The same address may be used on many networks; only those of the router count.
async fn networks_of(session: &Session, router: &str) -> Result<BTreeSet<String>> {
    let ports = ports::ports(session, &[("device_id", router)]).await?;
    Ok(ports.into_iter().map(|port| port.network_id).collect())
}

/// The name of the node on a device: from the index, or else the name of the server.
///
/// # Errors
/// If Nova does not answer.
pub async fn node(session: &Session, nodes: &NodeIndex, device: &str) -> Result<Option<String>> {
    use crate::api::nova::{self, Microversion};
    if let Some(node) = nodes.find(device) {
        return Ok(Some(node));
    }
    let server = nova::server(session, device, Microversion::Base).await?;
    Ok(server.map(|server| server.name))
}

/// The orphans that must belong to this cluster, from before this process started.
///
/// # Errors
/// If Neutron does not answer.
pub async fn adopted(
    session: &Session,
    ours: &[(NodeRoute, Option<&Port>)],
    orphans: &[NodeRoute],
) -> Result<Vec<NodeRoute>> {
    let subnet_of = |(hop, port): &(NodeRoute, Option<&Port>)| {
        let mut ips = (*port)?.fixed_ips.iter();
        let ip = ips.find(|ip| ip.ip_address.parse() == Ok(hop.next))?;
        Some(ip.subnet_id.clone())
    };
    let subnets: BTreeSet<String> = ours.iter().filter_map(subnet_of).collect();
    if orphans.is_empty() || subnets.is_empty() {
        return Ok(Vec::new());
    }
    let filters: Vec<_> = subnets
        .iter()
        .take(FILTER_VALUES)
        .map(|id| ("id", id.as_str()))
        .collect();
    let ranges = overseen(session, &filters).await?;
    Ok(orphans
        .iter()
        .copied()
        .filter(|orphan| resembles(orphan, ours, &ranges))
        .collect())
}

/// The routes without a known port whose next hop certainly does not exist.
///
/// # Errors
/// If Neutron does not answer.
pub async fn vacant(session: &Session, router: &str, mut hops: Vec<NodeRoute>) -> Result<Vec<NodeRoute>> {
    if hops.is_empty() {
        return Ok(hops);
    }
    let networks = networks_of(session, router).await?;
    let networks = networks.iter().take(FILTER_VALUES);
    let filters: Vec<_> = networks.map(|id| ("network_id", id.as_str())).collect();
    let ranges = overseen(session, &filters).await?;
    hops.retain(|hop| ranges.iter().any(|range| range.contains(&hop.next)));
    Ok(hops)
}

/// The ranges of the subnets in which no port is hidden: Neutron shows all ports of a network to the project that owns the network, and on other
/// networks only the own ones.
async fn overseen(session: &Session, filters: &[(&str, &str)]) -> Result<Vec<IpNet>> {
    let project = session.project_id().await?;
    let mut subnets = networks::subnets(session, filters).await?;
    subnets.retain(|subnet| subnet.project_id.as_ref() == Some(&project));
    Ok(subnets.iter().filter_map(|subnet| subnet.cidr.parse().ok()).collect())
}

/// Whether a route is like those of this cluster: the same prefix length, at most 256 networks away, and with a next hop in a subnet of the
/// nodes.
fn resembles(orphan: &NodeRoute, ours: &[(NodeRoute, Option<&Port>)], ranges: &[IpNet]) -> bool {
    let length = orphan.destination.prefix_len();
    let row = IpNet::new(orphan.destination.addr(), length.saturating_sub(8));
    let is_like = |(hop, _): &(NodeRoute, Option<&Port>)| {
        let in_row = row.as_ref().is_ok_and(|row| row.contains(&hop.destination));
        in_row && hop.destination.prefix_len() == length
    };
    ours.iter().any(is_like) && ranges.iter().any(|range| range.contains(&orphan.next))
}

/// The routes of a router, by owner.
pub struct Sorted {
    /// Those of this cluster, and the port at the next hop.
    pub ours: Vec<(NodeRoute, Option<Port>)>,
    /// Those without an owner.
    pub orphans: Vec<NodeRoute>,
}

/// Sorts the routes by owner.
pub fn sorted(
    cluster: &str,
    hops: &[NodeRoute],
    ports: &HashMap<IpAddr, Port>,
    features: Features,
    known: &ownership::State,
    nodes: &NodeIndex,
) -> Sorted {
    let mut sorted = Sorted {
        ours: Vec::new(),
        orphans: Vec::new(),
    };
    for hop in hops {
        let port = ports.get(&hop.next);
        let is_node = |device: &str| nodes.find(device).is_some();
        match ownership::owner_of(cluster, hop, port, features.pairs, known, is_node) {
            RouteOwner::Ours => sorted.ours.push((*hop, port.cloned())),
            RouteOwner::Orphan => sorted.orphans.push(*hop),
            RouteOwner::Other => {}
        }
    }
    sorted
}
