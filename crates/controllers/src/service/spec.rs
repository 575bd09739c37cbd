//! What a Service asks for, parsed once.

pub mod predicates;
pub mod source_ranges;

use super::{hosts::HostSet, status};
use crate::ip;
use cloud::{Affinity, BadRanges, IpFamily, Port, Protocol, ServiceRef, Spec, TrafficPolicy};
use k8s_openapi::{
    api::core::v1::{Service, ServicePort, ServiceSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::ResourceExt;
use std::net::IpAddr;

/// The API server's default of `spec.sessionAffinityConfig.clientIP.timeoutSeconds`.
const AFFINITY_SECONDS: u32 = 10800;

/// An invalid field or annotation of a Service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {field}: {reason}")]
pub struct Invalid {
    /// The field or annotation.
    pub field: String,
    /// What is wrong with it, and what to write instead.
    pub reason: String,
}

impl Invalid {
    /// This field is invalid for that reason.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            reason: reason.into(),
        }
    }
}

impl From<Invalid> for cloud::Error {
    fn from(Invalid { field, reason }: Invalid) -> Self {
        Self::Invalid { field, reason }
    }
}

/// The load balancer that the Service asks for, with these hosts.
///
/// # Errors
/// If a field or annotation of the Service is invalid; invalid source ranges only with [`BadRanges::Refuse`].
pub fn of(service: &Service, hosts: &HostSet, cluster: &str, bad_ranges: BadRanges) -> Result<Spec, Invalid> {
    let empty = ServiceSpec::default();
    let wire = service.spec.as_ref().unwrap_or(&empty);
    let ports = wire.ports.iter().flatten().enumerate();
    let ranges = source_ranges::of(service);
    let ranges = match bad_ranges {
        BadRanges::Refuse => ranges.checked()?,
        BadRanges::Report => ranges,
    };
    Ok(Spec {
        ports: ports.map(|(index, wire)| port(index, wire)).collect::<Result<_, _>>()?,
        source_ranges: ranges.nets,
        ranges_from: ranges.from,
        bad_ranges: ranges.bad,
        traffic: traffic(service, wire)?,
        families: wire
            .ip_families
            .iter()
            .flatten()
            .map(|text| family(text))
            .collect::<Result<_, _>>()?,
        external_ips: wire
            .external_ips
            .iter()
            .flatten()
            .map(|text| external_ip(text))
            .collect::<Result<_, _>>()?,
        hosts: hosts.hosts().clone(),
        ..identity(service, wire, cluster)
    })
}

/// The load balancer of a Service that is to be deleted. Invalid parts are left out, so that the load balancer of an invalid
/// Service can be deleted.
#[must_use]
pub fn for_deletion(service: &Service, cluster: &str) -> Spec {
    let empty = ServiceSpec::default();
    let wire = service.spec.as_ref().unwrap_or(&empty);
    let families = wire.ip_families.as_deref().unwrap_or_default();
    let ports = wire.ports.iter().flatten().enumerate();
    let ranges = source_ranges::of(service).checked();
    let ranges = ranges.unwrap_or_else(|_| source_ranges::everywhere(families));
    Spec {
        ports: ports.filter_map(|(index, wire)| port(index, wire).ok()).collect(),
        source_ranges: ranges.nets,
        ranges_from: ranges.from,
        traffic: traffic(service, wire).unwrap_or_default(),
        families: families.iter().filter_map(|text| family(text).ok()).collect(),
        external_ips: wire
            .external_ips
            .iter()
            .flatten()
            .filter_map(|text| external_ip(text).ok())
            .collect(),
        ..identity(service, wire, cluster)
    }
}

/// The load balancer of a Service that does not exist any more, and of which only the reference is known.
#[must_use]
pub fn of_gone(service: &ServiceRef, cluster: &str) -> Spec {
    for_deletion(&gone(service), cluster)
}

/// What is left of a Service that does not exist any more.
pub(super) fn gone(service: &ServiceRef) -> Service {
    let ServiceRef { namespace, name, uid } = service.clone();
    let metadata = ObjectMeta {
        namespace: Some(namespace),
        name: Some(name),
        uid: Some(uid),
        ..ObjectMeta::default()
    };
    Service {
        metadata,
        ..Service::default()
    }
}

/// The reference to the Service.
#[must_use]
pub fn service_ref(service: &Service) -> ServiceRef {
    ServiceRef {
        namespace: service.namespace().unwrap_or_default(),
        name: service.name_any(),
        uid: service.uid().unwrap_or_default(),
    }
}

/// The parts that cannot be invalid.
fn identity(service: &Service, wire: &ServiceSpec, cluster: &str) -> Spec {
    Spec {
        cluster: cluster.to_owned(),
        service: service_ref(service),
        annotations: service.annotations().clone(),
        class: wire.load_balancer_class.clone(),
        ip: wire.load_balancer_ip.clone().filter(|ip| !ip.is_empty()),
        affinity: affinity(wire),
        status: status::of(service),
        ..Spec::default()
    }
}

fn port(index: usize, wire: &ServicePort) -> Result<Port, Invalid> {
    let ServicePort {
        app_protocol,
        name,
        node_port,
        port,
        protocol,
        target_port: _,
    } = wire;
    let field = |name: &str| format!("spec.ports[{index}].{name}");
    Ok(Port {
        name: name.clone().unwrap_or_default(),
        protocol: protocol_of(protocol.as_deref()).map_err(|reason| Invalid::new(field("protocol"), reason))?,
        port: number(*port).map_err(|reason| Invalid::new(field("port"), reason))?,
        node_port: optional(*node_port).map_err(|reason| Invalid::new(field("nodePort"), reason))?,
        app_protocol: app_protocol.clone(),
    })
}

fn protocol_of(text: Option<&str>) -> Result<Protocol, String> {
    match text {
        None | Some("" | "TCP") => Ok(Protocol::Tcp),
        Some("UDP") => Ok(Protocol::Udp),
        Some("SCTP") => Ok(Protocol::Sctp),
        Some(other) => Err(format!("{other:?} is not one of TCP, UDP and SCTP")),
    }
}

fn number(port: i32) -> Result<u16, String> {
    u16::try_from(port)
        .ok()
        .filter(|port| *port != 0)
        .ok_or_else(|| format!("{port} is not between 1 and 65535"))
}

fn optional(port: Option<i32>) -> Result<Option<u16>, String> {
    port.filter(|port| *port != 0).map(number).transpose()
}

fn affinity(wire: &ServiceSpec) -> Affinity {
    if wire.session_affinity.as_deref() != Some("ClientIP") {
        return Affinity::None;
    }
    let config = wire
        .session_affinity_config
        .as_ref()
        .and_then(|config| config.client_ip.as_ref());
    let seconds = config
        .and_then(|config| config.timeout_seconds)
        .and_then(|seconds| u32::try_from(seconds).ok());
    Affinity::ClientIp {
        timeout_seconds: seconds.unwrap_or(AFFINITY_SECONDS),
    }
}

fn traffic(service: &Service, wire: &ServiceSpec) -> Result<TrafficPolicy, Invalid> {
    if !predicates::requests_only_local_traffic(service) {
        return Ok(TrafficPolicy::Cluster);
    }
    let port = wire
        .health_check_node_port
        .filter(|_| predicates::needs_health_check(service));
    let port = optional(port).map_err(|reason| Invalid::new("spec.healthCheckNodePort", reason))?;
    Ok(TrafficPolicy::Local {
        health_check_port: port,
    })
}

fn family(text: &str) -> Result<IpFamily, Invalid> {
    match text {
        "IPv4" => Ok(IpFamily::V4),
        "IPv6" => Ok(IpFamily::V6),
        other => Err(Invalid::new(
            "spec.ipFamilies",
            format!("{other:?} is not one of IPv4 and IPv6"),
        )),
    }
}

fn external_ip(text: &str) -> Result<IpAddr, Invalid> {
    ip::parse(text).ok_or_else(|| Invalid::new("spec.externalIPs", format!("{text:?} is not an IP address")))
}

#[cfg(test)]
mod tests;
