//! The keys that the operand reads, and what it takes for their values.

use super::yaml::{Map, Node, Style};

/// What a value has to be.
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

/// Says which key of a file the operand would refuse, in one sentence that starts with the line; what it does not know
/// it ignores, and so do we.
pub(super) fn check(root: &Map) -> Result<(), String> {
    for (name, keys) in [("global", &SERVER[..]), ("labels", &LABELS), ("nodes", &NODES)] {
        section(root, name, keys, "")?;
    }
    let Some(vcenters) = root.find("vcenter").filter(|node| !node.is_null()) else {
        return Ok(());
    };
    let Node::Map(vcenters) = vcenters else {
        return Err(format!(
            "{}vcenter is not a map: write vCenters by their names below it",
            line(root, "vcenter")
        ));
    };
    let mut names = vcenters.iter();
    names.try_for_each(|(name, ..)| section(vcenters, name, &SERVER, "vcenter."))
}

/// Brings what has passed [`check`] into the form of the Go operator: keys in its order, and without those that say what
/// is assumed anyway.
pub(super) fn tidy(root: &mut Map) {
    tidy_keys(root.map("global"), &SERVER);
    for (name, keys) in [("labels", &LABELS[..]), ("nodes", &NODES)] {
        if let Some(Node::Map(map)) = root.find_mut(name) {
            tidy_keys(map, keys);
        }
    }
    if let Some(Node::Map(vcenters)) = root.find_mut("vcenter") {
        vcenters.sort();
        for vcenter in vcenters.values_mut() {
            if let Node::Map(map) = vcenter {
                tidy_keys(map, &SERVER);
            }
        }
    }
    for name in ["vcenter", "labels", "nodes"] {
        if root.find(name).is_some_and(Node::is_nothing) {
            root.remove(name);
        }
    }
    root.arrange(&["global", "vcenter", "labels", "nodes"]);
}

fn tidy_keys(map: &mut Map, keys: &[Key]) {
    for key in keys {
        let Some(value) = map.find_mut(key.yaml) else { continue };
        if key.kind.is_assumed(value) {
            map.remove(key.yaml);
        } else {
            key.kind.tidy(value);
        }
    }
    let order: Vec<_> = keys.iter().map(|key| key.yaml).collect();
    map.arrange(&order);
}

fn section(parent: &Map, name: &str, keys: &[Key], path: &str) -> Result<(), String> {
    let map = match parent.find(name) {
        None => return Ok(()),
        Some(node) if node.is_null() => return Ok(()),
        Some(Node::Map(map)) => map,
        Some(_) => {
            return Err(format!(
                "{}{path}{name} is not a map: write keys below it",
                line(parent, name)
            ));
        }
    };
    for key in keys {
        let value = map.find(key.yaml).filter(|node| !node.is_null());
        if let Some(expected) = value.and_then(|value| key.kind.refuses(value)) {
            return Err(format!(
                "{}{path}{name}.{} is not {expected}",
                line(map, key.yaml),
                key.yaml
            ));
        }
    }
    Ok(())
}

/// `3: `
fn line(map: &Map, key: &str) -> String {
    let found = map.iter().find(|(name, ..)| *name == key);
    found.map(|(_, line, _)| format!("{line}: ")).unwrap_or_default()
}

impl Kind {
    /// What should be there instead, if this is not it.
    fn refuses(self, value: &Node) -> Option<&'static str> {
        let plain = |is: fn(&str) -> bool| matches!(value, Node::Scalar(scalar) if scalar.style == Style::Plain && is(&scalar.text));
        let (fits, expected) = match self {
            Self::Text => (matches!(value, Node::Scalar(_)), "a text: write one"),
            Self::Number => (
                plain(|text| number(text).is_some()),
                "a whole number: write one without quotes",
            ),
            Self::Truth => (
                plain(|text| truth(text).is_some()),
                "a truth: write true or false without quotes",
            ),
            Self::Texts => {
                let scalar = |node: &Node| matches!(node, Node::Scalar(_));
                let list = matches!(value, Node::List(items) if items.iter().all(|item| scalar(&item.value)));
                (list, "a list of texts: write one a line, each after a dash")
            }
        };
        (!fits).then_some(expected)
    }

    /// Whether a value is what the operand assumes without it.
    fn is_assumed(self, value: &Node) -> bool {
        let text = value.as_text();
        value.is_nothing()
            || match self {
                Self::Text => text == Some(""),
                Self::Number => text.is_some_and(|text| number(text) == Some(0)),
                Self::Truth => text.is_some_and(|text| truth(text) == Some(false)),
                Self::Texts => false,
            }
    }

    /// The value in its usual notation.
    fn tidy(self, value: &mut Node) {
        match (self, value) {
            (Self::Truth, value) => *value = Node::plain(&true),
            (Self::Texts, Node::List(items)) => items.iter_mut().for_each(|item| Self::Text.tidy(&mut item.value)),
            (Self::Text, value) => {
                if let Some(text) = value.as_text() {
                    *value = Node::text(text);
                }
            }
            // an octal number of one reader is a decimal one of another
            (Self::Number, value) => {
                let plain = |text: &&str| !text.starts_with('0') || text.starts_with("0x");
                if let Some(number) = value.as_text().filter(plain).and_then(number) {
                    *value = Node::plain(&number);
                }
            }
            (Self::Texts, _) => {}
        }
    }
}

/// Also in the notations of other bases, which are YAML.
fn number(text: &str) -> Option<u64> {
    let digits = text.replace('_', "");
    let (digits, base) = match digits.get(..2) {
        Some("0x") => (&digits[2..], 16),
        Some("0o") => (&digits[2..], 8),
        Some("0b") => (&digits[2..], 2),
        _ => (digits.as_str(), 10),
    };
    // No sign.
    let starts = digits.starts_with(|c: char| c.is_digit(base));
    u64::from_str_radix(digits, base).ok().filter(|_| starts)
}

/// The words that the operand's YAML takes.
fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "on" | "true" => Some(true),
        "n" | "no" | "off" | "false" => Some(false),
        _ => None,
    }
}
