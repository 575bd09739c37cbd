//! Rolls Pods when the objects that they read change: an annotation of the Pods contains a hash of these objects.

use super::pod;
use crate::Key;
use crate::platforms::Sources;
use base64::{Engine, prelude::BASE64_STANDARD};
use k8s_openapi::ByteString;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write},
};

/// The annotation.
pub const ANNOTATION: &str = "operator.openshift.io/config-hash";

/// The manager reloads a Secret whose name ends like this, so a change of it rolls no Pods.
const RELOADED: &str = "cloud-controller-manager-serving-cert";

/// An object that Pods read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The kind of the object.
    pub kind: Kind,
    /// Its name, in the namespace of the Pods.
    pub name: String,
    /// Whether Pods start without it.
    pub need: Need,
}

/// The kind of an object that Pods read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A `ConfigMap`.
    ConfigMap,
    /// A Secret.
    Secret,
}

/// Whether Pods start without an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// They do not start.
    Required,
    /// They start.
    Optional,
}

impl Reference {
    /// The object, for Pods in this namespace.
    pub fn key(&self, namespace: &str) -> Key {
        match self.kind {
            Kind::ConfigMap => Key::config_map(namespace, &self.name),
            Kind::Secret => Key::secret(namespace, &self.name),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.name)
    }
}

/// Annotates the template of a Deployment or `DaemonSet`; `secrets` are further Secrets that its Pods read.
pub fn put(object: &mut Value, sources: &Sources, secrets: &[&str]) {
    if !matches!(object["kind"].as_str(), Some("Deployment" | "DaemonSet")) {
        return;
    }
    let further = secrets
        .iter()
        .map(|name| Reference::new(Kind::Secret, name, Need::Required));
    let references = references(object).into_iter().chain(further).collect();
    object["spec"]["template"]["metadata"]["annotations"][ANNOTATION] = hash(&references, sources).into();
}

/// The objects without which the Pods cannot start and that do not exist, in order.
pub fn missing(object: &Value, sources: &Sources) -> Vec<Reference> {
    let there = |reference: &Reference| match reference.kind {
        Kind::ConfigMap => sources.config_maps.contains_key(&reference.name),
        Kind::Secret => sources.secrets.contains_key(&reference.name),
    };
    let references = references(object).into_iter();
    references
        .filter(|reference| reference.need == Need::Required && !there(reference))
        .collect()
}

/// The hash of the existing objects. A missing object counts as empty: its creation changes the hash, and the
/// annotation always exists.
///
/// It equals the Go operator's hash wherever that operator has one, so that taking over rolls no Pods. The Go operator ignores
/// binary data.
fn hash(references: &BTreeSet<Reference>, sources: &Sources) -> String {
    let mut hashed = Hashed::default();
    for Reference { kind, name, need: _ } in references {
        match kind {
            Kind::ConfigMap => {
                let content = sources.config_maps.get(name);
                let data = content.map(|content| &content.data).filter(|data| !data.is_empty());
                hashed.config_maps.insert(name, data);
                let binary = content
                    .map(|content| &content.binary_data)
                    .filter(|data| !data.is_empty());
                hashed
                    .binary_data
                    .extend(binary.map(|data| (name.as_str(), encoded(data))));
            }
            Kind::Secret => {
                let data = sources.secrets.get(name).filter(|data| !data.is_empty());
                hashed.secrets.insert(name, data.map(encoded));
            }
        }
    }
    let digest = Sha256::digest(as_go_writes_it(&hashed));
    digest.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a text cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Hashed<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    binary_data: BTreeMap<&'a str, BTreeMap<&'a str, String>>,
    config_maps: BTreeMap<&'a str, Option<&'a BTreeMap<String, String>>>,
    secrets: BTreeMap<&'a str, Option<BTreeMap<&'a str, String>>>,
}

fn encoded(data: &BTreeMap<String, ByteString>) -> BTreeMap<&str, String> {
    data.iter()
        .map(|(key, bytes)| (key.as_str(), BASE64_STANDARD.encode(&bytes.0)))
        .collect()
}

/// JSON that is safe in HTML, as Go writes it: these characters occur in texts only.
fn as_go_writes_it(hashed: &Hashed<'_>) -> String {
    let json = serde_json::to_string(hashed).expect("maps from text to text are JSON");
    json.replace('<', r"\u003c")
        .replace('>', r"\u003e")
        .replace('&', r"\u0026")
        .replace('\u{2028}', r"\u2028")
        .replace('\u{2029}', r"\u2029")
}

/// The objects that the Pods read: in volumes and environment, of every container.
pub fn references(object: &Value) -> BTreeSet<Reference> {
    let list = |owner: &'_ Value, key: &str| owner[key].as_array().cloned().unwrap_or_default();
    let Some(spec) = pod::spec(object) else {
        return BTreeSet::new();
    };
    let mut owners = Vec::new();
    for volume in list(spec, "volumes") {
        owners.extend(list(&volume["projected"], "sources"));
        owners.push(volume);
    }
    for container in list(spec, "initContainers").into_iter().chain(list(spec, "containers")) {
        owners.extend(list(&container, "envFrom"));
        owners.extend(
            list(&container, "env")
                .into_iter()
                .map(|mut variable| variable["valueFrom"].take()),
        );
    }
    owners.iter().flat_map(named).collect()
}

/// The objects that a volume, a projected source, or the source of a variable names.
fn named(owner: &Value) -> impl Iterator<Item = Reference> {
    const WAYS: [(&str, &str, Kind); 7] = [
        ("configMap", "name", Kind::ConfigMap),
        ("configMapKeyRef", "name", Kind::ConfigMap),
        ("configMapRef", "name", Kind::ConfigMap),
        ("secret", "secretName", Kind::Secret),
        ("secret", "name", Kind::Secret),
        ("secretKeyRef", "name", Kind::Secret),
        ("secretRef", "name", Kind::Secret),
    ];
    WAYS.into_iter().filter_map(|(way, key, kind)| {
        let name = owner[way][key].as_str().filter(|name| !name.ends_with(RELOADED))?;
        let need = match owner[way]["optional"].as_bool() {
            Some(true) => Need::Optional,
            _ => Need::Required,
        };
        Some(Reference::new(kind, name, need))
    })
}

impl Reference {
    fn new(kind: Kind, name: &str, need: Need) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            need,
        }
    }
}

#[cfg(test)]
mod tests;
