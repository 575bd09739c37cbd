//! The step that makes one object match its desired state. Pure: decided from the existing object alone.
//!
//! Nothing is stored between two comparisons, neither here nor in annotations: the API server records the owners of
//! fields in `managedFields`. So a process that has just started also finds a field that this operator applied and
//! does not desire any more, and a field that another program added.

use super::{equal, fields, owners};
use crate::Object;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};
use std::fmt;

/// The step for an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// It does not exist.
    Create,
    /// It matches.
    Keep,
    /// Some of its fields differ, or are owned by others.
    Apply {
        /// These fields, like `spec.replicas`.
        why: Vec<String>,
    },
    /// Another program has added fields that are not desired. They become ours, and are then omitted from what is applied.
    Repair {
        /// These fields, and those that differ.
        why: Vec<String>,
        /// The `metadata.managedFields` that make them ours.
        managed_fields: Value,
    },
    /// A field differs that cannot be changed.
    Recreate {
        /// The field, as a message.
        why: String,
    },
    /// Another controller owns it: it is not changed.
    Leave {
        /// The kind and the name of the controller to which it belongs.
        owner: String,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create => f.write_str("create"),
            Self::Keep => f.write_str("keep"),
            Self::Apply { why } => write!(f, "apply: {}", why.join(", ")),
            Self::Repair { why, .. } => write!(f, "repair: {}", why.join(", ")),
            Self::Recreate { why } => write!(f, "recreate: {why}"),
            Self::Leave { owner } => write!(f, "leave: it belongs to {owner}"),
        }
    }
}

/// Decides the step for an object.
///
/// `live` must have its `managedFields`: without them the owners of its fields are not known, and it is applied.
pub fn compare(desired: &Object, live: Option<&Value>) -> Step {
    let Some(live) = live else { return Step::Create };
    let wanted = wanted(desired);
    // An object that is being deleted is awaited.
    let stays = live["metadata"].get("deletionTimestamp").is_none();
    if let Some(owner) = owners::other_owner(&wanted, live).filter(|_| stays) {
        return Step::Leave { owner };
    }
    if let Some(why) = conflict(&desired.key().kind, &wanted, live) {
        return Step::Recreate { why };
    }
    let why = changes(&wanted, live);
    let left = left_alone(&wanted);
    let foreign = foreign(&wanted, live, &left);
    if foreign.is_empty() && !owners::is_inherited(live) {
        return if why.is_empty() {
            Step::Keep
        } else {
            Step::Apply { why }
        };
    }
    let managed_fields = owners::takeover(live, &desired.key().api_version, &left);
    Step::Repair {
        why: why.into_iter().chain(foreign).collect(),
        managed_fields,
    }
}

/// The fields that differ, and those that are ours and not desired any more (`-spec.paused`).
fn changes(wanted: &Value, live: &Value) -> Vec<String> {
    let Some(ours) = owners::ours(live) else {
        return vec!["never applied by us".to_owned()];
    };
    let different = equal::differences(wanted, live, ours)
        .into_iter()
        .map(|path| path.to_string());
    let dropped = fields::beyond(ours, wanted, &|_| false)
        .into_iter()
        .map(|path| format!("-{path}"));
    different.chain(dropped).collect()
}

fn foreign(wanted: &Value, live: &Value, left: &dyn Fn(&[String]) -> bool) -> Vec<String> {
    let sets = owners::taken(live, left);
    let paths = sets
        .iter()
        .flat_map(|set| fields::beyond(set, wanted, &|path| is_status(path)));
    paths.map(|path| format!("-{path}")).collect()
}

fn is_status(path: &[String]) -> bool {
    path.first().is_some_and(|part| part == "status")
}

/// An object as it is applied: without fields that only the server writes, and without empty values.
pub(super) fn wanted(desired: &Object) -> Value {
    let mut value = desired.value().clone();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("status");
        encode(fields);
    }
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        let server = [
            "managedFields",
            "resourceVersion",
            "uid",
            "creationTimestamp",
            "generation",
            "selfLink",
        ];
        metadata.retain(|name, _| !server.contains(&name.as_str()));
    }
    drop_nulls(&mut value);
    value
}

/// The texts of a Secret are write-only: what is read is `data`.
fn encode(fields: &mut Map<String, Value>) {
    let Some(Value::Object(texts)) = fields.remove("stringData") else {
        return;
    };
    let data = fields.entry("data").or_insert_with(|| json!({}));
    for (name, text) in texts {
        data[name] = json!(BASE64_STANDARD.encode(text.as_str().unwrap_or_default()));
    }
}

/// Removes empty values: Kubernetes treats them as absent.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// How `kubectl rollout restart` has Pods recreated.
const RESTARTED: &str = "kubectl.kubernetes.io/restartedAt";

/// Changes of others that are accepted: metadata, a restart, and fields that controllers of the cluster fill in.
pub(super) fn left_alone(wanted: &Value) -> impl Fn(&[String]) -> bool + use<> {
    let kind = wanted["kind"].as_str().unwrap_or_default().to_owned();
    let filled = is_filled_by_others(wanted);
    move |path| {
        let path: Vec<_> = path.iter().map(String::as_str).collect();
        match path.as_slice() {
            ["metadata" | "status", ..] | ["spec", "template", "metadata", "annotations", RESTARTED] => true,
            ["data" | "binaryData" | "rules", ..] => filled,
            path => is_allocated(&kind, path),
        }
    }
}

/// Fields that the cluster allocates, also if they are not requested.
fn is_allocated(kind: &str, path: &[&str]) -> bool {
    let addresses = [
        "clusterIP",
        "clusterIPs",
        "ipFamilies",
        "ipFamilyPolicy",
        "healthCheckNodePort",
    ];
    match (kind, path) {
        ("Service", ["spec", "ports", _, field]) => *field == "nodePort",
        ("Service", ["spec", field, ..]) => addresses.contains(field),
        ("ServiceAccount", [field, ..]) => ["secrets", "imagePullSecrets"].contains(field),
        ("Namespace", ["spec", ..]) => true,
        _ => false,
    }
}

/// Objects that are created empty, for a controller of the cluster to fill.
fn is_filled_by_others(wanted: &Value) -> bool {
    let metadata = &wanted["metadata"];
    match wanted["kind"].as_str() {
        Some("ConfigMap") => {
            metadata["labels"]["config.openshift.io/inject-trusted-cabundle"] == "true"
                || metadata["annotations"]["service.beta.openshift.io/inject-cabundle"] == "true"
        }
        Some("Secret") => wanted["type"] == "kubernetes.io/service-account-token",
        Some("ClusterRole") => wanted.get("aggregationRule").is_some(),
        _ => false,
    }
}

/// Why the existing object cannot be changed to the desired one.
fn conflict(kind: &str, wanted: &Value, live: &Value) -> Option<String> {
    match kind {
        "Namespace" => None,
        _ if live["metadata"].get("deletionTimestamp").is_some() => Some("it is being deleted".to_owned()),
        "Deployment" | "DaemonSet" => fixed(wanted, live, &["/spec/selector"]),
        "RoleBinding" | "ClusterRoleBinding" => {
            fixed(wanted, live, &["/roleRef/apiGroup", "/roleRef/kind", "/roleRef/name"])
        }
        "Service" => fixed(
            wanted,
            live,
            &["/spec/clusterIP", "/spec/clusterIPs/0", "/spec/ipFamilies/0"],
        ),
        "ConfigMap" => immutable(wanted, live),
        "Secret" => immutable(wanted, live).or_else(|| fixed(wanted, live, &["/type"])),
        _ => None,
    }
}

/// The first of these fields that is desired and differs.
fn fixed(wanted: &Value, live: &Value, pointers: &[&str]) -> Option<String> {
    let differs = |pointer: &&&str| {
        let wanted = wanted.pointer(pointer).filter(|wanted| **wanted != "");
        wanted.is_some() && wanted != live.pointer(pointer)
    };
    let found = pointers.iter().find(differs)?;
    Some(format!("{} cannot be changed", found[1..].replace('/', ".")))
}

fn immutable(wanted: &Value, live: &Value) -> Option<String> {
    let same = |field: &str| {
        let content = |value: &Value| value.get(field).cloned().unwrap_or_else(|| json!({}));
        content(wanted) == content(live)
    };
    let as_wanted = wanted["immutable"] == true && same("data") && same("binaryData");
    (live["immutable"] == true && !as_wanted).then(|| "it is immutable".to_owned())
}

#[cfg(test)]
mod tests;
