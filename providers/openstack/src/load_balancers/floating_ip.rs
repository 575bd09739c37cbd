//! The floating IP of a load balancer.
//!
//! [`plan`] is pure, [`act`] takes its steps, [`ensure`] does both. A floating IP that is attached stays, whatever becomes
//! of `floating-network-id` and `floating-subnet`: a public address that people know is worth more than a setting. It is
//! replaced if `spec.loadBalancerIP` is changed to another one, and who wants one from another network detaches or deletes
//! it. A `spec.loadBalancerIP` that the Go program ignored does not move the address when we take over: see
//! [`disregarded`].
//!
//! The Go program ignores a changed `spec.loadBalancerIP`, takes a floating IP from whoever got it between its look and its
//! write, gives a Service whose floating IP came off a new address, and says nothing about a balancer that it built in vain.

mod act;
mod refusal;
mod remove;
mod reserved;
#[cfg(test)]
mod scenarios;
mod source;
#[cfg(test)]
mod tests;

use super::settings::{Exposure, Kept};
use crate::api::neutron::floating_ips::FloatingIp;
use cloud::{Error, Result, ServiceRef};
use provider_kit::load_balancer::{Ownership, Record};
use std::{fmt, net::IpAddr};

pub(crate) use act::{Target, ensure, observe, reserve};
pub(crate) use remove::{abandon, forget, give_back, release};
pub(crate) use reserved::Reserved;

/// In every description that we write, and in no other: it says that a floating IP is ours to delete.
const MARK: &str = "Floating IP for Kubernetes external service";

/// Neutron takes no longer description.
const LONGEST: usize = 255;

/// What a Service wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Want<'a> {
    /// `--cluster-name`.
    pub cluster: &'a str,
    /// Which Service.
    pub service: &'a ServiceRef,
    /// Whether it is to be reached from outside.
    pub exposure: Exposure,
    /// Whether the balancer is its own.
    pub ownership: Ownership,
    /// `spec.loadBalancerIP`.
    pub ip: Option<&'a str>,
    /// The addresses that it had: of its status and of its annotation.
    pub known: &'a [&'a str],
    /// What becomes of a floating IP that is not needed any more.
    pub kept: Kept,
}

/// What is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// What leads to the balancer's port.
    pub attached: Vec<FloatingIp>,
    /// Those with the address that is asked for, or that the Service had; looked for only if [`asks`] says so.
    pub others: Vec<FloatingIp>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// This one is made to lead to the balancer.
    Attach(FloatingIp),
    /// This one is made to lead nowhere.
    Detach(FloatingIp),
    /// This one is deleted.
    Delete(FloatingIp),
    /// One is made that leads to the balancer, with this address if there is one.
    Create(Option<String>),
    /// One with this address is made that leads nowhere yet, to see whether it can be had.
    Reserve(String),
    /// The reserved one is made to lead to the balancer.
    AttachReserved,
}

impl fmt::Display for Step {
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

/// The address that a Service asks for and does not get: it had another one, which people know, before we first saw it. It
/// gets the one that it asks for once that is changed, or nothing is attached any more.
pub(crate) fn disregarded<'a>(want: &Want<'a>, record: Option<&Record>, attached: &[FloatingIp]) -> Option<&'a str> {
    let ip = want.ip?;
    let floats = want.exposure == Exposure::External && want.ownership == Ownership::Owner;
    let another = !attached.is_empty() && !attached.iter().any(|fip| has(fip, ip));
    let old = match record {
        None => true,
        Some(record) => record.ignored_ip.as_deref() == Some(ip),
    };
    (floats && another && old).then_some(ip)
}

/// The addresses to look for before planning, with what is attached; none if what is attached is enough to know.
pub(crate) fn asks<'a>(want: &Want<'a>, attached: &[FloatingIp]) -> Vec<&'a str> {
    if want.exposure == Exposure::Internal || want.ownership == Ownership::Guest {
        return Vec::new();
    }
    match want.ip {
        Some(ip) if !attached.iter().any(|fip| has(fip, ip)) => vec![ip],
        None if attached.is_empty() => want.known.to_vec(),
        _ => Vec::new(),
    }
}

/// The steps to what is wanted.
///
/// # Errors
/// [`Error::Unusable`] if the address that is asked for is somebody else's, or if the balancer is not the Service's own
/// and has no floating IP yet: to give it one could expose what others keep inside.
pub(crate) fn plan(want: &Want<'_>, seen: &Seen) -> Result<Vec<Step>> {
    match (want.exposure, want.ownership) {
        (Exposure::Internal, Ownership::Owner) => Ok(seen.attached.iter().map(|fip| leave(fip, want.kept)).collect()),
        (Exposure::Internal, Ownership::Guest) => Ok(Vec::new()),
        (Exposure::External, Ownership::Guest) => match seen.attached.as_slice() {
            [] => Err(Error::unusable(
                "the address of the load balancer",
                "it has no floating IP, and only the Service that owns it, or whoever made it, can give it one",
            )),
            _ => Ok(Vec::new()),
        },
        (Exposure::External, Ownership::Owner) => expose(want, seen),
    }
}

fn expose(want: &Want<'_>, seen: &Seen) -> Result<Vec<Step>> {
    let Some(ip) = want.ip else {
        return Ok(
            match (
                seen.attached.as_slice(),
                seen.others.iter().find(|fip| is_ours(fip, want.service)),
            ) {
                ([_, ..], _) => Vec::new(),
                ([], Some(lost)) => vec![Step::Attach(lost.clone())],
                ([], None) => vec![Step::Create(None)],
            },
        );
    };
    if seen.attached.iter().any(|fip| has(fip, ip)) {
        return Ok(Vec::new());
    }
    let leave = seen.attached.iter().map(|fip| leave(fip, want.kept));
    Ok(match (free(ip, &seen.others)?, seen.attached.is_empty()) {
        (Some(fip), _) => leave.chain([Step::Attach(fip.clone())]).collect(),
        (None, true) => vec![Step::Create(Some(ip.to_owned()))],
        // What is attached is given up only once the other one is ours.
        (None, false) => {
            let reserve = [Step::Reserve(ip.to_owned())].into_iter();
            reserve.chain(leave).chain([Step::AttachReserved]).collect()
        }
    })
}

/// The floating IP with this address, if there is one that leads nowhere.
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

/// How one that is attached is given up: only what we made is deleted.
fn leave(fip: &FloatingIp, kept: Kept) -> Step {
    match kept {
        Kept::WithBalancer if is_marked(fip) => Step::Delete(fip.clone()),
        Kept::WithBalancer | Kept::Detached | Kept::Unsaid => Step::Detach(fip.clone()),
    }
}

fn is_marked(fip: &FloatingIp) -> bool {
    fip.description.as_deref().is_some_and(|text| text.contains(MARK))
}

/// Whether it was made for this Service, in whatever cluster, and leads nowhere. The cluster may have got another name.
fn is_ours(fip: &FloatingIp, service: &ServiceRef) -> bool {
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

fn description(want: &Want<'_>) -> String {
    let ServiceRef { namespace, name, .. } = want.service;
    let mut text = format!("{MARK} {namespace}/{name} from cluster {}", want.cluster);
    text.truncate(text.floor_char_boundary(LONGEST));
    text
}
