//! The labels of a Node that come from the cloud: zone, region, instance type, and those of the provider.

use cloud::Instance;
use k8s_openapi::api::core::v1::Node;
use std::{collections::BTreeMap, fmt};

/// Deprecated and current names. On an initialized Node the deprecated one wins, as in the Go framework.
pub const ALIASES: [(&str, &str); 3] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
];

/// Labels to set or (`None`) to remove.
pub type Changes = BTreeMap<String, Option<String>>;

/// A label of the cloud that is not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// Its name.
    pub key: String,
    /// Why.
    pub reason: Reason,
}

/// Why a label is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A cloud may not set labels under `kubernetes.io` and `k8s.io`.
    Reserved,
    /// The API server would refuse it.
    Invalid,
    /// The Node has it with another value that does not come from the cloud.
    Taken,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            Reason::Reserved => "is reserved",
            Reason::Invalid => "is not a valid label",
            Reason::Taken => "has another value already",
        };
        write!(f, "{} {reason}", self.key)
    }
}

/// The value of a label of the Node.
pub fn get<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get(key))
        .map(String::as_str)
}

/// The changes after which the labels match the cloud.
///
/// Zone, region and instance type always follow the cloud. Another label that the Node has with a different value is
/// kept, unless that value is the one that the cloud reported `before`.
#[must_use]
pub fn changes(node: &Node, instance: &Instance, before: Option<&BTreeMap<String, String>>) -> (Changes, Vec<Ignored>) {
    let mut changes = Changes::new();
    let mut ignored = Vec::new();
    for (key, value) in standard(instance) {
        if !is_valid(key, value) {
            ignored.push(Ignored {
                key: key.to_owned(),
                reason: Reason::Invalid,
            });
        } else if get(node, key) != Some(value) {
            changes.insert(key.to_owned(), Some(value.to_owned()));
        }
    }
    for (key, value) in &instance.labels {
        let ours = get(node, key).is_none_or(|current| {
            before
                .and_then(|before| before.get(key))
                .is_some_and(|it| it == current)
        });
        match rejection(key, value) {
            Some(reason) => ignored.push(Ignored {
                key: key.clone(),
                reason,
            }),
            None if get(node, key) == Some(value) => {}
            None if ours => drop(changes.insert(key.clone(), Some(value.clone()))),
            None => ignored.push(Ignored {
                key: key.clone(),
                reason: Reason::Taken,
            }),
        }
    }
    changes.extend(withdrawn(node, instance, before));
    (changes, ignored)
}

/// The changes of an initialized Node after which the current names have the values of the deprecated ones.
#[must_use]
pub fn aliases(node: &Node) -> Changes {
    let differs = |&(old, new): &(&str, &str)| get(node, old).is_some_and(|value| get(node, new) != Some(value));
    let change = |(old, new): (&str, &str)| (new.to_owned(), get(node, old).map(str::to_owned));
    ALIASES.into_iter().filter(differs).map(change).collect()
}

/// Both names of zone, region and instance type, as far as the cloud reports them.
fn standard(instance: &Instance) -> Vec<(&'static str, &str)> {
    let values = [&instance.zone, &instance.region, &instance.instance_type];
    let reported = ALIASES
        .into_iter()
        .zip(values)
        .filter_map(|(names, value)| Some((names, value.as_deref()?)));
    reported
        .filter(|(_, value)| !value.is_empty())
        .flat_map(|((old, new), value)| [(old, value), (new, value)])
        .collect()
}

/// Labels that the cloud reported before and does not report any more, and that have not changed since.
fn withdrawn<'a>(
    node: &'a Node,
    instance: &'a Instance,
    before: Option<&'a BTreeMap<String, String>>,
) -> impl Iterator<Item = (String, Option<String>)> + 'a {
    let gone = |(key, value): &(&String, &String)| {
        !instance.labels.contains_key(*key) && get(node, key) == Some(value.as_str()) && rejection(key, value).is_none()
    };
    before
        .into_iter()
        .flatten()
        .filter(gone)
        .map(|(key, _)| (key.clone(), None))
}

fn rejection(key: &str, value: &str) -> Option<Reason> {
    if is_reserved(key) {
        return Some(Reason::Reserved);
    }
    (!is_valid(key, value)).then_some(Reason::Invalid)
}

fn is_reserved(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else {
        return false;
    };
    ["kubernetes.io", "k8s.io"].iter().any(|reserved| {
        domain
            .strip_suffix(reserved)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

fn is_valid(key: &str, value: &str) -> bool {
    let (domain, name) = key
        .split_once('/')
        .map_or((None, key), |(domain, name)| (Some(domain), name));
    let is_domain = |domain: &str| {
        domain.len() <= 253
            && domain
                .split('.')
                .all(|part| is_word(part, |c| c == '-') && part == part.to_lowercase())
    };
    domain.is_none_or(is_domain) && is_qualified(name) && (value.is_empty() || is_qualified(value))
}

fn is_qualified(text: &str) -> bool {
    text.len() <= 63 && is_word(text, |c| matches!(c, '-' | '_' | '.'))
}

/// Letters and digits at both ends, and in between also what `inside` allows.
fn is_word(text: &str, inside: impl Fn(char) -> bool) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    edge(text.chars().next())
        && edge(text.chars().next_back())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || inside(c))
}

#[cfg(test)]
mod tests;
