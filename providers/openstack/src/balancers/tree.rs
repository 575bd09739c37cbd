//! A load balancer and everything on it, as Octavia tells it.

use super::desired::Key;
use crate::api::octavia::{Listener, LoadBalancer, Member, Monitor, Pool};
use cloud::{IpFamily, Protocol};
use std::{collections::HashMap, net::IpAddr};

/// What is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    /// The load balancer itself.
    pub balancer: LoadBalancer,
    /// Its listeners.
    pub listeners: Vec<Listener>,
    /// Its pools.
    pub pools: Vec<Pool>,
    /// The members of each pool, by its ID.
    pub members: HashMap<String, Vec<Member>>,
    /// The monitors of the pools, by their IDs.
    pub monitors: HashMap<String, Monitor>,
}

impl Tree {
    /// The pool that a listener's traffic goes to.
    pub fn pool_of(&self, listener: &Listener) -> Option<&Pool> {
        let by_default = |pool: &&Pool| listener.default_pool_id.as_ref() == Some(&pool.id);
        let by_listener = |pool: &&Pool| pool.listeners.iter().any(|of| of.id == listener.id);
        self.pools
            .iter()
            .find(by_default)
            .or_else(|| self.pools.iter().find(by_listener))
    }

    /// Whether any listener's traffic goes to a pool.
    pub fn is_used(&self, pool: &Pool) -> bool {
        !pool.listeners.is_empty()
            || self
                .listeners
                .iter()
                .any(|listener| listener.default_pool_id.as_ref() == Some(&pool.id))
    }

    /// The monitor of a pool.
    pub fn monitor_of(&self, pool: &Pool) -> Option<&Monitor> {
        self.monitors.get(pool.healthmonitor_id.as_ref()?)
    }

    /// The members of a pool.
    pub fn members_of(&self, pool: &Pool) -> &[Member] {
        self.members.get(&pool.id).map_or(&[], Vec::as_slice)
    }
}

/// What only one listener of a load balancer can have.
pub(crate) fn key(listener: &Listener) -> Key {
    let protocol = match listener.protocol.as_str() {
        "UDP" => Protocol::Udp,
        "SCTP" => Protocol::Sctp,
        _ => Protocol::Tcp,
    };
    Key {
        protocol,
        port: listener.protocol_port,
    }
}

/// The families of a load balancer's addresses.
pub(crate) fn families(balancer: &LoadBalancer) -> Vec<IpFamily> {
    let more = balancer
        .additional_vips
        .iter()
        .filter_map(|vip| vip.ip_address.as_deref());
    let mut families = Vec::new();
    for address in std::iter::once(balancer.vip_address.as_str()).chain(more) {
        let family = match address.parse() {
            Ok(IpAddr::V4(_)) => IpFamily::V4,
            Ok(IpAddr::V6(_)) => IpFamily::V6,
            Err(_) => continue,
        };
        if !families.contains(&family) {
            families.push(family);
        }
    }
    families
}
