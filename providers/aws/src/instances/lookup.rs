//! Finds instances by their IDs and names, in few calls.

use crate::api::{Api, ec2::instances::Instance, errors};
use cloud::{AddressKind, Error, NodeRef, Result};
use provider_kit::concurrently;
use std::{
    collections::{BTreeSet, HashMap},
    net::Ipv4Addr,
};

/// How many IDs one call takes.
const IDS: usize = 500;

/// How many values a filter takes: EC2 has 200 for all filters of a call.
const NAMES: usize = 150;

/// What EC2 says of instances. `None` is its own answer that one does not exist.
pub type Found = HashMap<String, Result<Option<Instance>>>;

/// Finds instances by their IDs.
pub async fn by_ids(api: &Api, ids: BTreeSet<&str>) -> Found {
    // One ID that is malformed fails a whole call, and EC2 names only the first.
    let (regular, odd): (Vec<&str>, Vec<&str>) = ids.into_iter().partition(|id| is_regular(id));
    let chunks = regular.chunks(IDS).chain(odd.chunks(1)).map(<[&str]>::to_vec);
    let found = concurrently(chunks.map(|ids| chunk(api, ids))).await;
    found.into_iter().flatten().collect()
}

/// Finds the instances of nodes by the names of the nodes, or else by their addresses.
pub async fn by_names(api: &Api, nodes: Vec<&NodeRef>) -> Found {
    let chunks = nodes.chunks(NAMES).map(<[&NodeRef]>::to_vec);
    let found = concurrently(chunks.map(|nodes| named(api, nodes))).await;
    found.into_iter().flatten().collect()
}

/// EC2's answer about these IDs. It refuses all of them if one does not exist, and names those that do not: they are asked for no more.
async fn chunk(api: &Api, ids: Vec<&str>) -> Vec<(String, Result<Option<Instance>>)> {
    let mut left = ids;
    let mut answers = Vec::new();
    while !left.is_empty() {
        let error = match api.instances_by_id(&left).await {
            Ok(found) => {
                answers.extend(shown(api, &left, found).await);
                break;
            }
            Err(error) => error,
        };
        let gone = missing(&error, &left);
        if gone.is_empty() && errors::code(&error) == Some("InvalidInstanceID.NotFound") && left.len() > 1 {
            answers.extend(concurrently(left.into_iter().map(|id| alone(api, id))).await);
            break;
        }
        if gone.is_empty() {
            let error = error.of_batch();
            answers.extend(left.iter().map(|id| ((*id).to_owned(), Err(error.clone()))));
            break;
        }
        left.retain(|id| !gone.contains(id));
        answers.extend(gone.into_iter().map(|id| (id.to_owned(), Ok(None))));
    }
    answers
}

/// What an answer shows of these IDs. What it lacks is asked for by itself: it says nothing of why.
async fn shown(api: &Api, ids: &[&str], found: Vec<Instance>) -> Vec<(String, Result<Option<Instance>>)> {
    let found = found
        .into_iter()
        .map(|instance| (instance.instance_id.clone(), instance));
    let mut found: HashMap<String, Instance> = found.collect();
    let mut answers = Vec::new();
    let mut lacking = Vec::new();
    for id in ids {
        match found.remove(*id) {
            Some(instance) => answers.push(((*id).to_owned(), Ok(Some(instance)))),
            None if ids.len() == 1 => answers.push(((*id).to_owned(), Ok(None))),
            None => lacking.push(*id),
        }
    }
    answers.extend(concurrently(lacking.into_iter().map(|id| alone(api, id))).await);
    answers
}

async fn alone(api: &Api, id: &str) -> (String, Result<Option<Instance>>) {
    let answer = match api.instances_by_id(&[id]).await {
        Ok(found) => Ok(found.into_iter().find(|instance| instance.instance_id == id)),
        Err(error) if is_missing(&error, id) => Ok(None),
        Err(error) => Err(error.of_batch()),
    };
    (id.to_owned(), answer)
}

/// The IDs that an error says do not exist.
fn missing<'a>(error: &Error, ids: &[&'a str]) -> Vec<&'a str> {
    if let [id] = ids {
        return if is_missing(error, id) { vec![*id] } else { Vec::new() };
    }
    if errors::code(error) != Some("InvalidInstanceID.NotFound") {
        return Vec::new();
    }
    let message = errors::message(error).unwrap_or_default();
    let words = message.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let named: BTreeSet<&str> = words.collect();
    ids.iter().copied().filter(|id| named.contains(id)).collect()
}

/// Whether an error about one ID says that it does not exist. A malformed one cannot; EC2 calls a regular one so only by mistake.
fn is_missing(error: &Error, id: &str) -> bool {
    match errors::code(error) {
        Some("InvalidInstanceID.NotFound") => true,
        Some("InvalidInstanceID.Malformed") => !is_regular(id),
        _ => false,
    }
}

/// `i-` and 8 or 17 hexadecimal digits.
fn is_regular(id: &str) -> bool {
    let digits = id.strip_prefix("i-").unwrap_or_default();
    let is_hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    matches!(digits.len(), 8 | 17) && digits.chars().all(is_hex)
}

async fn named(api: &Api, nodes: Vec<&NodeRef>) -> Vec<(String, Result<Option<Instance>>)> {
    let answer = |node: &NodeRef, answer| (node.name.clone(), answer);
    match Named::read(api, &nodes).await {
        Ok(found) => nodes.into_iter().map(|node| answer(node, found.of(node))).collect(),
        Err(error) => {
            let error = error.of_batch();
            nodes.into_iter().map(|node| answer(node, Err(error.clone()))).collect()
        }
    }
}

/// The instances of this cluster that have the names or the addresses of nodes.
struct Named {
    by_name: Vec<Instance>,
    by_address: Vec<Instance>,
}

impl Named {
    async fn read(api: &Api, nodes: &[&NodeRef]) -> Result<Self> {
        let cluster = api.cluster().await?;
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        let mut by_name = api.instances_by_dns_name(&names).await?;
        by_name.retain(|instance| cluster.has_tag(&instance.tag_set));
        let mut found = Self {
            by_name,
            by_address: Vec::new(),
        };
        // A name that is no DNS name does not prevent that the kubelet reports an address.
        let unnamed = nodes.iter().filter(|node| found.named(&node.name).next().is_none());
        let addresses: Vec<&str> = unnamed.flat_map(|node| internal(node)).collect();
        for addresses in addresses.chunks(NAMES) {
            let instances = api.instances_by_address(addresses).await?;
            let ours = |instance: &Instance| instance.vpc_id == cluster.vpc_id && cluster.has_tag(&instance.tag_set);
            found.by_address.extend(instances.into_iter().filter(ours));
        }
        Ok(found)
    }

    fn of(&self, node: &NodeRef) -> Result<Option<Instance>> {
        let mut found: Vec<&Instance> = self.named(&node.name).collect();
        if found.is_empty() {
            let addresses: Vec<&str> = internal(node).collect();
            let has = |instance: &&Instance| private(instance).any(|address| addresses.contains(&address));
            found = self.by_address.iter().filter(has).collect();
            found.dedup_by_key(|instance| instance.instance_id.clone());
        }
        match &found[..] {
            [] => Ok(None),
            [one] => Ok(Some((*one).clone())),
            several => {
                let ids: Vec<&str> = several.iter().map(|instance| instance.instance_id.as_str()).collect();
                let reason = format!("several instances are it: {}", ids.join(", "));
                Err(Error::unusable(format!("node {}", node.name), reason))
            }
        }
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Instance> {
        self.by_name
            .iter()
            .filter(move |instance| instance.private_dns_name.eq_ignore_ascii_case(name))
    }
}

/// The addresses that the filter of EC2 is about: those of IPv4.
fn internal(node: &NodeRef) -> impl Iterator<Item = &str> {
    let internal = node
        .addresses
        .iter()
        .filter(|address| address.kind == AddressKind::InternalIP);
    let addresses = internal.map(|address| address.address.as_str());
    addresses.filter(|address| address.parse::<Ipv4Addr>().is_ok())
}

fn private(instance: &Instance) -> impl Iterator<Item = &str> {
    let addresses = instance
        .network_interface_set
        .iter()
        .flat_map(|interface| &interface.private_ip_addresses_set);
    addresses.map(|address| address.private_ip_address.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("i-0123abcd", true)]
    #[case("i-0123456789abcdef0", true)]
    #[case("i-0123456789abcdef", false)]
    #[case("i-0123ABCD", false)]
    #[case("i-", false)]
    #[case("0123abcd", false)]
    fn regular(#[case] id: &str, #[case] expected: bool) {
        assert_eq!(is_regular(id), expected);
    }
}
