//! Which nodes a load balancer can use, and with which IP families.

use super::{NETWORK, shown};
use crate::{annotations as key, api::types::LoadBalancer};
use cloud::{AddressKind, Error, Host, Result, Spec};
use std::{net::IpAddr, sync::Arc};

/// How many nodes a message names.
const NAMED: usize = 3;

/// The nodes that the load balancer can use; without any it keeps those that it has.
pub fn usable(spec: &Spec, kind: &str, network: &str) -> Result<Vec<Arc<Host>>> {
    let usable = spec.hosts.iter().filter(|host| is_reached(host, kind, network));
    let usable: Vec<_> = usable.cloned().collect();
    if !usable.is_empty() {
        return Ok(usable);
    }
    let may_wait = |host: &&Arc<Host>| kind == NETWORK && has_v4(host, AddressKind::InternalIP);
    let waiting = spec.hosts.iter().filter(may_wait);
    let waiting: Vec<&str> = waiting.map(|host| host.name.as_str()).collect();
    if waiting.is_empty() {
        return Err(Error::invalid("nodes", "no ready nodes available"));
    }
    let needs = format!("an EXTERNAL {NETWORK} load balancer needs nodes with an ExternalIP");
    Err(Error::invalid("nodes", format!("{needs}, and {}", lack(&waiting))))
}

/// Whether this kind of load balancer reaches a node.
fn is_reached(host: &Host, kind: &str, network: &str) -> bool {
    match (network, kind) {
        ("INTERNAL", _) => true,
        (_, NETWORK) => has_v4(host, AddressKind::ExternalIP),
        _ => has_v4(host, AddressKind::ExternalIP) || has_v4(host, AddressKind::InternalIP),
    }
}

/// The IP families of the load balancer. An existing one keeps its own; `None` if it does not show any.
pub(super) fn network_stack<'a>(
    spec: &Spec,
    kind: &str,
    network: &str,
    existing: Option<&'a LoadBalancer>,
) -> Result<Option<&'a str>> {
    let asked = key::NETWORK_STACK.word(spec)?;
    let has_v6 = |host: &Host| ips(host, AddressKind::ExternalIP).any(|ip| ip.is_ipv6());
    let reached = spec.hosts.iter().filter(|host| is_reached(host, kind, network));
    let v4_only = reached.filter(|host| !has_v6(host));
    let v4_only: Vec<&str> = v4_only.map(|host| host.name.as_str()).collect();
    match (asked, network, kind) {
        (Some("DUALSTACK"), "INTERNAL", _) => {
            Err(key::NETWORK_STACK.invalid("an INTERNAL load balancer cannot be DUALSTACK"))
        }
        (Some("DUALSTACK"), _, NETWORK) if !v4_only.is_empty() => Err(key::NETWORK_STACK.invalid(format!(
            "a {NETWORK} load balancer can be DUALSTACK only if every node has an IPv6 ExternalIP, and {}",
            lack(&v4_only)
        ))),
        _ if existing.is_some() => Ok(shown(existing, "network_stack")),
        (Some(asked), ..) => Ok(Some(asked)),
        (None, "INTERNAL", _) => Ok(Some("IPV4")),
        (None, _, NETWORK) if !v4_only.is_empty() => Ok(Some("IPV4")),
        _ => Ok(Some("DUALSTACK")),
    }
}

fn has_v4(host: &Host, kind: AddressKind) -> bool {
    ips(host, kind).any(|ip| ip.is_ipv4())
}

fn ips(host: &Host, kind: AddressKind) -> impl Iterator<Item = IpAddr> {
    let addresses = host.addresses.iter().filter(move |address| address.kind == kind);
    addresses.filter_map(|address| address.address.parse().ok())
}

/// `a, b, c and 2 more have none`
fn lack(names: &[&str]) -> String {
    match names.len() {
        1 => format!("{} has none", names[0]),
        count if count > NAMED => format!("{} and {} more have none", names[..NAMED].join(", "), count - NAMED),
        _ => format!("{} have none", names.join(", ")),
    }
}
