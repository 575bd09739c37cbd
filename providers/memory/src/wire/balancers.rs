//! What is asked of load balancers.

use crate::wire::{Address, each, id, mirror, outcomes::Ingress};
use cloud::{AddressKind, Affinity, RangesFrom, ServiceRef, TrafficPolicy};
use ipnet::IpNet;
use serde::{Deserialize, Serialize, Serializer};
use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

/// The body of a question about one load balancer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    pub(crate) spec: Spec,
}

/// [`cloud::Spec`]; only `cluster` and `service` are needed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Spec {
    cluster: String,
    service: ServiceRef,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ip: Option<String>,
    #[serde(default)]
    ports: Vec<ServicePort>,
    #[serde(default)]
    source_ranges: Vec<IpNet>,
    #[serde(default, skip_serializing_if = "is_default")]
    ranges_from: RangesFrom,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bad_ranges: Vec<String>,
    /// How long a client stays on its host; none if it need not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    affinity_seconds: Option<u32>,
    #[serde(default)]
    traffic: Traffic,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    health_check_port: Option<u16>,
    #[serde(default)]
    families: Vec<Family>,
    #[serde(rename = "externalIPs", default, skip_serializing_if = "Vec::is_empty")]
    external_ips: Vec<IpAddr>,
    #[serde(default)]
    hosts: Vec<Host>,
    /// What the Service's status says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ingress: Vec<Ingress>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_default(from: &RangesFrom) -> bool {
    *from == RangesFrom::Default
}

/// [`cloud::Port`]
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ServicePort {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(default)]
    protocol: Protocol,
    port: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node_port: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    app_protocol: Option<String>,
}

/// [`cloud::Protocol`]
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Protocol {
    #[default]
    Tcp,
    Udp,
    Sctp,
}

/// [`TrafficPolicy`]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Traffic {
    #[default]
    Cluster,
    Local,
}

/// [`cloud::IpFamily`]
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Family {
    #[serde(rename = "IPv4")]
    V4,
    #[serde(rename = "IPv6")]
    V6,
}

/// [`cloud::Host`], shared: a Service can have thousands, and most Services have the same.
#[derive(Debug, Deserialize)]
#[serde(from = "OwnHost")]
pub(crate) struct Host(Arc<cloud::Host>);

/// What is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnHost {
    name: String,
    #[serde(rename = "providerID", default)]
    provider_id: Option<String>,
    #[serde(default)]
    addresses: Vec<Address>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// What is written: without labels, which this cloud has no use for.
#[derive(Serialize)]
struct HostRef<'a> {
    name: &'a str,
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    provider_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<AddressRef<'a>>,
}

#[derive(Serialize)]
struct AddressRef<'a> {
    #[serde(rename = "type")]
    kind: AddressKind,
    address: &'a str,
}

impl<'a> From<&'a cloud::Address> for AddressRef<'a> {
    fn from(cloud::Address { kind, address }: &'a cloud::Address) -> Self {
        Self { kind: *kind, address }
    }
}

impl Serialize for Host {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cloud::Host {
            name,
            provider_id,
            addresses,
            labels: _,
        } = &*self.0;
        HostRef {
            name,
            provider_id: provider_id.as_ref().map(cloud::ProviderId::as_str),
            addresses: addresses.iter().map(AddressRef::from).collect(),
        }
        .serialize(serializer)
    }
}

impl From<OwnHost> for Host {
    fn from(host: OwnHost) -> Self {
        let OwnHost {
            name,
            provider_id,
            addresses,
            labels,
        } = host;
        Self(Arc::new(cloud::Host {
            name,
            provider_id: id(provider_id),
            addresses: each(addresses),
            labels,
        }))
    }
}

mirror!(Protocol, cloud::Protocol, Tcp, Udp, Sctp);
mirror!(Family, cloud::IpFamily, V4, V6);

impl From<cloud::Spec> for Spec {
    #[rustfmt::skip]
    fn from(spec: cloud::Spec) -> Self {
        let cloud::Spec {
            cluster, service, annotations, class, ip, ports, source_ranges, ranges_from, bad_ranges, affinity, traffic, families,
            external_ips, hosts,
            status: cloud::Status { ingress },
        } = spec;
        let affinity_seconds = match affinity {
            Affinity::None => None,
            Affinity::ClientIp { timeout_seconds } => Some(timeout_seconds),
        };
        let (traffic, health_check_port) = match traffic {
            TrafficPolicy::Cluster => (Traffic::Cluster, None),
            TrafficPolicy::Local { health_check_port } => (Traffic::Local, health_check_port),
        };
        let (ports, families, hosts, ingress) = (each(ports), each(families), hosts.iter().cloned().map(Host).collect(), each(ingress));
        Self {
            cluster, service, annotations, class, ip, ports, source_ranges, ranges_from, bad_ranges, affinity_seconds, traffic,
            health_check_port, families, external_ips, hosts, ingress,
        }
    }
}

impl From<Spec> for cloud::Spec {
    #[rustfmt::skip]
    fn from(spec: Spec) -> Self {
        let Spec {
            cluster, service, annotations, class, ip, ports, source_ranges, ranges_from, bad_ranges, affinity_seconds, traffic,
            health_check_port, families, external_ips, hosts, ingress,
        } = spec;
        let affinity = match affinity_seconds {
            None => Affinity::None,
            Some(timeout_seconds) => Affinity::ClientIp { timeout_seconds },
        };
        let traffic = match traffic {
            Traffic::Cluster => TrafficPolicy::Cluster,
            Traffic::Local => TrafficPolicy::Local { health_check_port },
        };
        let status = cloud::Status { ingress: each(ingress) };
        let (ports, families, hosts) = (each(ports), each(families), hosts.into_iter().map(|Host(host)| host).collect());
        Self {
            cluster, service, annotations, class, ip, ports, source_ranges, ranges_from, bad_ranges, affinity, traffic, families,
            external_ips, hosts,
            status,
        }
    }
}

impl From<cloud::Port> for ServicePort {
    fn from(
        cloud::Port {
            name,
            protocol,
            port,
            node_port,
            app_protocol,
        }: cloud::Port,
    ) -> Self {
        Self {
            name,
            protocol: protocol.into(),
            port,
            node_port,
            app_protocol,
        }
    }
}

impl From<ServicePort> for cloud::Port {
    fn from(
        ServicePort {
            name,
            protocol,
            port,
            node_port,
            app_protocol,
        }: ServicePort,
    ) -> Self {
        Self {
            name,
            protocol: protocol.into(),
            port,
            node_port,
            app_protocol,
        }
    }
}
