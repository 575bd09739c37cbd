//! What a Service asks for: which kind of load balancer, and whether AWS has such.

use super::annotations as key;
use cloud::{Affinity, Error, Host, Port, Protocol, Result, Spec};
use std::{collections::BTreeMap, sync::Arc};

/// A kind of load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Network,
    Classic,
}

/// Whether a load balancer has public addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Public,
    Internal,
}

/// Which ports use TLS.
enum TlsPorts<'a> {
    All,
    /// Numbers or names.
    Some(Vec<&'a str>),
}

/// The attributes of target groups that can be set.
const GROUP_ATTRIBUTES: [&str; 2] = [PRESERVE_CLIENT_IP, "proxy_protocol_v2.enabled"];
const PRESERVE_CLIENT_IP: &str = "preserve_client_ip.enabled";

/// The kind of load balancer that a Service asks for; `None` if another controller is responsible.
pub fn kind(spec: &Spec) -> Option<Kind> {
    match key::TYPE.text(spec).unwrap_or_default() {
        "external" | "nlb-ip" => None,
        "nlb" => Some(Kind::Network),
        _ => Some(Kind::Classic),
    }
}

/// Whether the load balancer is to have public addresses.
pub fn scheme(spec: &Spec) -> Scheme {
    match key::INTERNAL.text(spec) {
        None | Some("" | "false") => Scheme::Public,
        Some(_) => Scheme::Internal,
    }
}

/// Whether AWS has what the Service asks for. The first failure wins, as in the Go program.
///
/// # Errors
/// [`Error::Invalid`]
pub fn check(spec: &Spec, kind: Kind) -> Result<()> {
    if kind == Kind::Network && key::EXTRA_SECURITY_GROUPS.is_present(spec) {
        return Err(key::EXTRA_SECURITY_GROUPS.invalid("a network load balancer cannot have it"));
    }
    group_attributes(spec, kind)?;
    if spec.affinity != Affinity::None {
        return Err(Error::invalid("spec.sessionAffinity", "AWS's load balancers have none"));
    }
    let Some(first) = spec.ports.first() else {
        return Err(Error::invalid("spec.ports", "there are no ports"));
    };
    if spec.ports.iter().any(|port| port.protocol != first.protocol) {
        return Err(Error::invalid("spec.ports", "all ports must have the same protocol"));
    }
    let protocol = first.protocol.as_str();
    match (kind, first.protocol) {
        (_, Protocol::Tcp) | (Kind::Network, Protocol::Udp) => {}
        (Kind::Network, _) => {
            let reason = format!("a network load balancer has TCP or UDP ports, not {protocol}");
            return Err(Error::invalid("spec.ports", reason));
        }
        (Kind::Classic, _) => {
            let reason = format!("a classic load balancer has TCP ports, not {protocol}");
            return Err(Error::invalid("spec.ports", reason));
        }
    }
    match spec.ip.as_deref().unwrap_or_default() {
        "" => Ok(()),
        _ => Err(Error::invalid("spec.loadBalancerIP", "it cannot be chosen on AWS")),
    }
}

/// The attributes that target groups are to have. Others are left as they are.
///
/// # Errors
/// [`Error::Invalid`] if there is another attribute or value, or if the load balancer has no target groups.
pub fn group_attributes(spec: &Spec, kind: Kind) -> Result<BTreeMap<String, String>> {
    let row = key::TARGET_GROUP_ATTRIBUTES;
    let Some(text) = row.text(spec) else {
        return Ok(BTreeMap::new());
    };
    if kind != Kind::Network {
        return Err(row.invalid("only a network load balancer has target groups"));
    }
    let attributes = pairs(text);
    for (attribute, value) in &attributes {
        if !GROUP_ATTRIBUTES.contains(&attribute.as_str()) {
            return Err(row.invalid(format!("{attribute:?} is not one of {}", GROUP_ATTRIBUTES.join(", "))));
        }
        if value != "true" && value != "false" {
            return Err(row.invalid(format!("{attribute}: {value:?} is neither \"true\" nor \"false\"")));
        }
    }
    let has_udp = spec.ports.iter().any(|port| port.protocol == Protocol::Udp);
    if has_udp && attributes.get(PRESERVE_CLIENT_IP).is_some_and(|value| value == "false") {
        return Err(row.invalid(format!("{PRESERVE_CLIENT_IP} cannot be false for UDP ports")));
    }
    Ok(attributes)
}

/// The tags that the user wants on the load balancer.
pub fn additional_tags(spec: &Spec) -> BTreeMap<String, String> {
    pairs(key::ADDITIONAL_RESOURCE_TAGS.text(spec).unwrap_or_default())
}

/// The hosts that get traffic. One without labels is never selected by them.
pub fn targets(spec: &Spec) -> Vec<&Arc<Host>> {
    let wanted = labels(key::TARGET_NODE_LABELS.text(spec).unwrap_or_default());
    let has = |host: &Host, (label, value): &(&str, Option<&str>)| match (host.labels.get(*label), value) {
        (Some(found), Some(value)) => found == value,
        (found, _) => found.is_some(),
    };
    let hosts = spec.hosts.iter();
    hosts
        .filter(|host| wanted.iter().all(|label| has(host, label)))
        .collect()
}

/// Whether the certificate of the Service applies to a port.
pub fn certificate<'a>(spec: &'a Spec, port: &Port, kind: Kind) -> Option<&'a str> {
    let certificate = key::SSL_CERT.non_empty(spec)?;
    let ports = match key::SSL_PORTS.text(spec).unwrap_or_default() {
        "" | "*" => TlsPorts::All,
        text => TlsPorts::Some(text.split(',').collect()),
    };
    let name = match kind {
        Kind::Network => port.name.clone(),
        Kind::Classic => port.name.to_lowercase(),
    };
    let applies = match ports {
        TlsPorts::All => true,
        TlsPorts::Some(ports) => ports
            .iter()
            .any(|item| item.parse() == Ok(port.port) || (!item.is_empty() && *item == name)),
    };
    applies.then_some(certificate)
}

/// `k=v,k2=v2`: spaces around a pair do not count, a key alone has the empty value, and of a key that is given twice the last one wins.
fn pairs(text: &str) -> BTreeMap<String, String> {
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key.to_owned(), value.to_owned())
    };
    let items = text.split(',').map(str::trim);
    items
        .filter(|item| !item.is_empty())
        .map(pair)
        .filter(|(key, _)| !key.is_empty())
        .collect()
}

/// A key alone selects any value.
fn labels(text: &str) -> Vec<(&str, Option<&str>)> {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    let label = |item: &'_ str| -> Option<usize> { item.find('=') };
    items
        .map(|item| match label(item) {
            Some(at) if at + 1 < item.len() => (&item[..at], Some(&item[at + 1..])),
            Some(at) => (&item[..at], None),
            None => (item, None),
        })
        .collect()
}

#[cfg(test)]
mod tests;
