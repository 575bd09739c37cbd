//! `status.addresses`: the cloud's addresses, the kubelet's `--node-ip`, and the list that follows from both.

use crate::ip;
use k8s_openapi::api::core::v1::{Node, NodeAddress};
use std::{collections::BTreeSet, net::IpAddr};

/// The kubelet's `--node-ip`: one IP, or two of different families.
pub const PROVIDED_NODE_IP: &str = "alpha.kubernetes.io/provided-node-ip";

const HOSTNAME: &str = "Hostname";

/// Why the kubelet's `--node-ip` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeIpError {
    /// The annotation cannot be parsed.
    #[error("the provided node IP {text:?} is not valid: {reason}")]
    Unreadable {
        /// The annotation.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The instance does not have this address.
    #[error("the provided node IP {ip} is not an address of the machine; the cloud reports {}", list_or_none(.reported))]
    NotReported {
        /// The kubelet's address.
        ip: IpAddr,
        /// The addresses that the cloud reports.
        reported: Vec<String>,
    },
}

fn list_or_none(addresses: &[String]) -> String {
    if addresses.is_empty() {
        "none".to_owned()
    } else {
        addresses.join(", ")
    }
}

/// The current addresses of the Node.
#[must_use]
pub fn of(node: &Node) -> &[NodeAddress] {
    node.status
        .as_ref()
        .and_then(|status| status.addresses.as_deref())
        .unwrap_or_default()
}

/// The current addresses of the Node in the cloud's terms, without those of a type that no cloud has.
pub fn to_cloud(node: &Node) -> impl Iterator<Item = cloud::Address> + '_ {
    of(node).iter().filter_map(|wire| {
        Some(cloud::Address::new(
            cloud::AddressKind::parse(&wire.type_)?,
            &wire.address,
        ))
    })
}

/// The cloud's addresses in the terms of a Node, each once.
#[must_use]
pub fn from_cloud(addresses: &[cloud::Address]) -> Vec<NodeAddress> {
    let mut list = Vec::with_capacity(addresses.len());
    add(
        &mut list,
        addresses.iter().map(|from| NodeAddress {
            type_: from.kind.to_string(),
            address: from.address.clone(),
        }),
    );
    list
}

/// Appends those that are not in the list already.
pub fn add(list: &mut Vec<NodeAddress>, more: impl IntoIterator<Item = NodeAddress>) {
    for address in more {
        if !list.contains(&address) {
            list.push(address);
        }
    }
}

/// Whether two lists differ. The order of the addresses of one type matters, because clients use the first one; the order
/// of the types does not.
#[must_use]
pub fn differ(current: &[NodeAddress], desired: &[NodeAddress]) -> bool {
    fn by_type(list: &[NodeAddress]) -> Vec<&NodeAddress> {
        let mut sorted: Vec<_> = list.iter().collect();
        sorted.sort_by_key(|address| &address.type_);
        sorted
    }
    by_type(current) != by_type(desired)
}

/// The desired `status.addresses`; `None` if the cloud reports no addresses, and the current ones are kept.
///
/// The kubelet's host name is kept if the cloud has none. The order is the cloud's, with the kubelet's `--node-ip` first.
///
/// # Errors
/// If the instance does not have the kubelet's `--node-ip`.
pub fn desired(node: &Node, cloud: &[cloud::Address]) -> Result<Option<Vec<NodeAddress>>, NodeIpError> {
    let provided = node
        .metadata
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(PROVIDED_NODE_IP));
    let mut list = from_cloud(cloud);
    // Only the cloud can confirm the node IP; the kubelet's own host name, which is added below, cannot.
    if let Some(text) = provided {
        prefer(text, &list)?;
    }
    if list.is_empty() {
        return Ok(None);
    }
    if !list.iter().any(|address| address.type_ == HOSTNAME) {
        add(
            &mut list,
            of(node).iter().filter(|address| address.type_ == HOSTNAME).cloned(),
        );
    }
    match provided {
        Some(text) => prefer(text, &list).map(Some),
        None => Ok(Some(list)),
    }
}

/// Puts the IPs of `text` first, and drops all other addresses of the same types.
///
/// # Errors
/// If `text` is not one IP or two of different families, or if one of them is not in the list.
pub fn prefer(text: &str, list: &[NodeAddress]) -> Result<Vec<NodeAddress>, NodeIpError> {
    let mut chosen = Vec::with_capacity(list.len());
    for ip in parse_node_ip(text)? {
        let matching: Vec<_> = list
            .iter()
            .filter(|address| parse_ip(&address.address) == Some(ip))
            .cloned()
            .collect();
        if matching.is_empty() {
            let reported = list
                .iter()
                .filter(|address| address.type_ != HOSTNAME)
                .map(|at| at.address.clone())
                .collect();
            return Err(NodeIpError::NotReported { ip, reported });
        }
        chosen.extend(matching);
    }
    let enforced: BTreeSet<_> = chosen.iter().map(|address| address.type_.clone()).collect();
    chosen.extend(
        list.iter()
            .filter(|address| !enforced.contains(&address.type_))
            .cloned(),
    );
    Ok(chosen)
}

fn parse_node_ip(text: &str) -> Result<Vec<IpAddr>, NodeIpError> {
    let unreadable = |reason: String| NodeIpError::Unreadable {
        text: text.to_owned(),
        reason,
    };
    let parse = |item: &str| parse_ip(item).ok_or_else(|| unreadable(format!("could not parse {item:?}")));
    let ips = text.split(',').map(parse).collect::<Result<Vec<_>, _>>()?;
    match *ips {
        [a, b] if a.is_ipv4() == b.is_ipv4() => Err(unreadable("two IPs must be of different families".into())),
        [a, b] if a.is_unspecified() || b.is_unspecified() => {
            Err(unreadable("a pair of IPs cannot include '0.0.0.0' or '::'".into()))
        }
        [_] | [_, _] => Ok(ips),
        _ => Err(unreadable("must be a single IP or a dual-stack pair of IPs".into())),
    }
}

/// An IPv4-mapped IPv6 address is its IPv4 address.
fn parse_ip(text: &str) -> Option<IpAddr> {
    ip::parse(text).map(|ip| ip.to_canonical())
}

#[cfg(test)]
mod tests;
