//! The keys that the operand reads, and the kinds of their values.

use super::Tree;
use serde_json::{Value, json};
use std::fmt;

/// The kind of a value.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    Number,
    Truth,
    Texts,
}

/// A key in the INI and in the YAML notation.
pub(super) struct Key {
    pub(super) ini: &'static str,
    pub(super) yaml: &'static str,
    pub(super) kind: Kind,
}

const fn key(ini: &'static str, yaml: &'static str, kind: Kind) -> Key {
    Key { ini, yaml, kind }
}

/// Of `global`, and of each vCenter.
pub(super) const SERVER: [Key; 15] = [
    key("user", "user", Kind::Text),
    key("password", "password", Kind::Text),
    key("server", "server", Kind::Text),
    key("port", "port", Kind::Number),
    key("insecure-flag", "insecureFlag", Kind::Truth),
    key("datacenters", "datacenters", Kind::Texts),
    key("soap-roundtrip-count", "soapRoundtripCount", Kind::Number),
    key("ca-file", "caFile", Kind::Text),
    key("thumbprint", "thumbprint", Kind::Text),
    key("secret-name", "secretName", Kind::Text),
    key("secret-namespace", "secretNamespace", Kind::Text),
    key("secrets-directory", "secretsDirectory", Kind::Text),
    key("api-disable", "apiDisable", Kind::Truth),
    key("api-binding", "apiBinding", Kind::Text),
    key("ip-family", "ipFamily", Kind::Texts),
];

/// Of `labels`.
pub(super) const LABELS: [Key; 2] = [key("zone", "zone", Kind::Text), key("region", "region", Kind::Text)];

/// Of `nodes`.
pub(super) const NODES: [Key; 6] = [
    key("internal-network-subnet-cidr", "internalNetworkSubnetCidr", Kind::Text),
    key("external-network-subnet-cidr", "externalNetworkSubnetCidr", Kind::Text),
    key("internal-vm-network-name", "internalVmNetworkName", Kind::Text),
    key("external-vm-network-name", "externalVmNetworkName", Kind::Text),
    key(
        "exclude-internal-network-subnet-cidr",
        "excludeInternalNetworkSubnetCidr",
        Kind::Text,
    ),
    key(
        "exclude-external-network-subnet-cidr",
        "excludeExternalNetworkSubnetCidr",
        Kind::Text,
    ),
];

/// Removes values without an effect: empty, zero and false values of known keys, and empty sections except `global`.
pub(super) fn tidy(tree: &mut Tree) {
    tidy_keys(super::section(tree, "global"), &SERVER);
    for (name, keys) in [("labels", &LABELS[..]), ("nodes", &NODES)] {
        if let Some(Value::Object(section)) = tree.get_mut(name) {
            tidy_keys(section, keys);
        }
    }
    if let Some(Value::Object(servers)) = tree.get_mut("vcenter") {
        let sections = servers.values_mut().filter_map(Value::as_object_mut);
        sections.for_each(|section| tidy_keys(section, &SERVER));
    }
    tree.retain(|name, value| !["vcenter", "labels", "nodes"].contains(&name.as_str()) || *value != json!({}));
}

fn tidy_keys(section: &mut Tree, keys: &[Key]) {
    let is_known = |name: &str| keys.iter().any(|key| key.yaml == name);
    let empty = [json!(""), json!(0), json!(false), json!([])];
    section.retain(|name, value| !(is_known(name) && empty.contains(value)));
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "a text",
            Self::Number => "a whole number",
            Self::Truth => "true or false",
            Self::Texts => "a list of texts",
        })
    }
}
