//! A load balancer and everything on it, as Octavia shows it.

use super::desired::Key;
use crate::{
    api::octavia::{AdditionalVip, Listener, LoadBalancer, Member, Monitor, Pool},
    load_balancers::{node_address, ownership::Relation},
};
use cloud::{IpFamily, Port, Protocol};
use std::collections::{BTreeMap, HashMap};

/// A load balancer and everything on it.
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
    /// The pool that receives a listener's traffic.
    pub fn pool_of(&self, listener: &Listener) -> Option<&Pool> {
        let by_default = |pool: &&Pool| listener.default_pool_id.as_ref() == Some(&pool.id);
        let by_listener = |pool: &&Pool| pool.listeners.iter().any(|of| of.id == listener.id);
        self.pools
            .iter()
            .find(by_default)
            .or_else(|| self.pools.iter().find(by_listener))
    }

    /// Whether a pool receives any listener's traffic.
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

    /// The pools of a Service, by the [`Key`] of their port.
    pub fn pools_by_port(&self, relation: &Relation) -> BTreeMap<String, String> {
        let ours = self.listeners.iter().filter(|listener| relation.owns(listener));
        let pools = ours.filter_map(|listener| Some((key(listener).to_string(), self.pool_of(listener)?.id.clone())));
        pools.collect()
    }
}

/// The pool of a Service with one port, by its [`Key`]: which pool serves which of several ports is not known without reading them.
pub(crate) fn only_pool(balancer: &LoadBalancer, ports: &[Port]) -> BTreeMap<String, String> {
    match (ports, balancer.pools.as_slice()) {
        ([port], [pool]) => {
            let key = Key {
                protocol: port.protocol,
                port: port.port,
            };
            BTreeMap::from([(key.to_string(), pool.id.clone())])
        }
        _ => BTreeMap::new(),
    }
}

/// The key of a listener, which is unique on a load balancer.
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
    let addresses = std::iter::once(balancer.vip_address.as_str()).chain(additional(balancer));
    let mut families = Vec::new();
    for family in addresses.filter_map(node_address::family_of) {
        if !families.contains(&family) {
            families.push(family);
        }
    }
    families
}

/// The port for a floating IP: IPv6 addresses have none.
pub(crate) fn floating_port(balancer: &LoadBalancer) -> Option<&str> {
    let port = balancer.vip_port_id.as_deref().filter(|port| !port.is_empty());
    port.filter(|_| families(balancer).first() != Some(&IpFamily::V6))
}

/// The addresses besides the first one by which a Service of these families is reached: one of its second family. Other addresses of a load
/// balancer belong to the user who added them.
pub(crate) fn further_addresses(balancer: &LoadBalancer, families: &[IpFamily]) -> Vec<String> {
    let mut known = Vec::from_iter(node_address::family_of(&balancer.vip_address));
    let mut further = Vec::new();
    for address in additional(balancer) {
        let Some(family) = node_address::family_of(address) else {
            continue;
        };
        if families.iter().skip(1).any(|asked| *asked == family) && !known.contains(&family) {
            known.push(family);
            further.push(address.to_owned());
        }
    }
    further
}

/// The subnet of the first address that is of another family than the load balancer's own.
pub(crate) fn second_subnet(balancer: &LoadBalancer) -> Option<String> {
    let own = node_address::family_of(&balancer.vip_address);
    let family = |vip: &&AdditionalVip| vip.ip_address.as_deref().and_then(node_address::family_of);
    let mut others = balancer.additional_vips.iter();
    let other = others.find(|vip| family(vip).is_some_and(|family| Some(family) != own))?;
    Some(other.subnet_id.clone()).filter(|subnet| !subnet.is_empty())
}

fn additional(balancer: &LoadBalancer) -> impl Iterator<Item = &str> {
    balancer
        .additional_vips
        .iter()
        .filter_map(|vip| vip.ip_address.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const V4: IpFamily = IpFamily::V4;
    const V6: IpFamily = IpFamily::V6;

    #[rstest]
    #[case::one_family(&[V4], "10.0.0.1 10.1.0.1 2001:db8::1", "")]
    #[case::two_families(&[V4, V6], "10.0.0.1 10.1.0.1 2001:db8::1 2001:db8::2", "2001:db8::1")]
    #[case::the_other_way_round(&[V6, V4], "2001:db8::1 10.0.0.1", "10.0.0.1")]
    #[case::of_another_family(&[V6], "10.0.0.1 2001:db8::1", "")]
    #[case::none_there(&[V4, V6], "10.0.0.1", "")]
    #[case::not_reported(&[], "10.0.0.1 2001:db8::1", "")]
    fn a_service_is_reached_by_its_own_families(
        #[case] families: &[IpFamily],
        #[case] addresses: &str,
        #[case] expected: &str,
    ) {
        let (first, more) = addresses.split_once(' ').unwrap_or((addresses, ""));
        let vip = |address: &str| AdditionalVip {
            subnet_id: String::new(),
            ip_address: Some(address.to_owned()),
        };
        let balancer = LoadBalancer {
            vip_address: first.to_owned(),
            additional_vips: more.split_whitespace().map(vip).collect(),
            ..LoadBalancer::default()
        };
        assert_eq!(further_addresses(&balancer, families).join(" "), expected);
    }
}
