//! Load balancers, as plain data.

use crate::{
    Operating, Provisioning,
    octavia::{Common, Listener, Octavia, Pool},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};
use uuid::Uuid;

/// A load balancer as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadBalancerView {
    /// Its ID.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its tags.
    pub tags: BTreeSet<String>,
    /// The state of the last change.
    pub provisioning: Provisioning,
    /// Whether it works.
    pub operating: Operating,
    /// Its address.
    pub vip_address: IpAddr,
    /// Its port.
    pub vip_port: Uuid,
    /// Its subnet.
    pub vip_subnet: Uuid,
    /// Its network.
    pub vip_network: Uuid,
    /// Its further addresses.
    pub additional_addresses: Vec<IpAddr>,
    /// Its provider.
    pub provider: String,
    /// Its flavor.
    pub flavor: Option<Uuid>,
    /// Its availability zone.
    pub zone: Option<String>,
    /// Its listeners, by protocol and port.
    pub listeners: Vec<ListenerView>,
    /// Its pools that no listener sends to.
    pub stray_pools: Vec<PoolView>,
}

/// A listener as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct ListenerView {
    /// Its ID.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its tags.
    pub tags: BTreeSet<String>,
    /// The state of the last change.
    pub provisioning: Provisioning,
    /// Its protocol.
    pub protocol: String,
    /// Its port.
    pub port: u16,
    /// The pool that it sends to.
    pub pool: Option<PoolView>,
    /// Everything else by its name, for example `allowed_cidrs`, `insert_headers` and `timeout_client_data`.
    pub attributes: BTreeMap<String, Value>,
}

/// A pool as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolView {
    /// Its ID.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its tags.
    pub tags: BTreeSet<String>,
    /// The state of the last change.
    pub provisioning: Provisioning,
    /// Its protocol.
    pub protocol: String,
    /// How it chooses a member.
    pub algorithm: String,
    /// How a client keeps its member.
    pub persistence: Option<PersistenceView>,
    /// Its members, by address.
    pub members: Vec<MemberView>,
    /// Its monitor.
    pub monitor: Option<MonitorView>,
}

/// How a client keeps its member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistenceView {
    /// `SOURCE_IP`, …
    pub kind: String,
    /// For how many seconds.
    pub timeout: Option<i64>,
}

/// A member as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberView {
    /// Its ID.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// Its weight.
    pub weight: i64,
    /// Its subnet.
    pub subnet: Option<Uuid>,
    /// The port that is probed.
    pub monitor_port: Option<u16>,
}

/// A monitor as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorView {
    /// Its ID.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// `TCP`, …
    pub kind: String,
    /// Seconds between two probes.
    pub delay: i64,
    /// Seconds that a probe may take.
    pub timeout: i64,
    /// Successes until a member is up.
    pub max_retries: i64,
    /// Failures until a member is down.
    pub max_retries_down: i64,
    /// The path of the probe.
    pub url_path: Option<String>,
    /// The method of the probe.
    pub http_method: Option<String>,
    /// What is a success.
    pub expected_codes: Option<String>,
}

pub(super) fn balancer(octavia: &Octavia, id: Uuid) -> Option<LoadBalancerView> {
    let found = octavia.balancers.get(&id)?;
    let Common {
        name,
        description,
        tags,
        provisioning,
        operating,
        ..
    } = found.common.clone();
    let mut listeners: Vec<&Listener> = octavia
        .listeners
        .values()
        .filter(|listener| listener.balancer == id)
        .collect();
    listeners.sort_by_key(|listener| (listener.protocol, listener.port));
    let stray = |pool: &&Pool| {
        pool.balancer == id
            && !listeners
                .iter()
                .any(|listener| listener.default_pool == Some(pool.common.id))
    };
    Some(LoadBalancerView {
        id,
        name,
        description,
        tags,
        provisioning,
        operating,
        vip_address: found.vip.address,
        vip_port: found.vip.port,
        vip_subnet: found.vip.subnet,
        vip_network: found.vip.network,
        additional_addresses: found.vip.additional.iter().map(|(_, address)| *address).collect(),
        provider: found.provider.clone(),
        flavor: found.flavor,
        zone: found.zone.clone(),
        stray_pools: octavia
            .pools
            .values()
            .filter(stray)
            .map(|one| pool(octavia, one))
            .collect(),
        listeners: listeners.into_iter().map(|one| listener(octavia, one)).collect(),
    })
}

fn listener(octavia: &Octavia, listener: &Listener) -> ListenerView {
    let default = listener.default_pool.and_then(|id| octavia.pools.get(&id));
    ListenerView {
        id: listener.common.id,
        name: listener.common.name.clone(),
        tags: listener.common.tags.clone(),
        provisioning: listener.common.provisioning,
        protocol: listener.protocol.to_owned(),
        port: listener.port,
        pool: default.map(|one| pool(octavia, one)),
        attributes: listener.settings.clone().into_iter().collect(),
    }
}

fn pool(octavia: &Octavia, pool: &Pool) -> PoolView {
    let id = pool.common.id;
    let monitor = octavia.monitors.values().find(|monitor| monitor.pool == id);
    PoolView {
        id,
        name: pool.common.name.clone(),
        tags: pool.common.tags.clone(),
        provisioning: pool.common.provisioning,
        protocol: pool.protocol.to_owned(),
        algorithm: pool.algorithm.to_owned(),
        persistence: pool.persistence.as_ref().map(|one| PersistenceView {
            kind: one.kind.to_owned(),
            timeout: one.timeout,
        }),
        members: members(octavia, id),
        monitor: monitor.map(|monitor| MonitorView {
            id: monitor.common.id,
            name: monitor.common.name.clone(),
            kind: monitor.kind.to_owned(),
            delay: monitor.delay,
            timeout: monitor.timeout,
            max_retries: monitor.max_retries,
            max_retries_down: monitor.max_retries_down,
            url_path: monitor.url_path.clone(),
            http_method: monitor.http_method.clone(),
            expected_codes: monitor.expected_codes.clone(),
        }),
    }
}

fn members(octavia: &Octavia, pool: Uuid) -> Vec<MemberView> {
    let own = octavia.members.values().filter(|member| member.pool == pool);
    let mut members: Vec<MemberView> = own
        .map(|member| MemberView {
            id: member.common.id,
            name: member.common.name.clone(),
            address: member.address,
            port: member.port,
            weight: member.weight,
            subnet: member.subnet,
            monitor_port: member.monitor_port,
        })
        .collect();
    members.sort_by_key(|member| (member.address, member.port));
    members
}
