//! The desired load balancer of a Service. Pure.

use super::tree;
use crate::{
    api::octavia::{
        AdditionalVip, LoadBalancer, NewListener, NewLoadBalancer, NewMember, NewMonitor, NewPool, Persistence,
    },
    config::{Config, LoadBalancer as Defaults},
    load_balancers::{
        features::{Features, is_ovn},
        names, node_address,
        settings::{Proxy, Settings},
    },
};
use cloud::{Affinity, Error, Host, IpFamily, Port as ServicePort, Protocol, Result, Spec, TrafficPolicy};
use ipnet::IpNet;
use provider_kit::load_balancer::Record;
use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

/// Everything that belongs to one Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Desired {
    /// The name of its own load balancer, which is also its tag on a shared one.
    pub name: String,
    /// The tags that its load balancer must have; none where Octavia has no tags.
    pub tags: Vec<String>,
    /// One a port, in the order of the Service.
    pub ports: Vec<Port>,
    /// The headers that the Service controls, by their names on the wire; other headers of a listener are kept.
    pub headers: Vec<&'static str>,
    /// How members are changed.
    pub members: MemberMode,
}

/// One port of the Service: a listener, its pool, and what is behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Port {
    /// No two listeners of a load balancer can have the same.
    pub key: Key,
    pub listener: NewListener,
    pub pool: NewPool,
    pub members: Vec<NewMember>,
    pub monitor: Option<NewMonitor>,
}

/// A port and the protocol beneath: what Octavia lets only one listener have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub protocol: Protocol,
    pub port: u16,
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.port, self.protocol.as_str())
    }
}

/// How members are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberMode {
    /// All of a pool at once.
    Batch,
    /// One at a time: `provider-requires-serial-api-calls`.
    Serial,
}

/// The networks of the members, and the IP families of the load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MemberNetwork {
    /// The subnet of the members, if it is known,
    pub member_subnet: Option<String>,
    /// and of those of the second family: where the load balancer has its second address.
    pub second_subnet: Option<String>,
    /// The families of its addresses.
    pub families: Vec<IpFamily>,
}

impl MemberNetwork {
    /// As the annotations name them, if the class is invalid. New members then join the subnet of the others.
    pub fn of_settings(settings: &Settings, balancer: &LoadBalancer) -> Self {
        Self {
            member_subnet: Some(settings.networks.member_subnet_id.clone()).filter(|id| !id.is_empty()),
            second_subnet: tree::second_subnet(balancer),
            families: tree::families(balancer),
        }
    }
}

/// Everything that the load balancer of a Service depends on.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub spec: &'a Spec,
    pub settings: &'a Settings,
    pub features: Features,
    pub record: Option<&'a Record>,
    pub config: &'a Config,
}

impl Inputs<'_> {
    fn defaults(&self) -> &Defaults {
        &self.config.load_balancer
    }

    /// The hosts that get traffic.
    pub fn hosts(&self) -> Vec<&Arc<Host>> {
        self.settings.node_selector.select(&self.spec.hosts)
    }

    /// What should be there.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no port, or if the source ranges allow no client.
    pub fn desired(&self, member_network: &MemberNetwork) -> Result<Desired> {
        if self.spec.ports.is_empty() {
            return Err(Error::invalid("spec.ports", "a load balancer needs at least one port"));
        }
        let name = names::load_balancer(&self.spec.cluster, &self.spec.service);
        let ranges = self.ranges(&member_network.families)?;
        let port = |(index, port)| self.port(index, port, &name, member_network, &ranges);
        Ok(Desired {
            tags: self.tags(&name),
            ports: self.spec.ports.iter().enumerate().map(port).collect(),
            headers: self.settings.governed_headers.clone(),
            members: self.member_mode(),
            name,
        })
    }

    /// How members are changed.
    pub fn member_mode(&self) -> MemberMode {
        if self.defaults().provider_requires_serial_api_calls {
            MemberMode::Serial
        } else {
            MemberMode::Batch
        }
    }

    /// The body of the request that creates the load balancer.
    pub fn new_load_balancer(&self, desired: &Desired, vip: NewVip) -> NewLoadBalancer {
        let Spec { cluster, service, .. } = self.spec;
        let mut tags = desired.tags.clone();
        if self.features.tags {
            tags.push(names::uid_tag(&service.uid));
        }
        NewLoadBalancer {
            name: desired.name.clone(),
            description: names::description(cluster, service),
            provider: self.defaults().lb_provider.clone(),
            tags,
            flavor_id: self.settings.flavor_id.clone().filter(|_| self.features.flavors),
            availability_zone: self.settings.availability_zone.clone().filter(|_| self.features.zones),
            vip_port_id: vip.port,
            vip_subnet_id: vip.subnet,
            vip_network_id: vip.network,
            vip_address: vip.address,
            additional_vips: vip.additional.into_iter().map(additional).collect(),
            listeners: if self.populates() {
                populated(desired)
            } else {
                Vec::new()
            },
        }
    }

    /// Whether everything is created in one call. On many releases ovn leaves the pools of such a call in `PENDING_CREATE` for ever
    /// (cloud-provider-openstack#1751, #2165).
    pub fn populates(&self) -> bool {
        !self.defaults().provider_requires_serial_api_calls && !is_ovn(&self.defaults().lb_provider)
    }

    /// The members of a pool behind this node port.
    pub fn members(&self, protocol: Protocol, node_port: u16, member_network: &MemberNetwork) -> Vec<NewMember> {
        let monitor_port = self.monitor_port(protocol);
        let families = member_families(self.spec, self.is_untranslated(protocol), &member_network.families);
        // A Service of no family takes whatever address a node has.
        let families = match families.as_slice() {
            [] => vec![None],
            families => families.iter().copied().map(Some).collect(),
        };
        let serial = self.defaults().provider_requires_serial_api_calls;
        let mut members: Vec<NewMember> = Vec::new();
        for host in self.hosts() {
            let subnets = [&member_network.member_subnet, &member_network.second_subnet];
            let places = families.iter().zip(subnets);
            for (address, subnet) in
                places.filter_map(|(family, subnet)| Some((node_address::of(host, *family)?, subnet)))
            {
                // Octavia refuses all of them if two are the same.
                if members.iter().any(|member| member.address == address) {
                    continue;
                }
                members.push(NewMember {
                    name: self.member_name(host, address, node_port),
                    address: address.to_owned(),
                    protocol_port: node_port,
                    // As in occm, serial requests have no subnet.
                    subnet_id: subnet.clone().filter(|_| !serial),
                    monitor_port: monitor_port.map(Some),
                    aliases: if serial { aliases(host, address) } else { Vec::new() },
                });
            }
        }
        members
    }

    /// Whether the load balancer passes packets on as they are: then each family of its addresses needs members of its own.
    pub fn is_untranslated(&self, protocol: Protocol) -> bool {
        protocol != Protocol::Tcp || is_ovn(&self.defaults().lb_provider)
    }

    fn member_name(&self, host: &Host, address: &str, node_port: u16) -> String {
        if self.defaults().provider_requires_serial_api_calls {
            names::serial_member(&host.name, address, node_port)
        } else {
            host.name.clone()
        }
    }

    fn tags(&self, name: &str) -> Vec<String> {
        with_own(self.features, name, &self.settings.load_balancer_tags)
    }

    fn port(
        &self,
        index: usize,
        port: &ServicePort,
        name: &str,
        member_network: &MemberNetwork,
        ranges: &[IpNet],
    ) -> Port {
        let node_port = port.node_port.filter(|port| *port != 0);
        Port {
            key: Key {
                protocol: port.protocol,
                port: port.port,
            },
            listener: self.listener(index, port, name, ranges),
            pool: self.pool(index, port.protocol, name),
            members: node_port.map_or_else(Vec::new, |node_port| {
                self.members(port.protocol, node_port, member_network)
            }),
            monitor: self.monitor(index, port.protocol, name),
        }
    }

    fn listener(&self, index: usize, port: &ServicePort, name: &str, ranges: &[IpNet]) -> NewListener {
        let protocol = listener_protocol(port.protocol, self.settings);
        let layer7 = matches!(protocol, "HTTP" | "TERMINATED_HTTPS");
        let headers = self.settings.headers.iter().filter(|_| layer7);
        let timeouts = self.features.timeouts.then_some(self.settings.timeouts);
        NewListener {
            loadbalancer_id: None,
            name: names::listener(index, name),
            protocol,
            protocol_port: port.port,
            connection_limit: self.settings.connection_limit,
            default_tls_container_ref: self
                .settings
                .tls_container_ref
                .clone()
                .filter(|_| protocol == "TERMINATED_HTTPS"),
            insert_headers: headers.map(|name| ((*name).to_owned(), "true".to_owned())).collect(),
            timeout_client_data: timeouts.map(|timeouts| timeouts.client_data),
            timeout_member_connect: timeouts.map(|timeouts| timeouts.member_connect),
            timeout_member_data: timeouts.map(|timeouts| timeouts.member_data),
            timeout_tcp_inspect: timeouts.map(|timeouts| timeouts.tcp_inspect),
            tags: with_own(self.features, name, &self.settings.listener_tags),
            allowed_cidrs: ranges.iter().map(ToString::to_string).collect(),
            default_pool: None,
        }
    }

    fn pool(&self, index: usize, protocol: Protocol, name: &str) -> NewPool {
        NewPool {
            name: names::pool(index, name),
            protocol: pool_protocol(protocol, self.settings),
            lb_algorithm: self.settings.method.clone(),
            session_persistence: match self.spec.affinity {
                Affinity::None => None,
                Affinity::ClientIp { .. } => Some(Persistence {
                    kind: "SOURCE_IP".to_owned(),
                }),
            },
            tags: if self.features.tags {
                self.settings.pool_tags.clone()
            } else {
                Vec::new()
            },
            ..NewPool::default()
        }
    }

    fn monitor(&self, index: usize, protocol: Protocol, name: &str) -> Option<NewMonitor> {
        let settings = self.settings.monitor?;
        let http = self.monitor_port(protocol).is_some();
        Some(NewMonitor {
            pool_id: None,
            name: names::monitor(index, name),
            kind: match protocol {
                _ if http => "HTTP",
                Protocol::Tcp => "TCP",
                Protocol::Udp => "UDP-CONNECT",
                Protocol::Sctp => "SCTP",
            },
            delay: settings.delay,
            timeout: settings.timeout,
            max_retries: settings.max_retries,
            max_retries_down: settings.max_retries_down,
            url_path: http.then_some("/healthz"),
            http_method: http.then_some("GET"),
            expected_codes: http.then_some("200"),
        })
    }

    /// The port where a node reports whether it has pods, if the monitor can probe it.
    fn monitor_port(&self, protocol: Protocol) -> Option<u16> {
        self.settings.monitor?;
        let can = match protocol {
            Protocol::Udp => self.features.http_monitors_on_udp,
            Protocol::Tcp | Protocol::Sctp => self.features.http_monitors,
        };
        match self.spec.traffic {
            TrafficPolicy::Local { health_check_port } if can => health_check_port.filter(|port| *port != 0),
            _ => None,
        }
    }

    /// Octavia refuses ranges of a family that the load balancer does not have, and treats an empty list as "all clients".
    fn ranges(&self, families: &[IpFamily]) -> Result<Vec<IpNet>> {
        if !self.features.source_ranges {
            return Ok(Vec::new());
        }
        let asked: Vec<IpNet> = self.spec.source_ranges.iter().map(IpNet::trunc).collect();
        let mut ranges: Vec<IpNet> = Vec::new();
        for range in &asked {
            let fits = families.is_empty() || families.contains(&family(range));
            if fits && !ranges.contains(range) {
                ranges.push(*range);
            }
        }
        if ranges.is_empty() && asked.iter().all(|range| range.prefix_len() == 0) {
            return Ok(families.iter().copied().map(any_address).collect());
        }
        if ranges.is_empty() {
            return Err(Error::invalid(
                "spec.loadBalancerSourceRanges",
                "none of the ranges is of the IP family of the load balancer: no client could connect",
            ));
        }
        Ok(ranges)
    }
}

/// The other addresses of a host: in serial mode occm uses the first internal one of any family.
fn aliases(host: &Host, address: &str) -> Vec<String> {
    let others = host.addresses.iter().map(|other| other.address.as_str());
    others.filter(|other| *other != address).map(str::to_owned).collect()
}

fn any_address(family: IpFamily) -> IpNet {
    match family {
        IpFamily::V4 => IpNet::new_assert(Ipv4Addr::UNSPECIFIED.into(), 0),
        IpFamily::V6 => IpNet::new_assert(Ipv6Addr::UNSPECIFIED.into(), 0),
    }
}

/// Where a new load balancer has its addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NewVip {
    pub port: Option<String>,
    pub subnet: Option<String>,
    pub network: Option<String>,
    pub address: Option<String>,
    /// Subnets of more addresses.
    pub additional: Vec<String>,
}

/// The family of a range.
fn family(range: &IpNet) -> IpFamily {
    match range {
        IpNet::V4(_) => IpFamily::V4,
        IpNet::V6(_) => IpFamily::V6,
    }
}

/// The listener's protocol. TLS and headers apply to TCP ports only.
fn listener_protocol(protocol: Protocol, settings: &Settings) -> &'static str {
    match protocol {
        Protocol::Tcp if settings.tls_container_ref.is_some() => "TERMINATED_HTTPS",
        Protocol::Tcp if !settings.headers.is_empty() => "HTTP",
        other => other.as_str(),
    }
}

/// The pool's protocol. PROXY applies to TCP ports only: Octavia refuses it for UDP and SCTP.
fn pool_protocol(protocol: Protocol, settings: &Settings) -> &'static str {
    match (protocol, settings.proxy) {
        (Protocol::Tcp, Some(Proxy::V1)) => "PROXY",
        (Protocol::Tcp, Some(Proxy::V2)) => "PROXYV2",
        (Protocol::Tcp, None) if settings.tls_container_ref.is_some() || !settings.headers.is_empty() => "HTTP",
        (other, _) => other.as_str(),
    }
}

/// The families of the members: the Service's first one. If packets are not translated, members of both families are needed for a Service with
/// two, on a load balancer with addresses of both.
pub(crate) fn member_families(spec: &Spec, untranslated: bool, vips: &[IpFamily]) -> Vec<IpFamily> {
    let more = spec.families.iter().skip(1);
    let more = more.filter(|family| untranslated && vips.contains(family));
    spec.families.first().into_iter().chain(more).copied().collect()
}

fn with_own(features: Features, name: &str, more: &[String]) -> Vec<String> {
    if !features.tags {
        return Vec::new();
    }
    let more = more.iter().filter(|tag| *tag != name).cloned();
    std::iter::once(name.to_owned()).chain(more).collect()
}

fn additional(subnet_id: String) -> AdditionalVip {
    AdditionalVip {
        subnet_id,
        ip_address: None,
    }
}

fn populated(desired: &Desired) -> Vec<NewListener> {
    let listener = |port: &Port| NewListener {
        default_pool: Some(NewPool {
            members: port.members.clone(),
            healthmonitor: port.monitor.clone(),
            ..port.pool.clone()
        }),
        ..port.listener.clone()
    };
    desired.ports.iter().map(listener).collect()
}

/// The headers of a listener, including those that the Service does not control (`governed`).
pub(crate) fn merged_headers(
    there: &BTreeMap<String, String>,
    wanted: &BTreeMap<String, String>,
    governed: &[&str],
) -> BTreeMap<String, String> {
    let foreign = there.iter().filter(|(name, _)| !governed.contains(&name.as_str()));
    foreign
        .chain(wanted)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests;
