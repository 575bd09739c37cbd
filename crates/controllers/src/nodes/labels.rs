//! The labels that say where and what a machine is.

use cloud::Instance;
use k8s_openapi::api::core::v1::Node;
use std::{collections::BTreeMap, fmt};

/// Old names and the names they have now. On a Node that is initialised the old one wins, as it always has.
pub const ALIASES: [(&str, &str); 3] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
];

/// What is to become of labels: a value, or none any more.
pub type Changes = BTreeMap<String, Option<String>>;

/// A label that the cloud asked for and does not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// Which.
    pub key: String,
    /// Why.
    pub reason: Reason,
}

/// Why a label is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Labels under `kubernetes.io` and `k8s.io` are not the cloud's to set.
    Reserved,
    /// The API server would refuse it.
    Invalid,
    /// Somebody else has set it to another value.
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

/// The labels of the Node.
pub fn get<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get(key))
        .map(String::as_str)
}

/// What has to change so that the labels say what the cloud says.
///
/// Zone, region and type are the cloud's. Of its other labels, one that the Node has with another value stays as it
/// is, unless that value is what the cloud said `before`.
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
        let ours =
            get(node, key).is_none_or(|there| before.and_then(|before| before.get(key)).is_some_and(|it| it == there));
        match refuse(key, value) {
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

/// What has to change on an initialised Node so that the names of today say what the old names say.
#[must_use]
pub fn aliases(node: &Node) -> Changes {
    let differs = |&(old, new): &(&str, &str)| get(node, old).is_some_and(|value| get(node, new) != Some(value));
    let change = |(old, new): (&str, &str)| (new.to_owned(), get(node, old).map(str::to_owned));
    ALIASES.into_iter().filter(differs).map(change).collect()
}

/// Both names of zone, region and type, as far as the cloud tells them.
fn standard(instance: &Instance) -> Vec<(&'static str, &str)> {
    let values = [&instance.zone, &instance.region, &instance.instance_type];
    let told = ALIASES
        .into_iter()
        .zip(values)
        .filter_map(|(names, value)| Some((names, value.as_deref()?)));
    told.filter(|(_, value)| !value.is_empty())
        .flat_map(|((old, new), value)| [(old, value), (new, value)])
        .collect()
}

/// Labels that the cloud said before and says no more, as far as nobody has changed them.
fn withdrawn<'a>(
    node: &'a Node,
    instance: &'a Instance,
    before: Option<&'a BTreeMap<String, String>>,
) -> impl Iterator<Item = (String, Option<String>)> + 'a {
    let gone = |(key, value): &(&String, &String)| {
        !instance.labels.contains_key(*key) && get(node, key) == Some(value.as_str()) && refuse(key, value).is_none()
    };
    before
        .into_iter()
        .flatten()
        .filter(gone)
        .map(|(key, _)| (key.clone(), None))
}

fn refuse(key: &str, value: &str) -> Option<Reason> {
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
