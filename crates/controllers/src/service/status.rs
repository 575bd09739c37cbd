//! `status.loadBalancer` of a Service.

pub mod conditions;

use cloud::{Ingress, IngressPort, IpMode, Protocol, Status};
use k8s_openapi::api::core::v1::{LoadBalancerIngress, LoadBalancerStatus, PortStatus, Service};

/// The status of the Service.
#[must_use]
pub fn of(service: &Service) -> Status {
    let status = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    Status {
        ingress: status
            .and_then(|status| status.ingress.as_ref())
            .into_iter()
            .flatten()
            .map(ingress)
            .collect(),
    }
}

/// Whether the API server stores the same for both: it defaults the mode of an address to `VIP`.
#[must_use]
pub fn same(a: &Status, b: &Status) -> bool {
    a.ingress.len() == b.ingress.len()
        && a.ingress
            .iter()
            .zip(&b.ingress)
            .all(|(a, b)| defaulted(a) == defaulted(b))
}

/// The status in the terms of the API server.
#[must_use]
pub fn wire(status: &Status) -> LoadBalancerStatus {
    let ingress: Vec<_> = status.ingress.iter().map(wire_ingress).collect();
    LoadBalancerStatus {
        ingress: (!ingress.is_empty()).then_some(ingress),
    }
}

fn defaulted(ingress: &Ingress) -> Ingress {
    let mut ingress = ingress.clone();
    ingress.ip = ingress.ip.filter(|ip| !ip.is_empty());
    ingress.hostname = ingress.hostname.filter(|name| !name.is_empty());
    if ingress.ip.is_some() {
        ingress.ip_mode.get_or_insert(IpMode::Vip);
    }
    ingress
}

fn ingress(wire: &LoadBalancerIngress) -> Ingress {
    let LoadBalancerIngress {
        hostname,
        ip,
        ip_mode,
        ports,
    } = wire;
    Ingress {
        ip: ip.clone(),
        hostname: hostname.clone(),
        ip_mode: match ip_mode.as_deref() {
            Some("VIP") => Some(IpMode::Vip),
            Some("Proxy") => Some(IpMode::Proxy),
            _ => None,
        },
        ports: ports.iter().flatten().map(port).collect(),
    }
}

fn port(wire: &PortStatus) -> IngressPort {
    let PortStatus { error, port, protocol } = wire;
    IngressPort {
        port: u16::try_from(*port).unwrap_or(0),
        protocol: match protocol.as_str() {
            "UDP" => Protocol::Udp,
            "SCTP" => Protocol::Sctp,
            _ => Protocol::Tcp,
        },
        error: error.clone(),
    }
}

fn wire_ingress(ingress: &Ingress) -> LoadBalancerIngress {
    let Ingress {
        ip,
        hostname,
        ip_mode,
        ports,
    } = ingress;
    let mode = |mode: IpMode| match mode {
        IpMode::Vip => "VIP",
        IpMode::Proxy => "Proxy",
    };
    let port = |port: &IngressPort| PortStatus {
        error: port.error.clone(),
        port: i32::from(port.port),
        protocol: port.protocol.as_str().to_owned(),
    };
    LoadBalancerIngress {
        hostname: hostname.clone(),
        ip: ip.clone(),
        ip_mode: ip_mode.map(|wire| mode(wire).to_owned()),
        ports: (!ports.is_empty()).then(|| ports.iter().map(port).collect()),
    }
}

#[cfg(test)]
mod tests;
