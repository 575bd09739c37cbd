//! The floating IP of a load balancer.
//!
//! [`plan`] is pure, `apply` applies its steps, [`ensure`] does both. An attached floating IP is kept if `floating-network-id` or
//! `floating-subnet` change: a public address that clients know is worth more than a setting. It is replaced if `spec.loadBalancerIP` changes;
//! to get one from another network, detach or delete it. A `spec.loadBalancerIP` that occm ignored does not change the address when Outrigger
//! replaces occm: see [`ignored_ip`].
//!
//! occm ignores a changed `spec.loadBalancerIP`, takes over a floating IP that another client attached in between, gives a Service whose
//! floating IP was detached a new address, and does not report that a load balancer cannot get an address.

mod apply;
mod refusal;
mod release;
mod reserved;
mod source;
#[cfg(test)]
mod tests;

use super::settings::{Exposure, Retention};
use crate::api::neutron::floating_ips::FloatingIp;
use cloud::{Error, Result, ServiceRef};
use provider_kit::load_balancer::{Ownership, Record};
use std::{fmt, net::IpAddr};

pub(crate) use apply::{Target, ensure, observe, reserve};
pub(crate) use release::{abandon, forget, give_back, release};
pub(crate) use reserved::Reservations;

/// Part of every description that this program writes, and of no other: such a floating IP may be deleted.
const MARK: &str = "Floating IP for Kubernetes external service";

/// The longest description that Neutron accepts.
const LONGEST: usize = 255;

/// The floating IP that a Service asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DesiredFloatingIp<'a> {
    /// `--cluster-name`.
    pub cluster: &'a str,
    /// Which Service.
    pub service: &'a ServiceRef,
    /// Whether clients outside of the network reach it.
    pub exposure: Exposure,
    /// Whether it owns the load balancer.
    pub ownership: Ownership,
    /// `spec.loadBalancerIP`.
    pub ip: Option<&'a str>,
    /// Its previous addresses: those of its status and of its annotation.
    pub known: &'a [&'a str],
    /// What happens to a floating IP that is not needed any more.
    pub retention: Retention,
}

/// The floating IPs that exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ObservedFloatingIps {
    /// Those of the load balancer's port.
    pub attached: Vec<FloatingIp>,
    /// Those with the address that the Service asks for, or that it had: see [`addresses_to_find`].
    pub others: Vec<FloatingIp>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FloatingIpStep {
    /// Attach this one to the load balancer.
    Attach(FloatingIp),
    /// Detach this one.
    Detach(FloatingIp),
    /// Delete this one.
    Delete(FloatingIp),
    /// Create one that is attached to the load balancer, with this address if there is one.
    Create(Option<String>),
    /// Create one with this address that is not attached yet, to find out whether the address is available.
    Reserve(String),
    /// Attach the reserved one to the load balancer.
    AttachReserved,
}

impl fmt::Display for FloatingIpStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attach(fip) => write!(f, "attach {}", fip.floating_ip_address),
            Self::Detach(fip) => write!(f, "detach {}", fip.floating_ip_address),
            Self::Delete(fip) => write!(f, "delete {}", fip.floating_ip_address),
            Self::Create(None) => write!(f, "create"),
            Self::Create(Some(address)) => write!(f, "create {address}"),
            Self::Reserve(address) => write!(f, "reserve {address}"),
            Self::AttachReserved => write!(f, "attach the reserved one"),
        }
    }
}

/// The address that a Service asks for and does not get: it already had another one, which clients know, when this program first reconciled it.
/// It gets the address once `spec.loadBalancerIP` changes, or once no floating IP is attached.
pub(crate) fn ignored_ip<'a>(
    desired: &DesiredFloatingIp<'a>,
    record: Option<&Record>,
    attached: &[FloatingIp],
) -> Option<&'a str> {
    let ip = desired.ip?;
    let floats = desired.exposure == Exposure::External && desired.ownership == Ownership::Owner;
    let another = !attached.is_empty() && !attached.iter().any(|fip| has(fip, ip));
    let old = match record {
        None => true,
        Some(record) => record.ignored_ip.as_deref() == Some(ip),
    };
    (floats && another && old).then_some(ip)
}

/// The addresses whose floating IPs have to be read before planning; none if the attached ones are enough.
pub(crate) fn addresses_to_find<'a>(desired: &DesiredFloatingIp<'a>, attached: &[FloatingIp]) -> Vec<&'a str> {
    if desired.exposure == Exposure::Internal || desired.ownership == Ownership::Guest {
        return Vec::new();
    }
    match desired.ip {
        Some(ip) if !attached.iter().any(|fip| has(fip, ip)) => vec![ip],
        None if attached.is_empty() => desired.known.to_vec(),
        _ => Vec::new(),
    }
}

/// The steps from what exists to what is desired.
///
/// # Errors
/// [`Error::Unusable`] if the address is in use elsewhere, or if the Service does not own the load balancer and that has no floating IP yet: a
/// floating IP could expose what other owners keep internal.
pub(crate) fn plan(desired: &DesiredFloatingIp<'_>, observed: &ObservedFloatingIps) -> Result<Vec<FloatingIpStep>> {
    match (desired.exposure, desired.ownership) {
        (Exposure::Internal, Ownership::Owner) => Ok(observed
            .attached
            .iter()
            .map(|fip| give_up(fip, desired.retention))
            .collect()),
        (Exposure::Internal, Ownership::Guest) => Ok(Vec::new()),
        (Exposure::External, Ownership::Guest) => match observed.attached.as_slice() {
            [] => Err(Error::unusable(
                "the address of the load balancer",
                "it has no floating IP, and only the Service or the user that owns it can add one",
            )),
            _ => Ok(Vec::new()),
        },
        (Exposure::External, Ownership::Owner) => expose(desired, observed),
    }
}

fn expose(desired: &DesiredFloatingIp<'_>, observed: &ObservedFloatingIps) -> Result<Vec<FloatingIpStep>> {
    let Some(ip) = desired.ip else {
        return Ok(
            match (
                observed.attached.as_slice(),
                observed.others.iter().find(|fip| is_for(fip, desired.service)),
            ) {
                ([_, ..], _) => Vec::new(),
                ([], Some(lost)) => vec![FloatingIpStep::Attach(lost.clone())],
                ([], None) => vec![FloatingIpStep::Create(None)],
            },
        );
    };
    if observed.attached.iter().any(|fip| has(fip, ip)) {
        return Ok(Vec::new());
    }
    let give_up = observed.attached.iter().map(|fip| give_up(fip, desired.retention));
    Ok(match (free(ip, &observed.others)?, observed.attached.is_empty()) {
        (Some(fip), _) => give_up.chain([FloatingIpStep::Attach(fip.clone())]).collect(),
        (None, true) => vec![FloatingIpStep::Create(Some(ip.to_owned()))],
        // The attached one is given up only once the other one is reserved.
        (None, false) => {
            let reserve = [FloatingIpStep::Reserve(ip.to_owned())].into_iter();
            reserve.chain(give_up).chain([FloatingIpStep::AttachReserved]).collect()
        }
    })
}

/// A floating IP with this address that is not attached.
fn free<'a>(ip: &str, others: &'a [FloatingIp]) -> Result<Option<&'a FloatingIp>> {
    let mut found = others.iter().filter(|fip| has(fip, ip)).peekable();
    let Some(any) = found.peek().copied() else {
        return Ok(None);
    };
    found.find(|fip| fip.port_id.is_none()).map(Some).ok_or_else(|| {
        let port = any.port_id.as_deref().unwrap_or_default();
        Error::unusable(format!("floating IP {ip}"), format!("it is in use by port {port}"))
    })
}

/// How an attached floating IP is given up: only those that this program created are deleted.
fn give_up(fip: &FloatingIp, retention: Retention) -> FloatingIpStep {
    match retention {
        Retention::Delete if is_marked(fip) => FloatingIpStep::Delete(fip.clone()),
        Retention::Delete | Retention::Detach | Retention::Unknown => FloatingIpStep::Detach(fip.clone()),
    }
}

fn is_marked(fip: &FloatingIp) -> bool {
    fip.description.as_deref().is_some_and(|text| text.contains(MARK))
}

/// Whether it was created for this Service, in a cluster of any name, and is not attached. The cluster may have been renamed.
fn is_for(fip: &FloatingIp, service: &ServiceRef) -> bool {
    let mark = format!("{MARK} {}/{} from cluster ", service.namespace, service.name);
    fip.port_id.is_none() && fip.description.as_deref().is_some_and(|text| text.starts_with(&mark))
}

fn has(fip: &FloatingIp, ip: &str) -> bool {
    let address = &fip.floating_ip_address;
    match (address.parse::<IpAddr>(), ip.parse::<IpAddr>()) {
        (Ok(address), Ok(ip)) => address == ip,
        _ => address == ip,
    }
}

fn description(desired: &DesiredFloatingIp<'_>) -> String {
    let ServiceRef { namespace, name, .. } = desired.service;
    let mut text = format!("{MARK} {namespace}/{name} from cluster {}", desired.cluster);
    text.truncate(text.floor_char_boundary(LONGEST));
    text
}
