//! The owners of the fields of an object, by its `metadata.managedFields`.

use super::fields;
use jiff::Timestamp;
use serde_json::{Value, json};

/// The field manager of everything that the operator applies.
pub const MANAGER: &str = "outrigger-operator";

/// The field managers of the Go operator: the names of its programs. Fields that it has set may be changed.
const PREDECESSORS: [&str; 3] = [
    "cluster-controller-manager-operator",
    "cluster-cloud-controller-manager-operator",
    "config-sync-controllers",
];

/// A field manager's part of an object.
struct Entry<'a> {
    ownership: Ownership,
    fields: &'a Value,
    raw: &'a Value,
}

#[derive(PartialEq, Eq)]
enum Ownership {
    Ours,
    /// Set by the Go operator, or by this operator without server-side apply.
    Inherited,
    Foreign,
    /// Status, scale: written by controllers, by their own rules.
    Subresource,
}

impl<'a> Entry<'a> {
    fn of(raw: &'a Value) -> Self {
        let text = |field: &str| raw[field].as_str().unwrap_or_default();
        let ownership = match (text("manager"), text("operation")) {
            _ if !text("subresource").is_empty() => Ownership::Subresource,
            (MANAGER, "Apply") => Ownership::Ours,
            (manager, _) if manager == MANAGER || PREDECESSORS.contains(&manager) => Ownership::Inherited,
            _ => Ownership::Foreign,
        };
        Self {
            ownership,
            fields: &raw["fieldsV1"],
            raw,
        }
    }
}

fn entries(live: &Value) -> impl Iterator<Item = Entry<'_>> {
    live["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
        .map(Entry::of)
}

/// Whether this operator or the Go operator ever wrote the object; another program may have created one of the same name.
pub(super) fn is_ours(live: &Value) -> bool {
    entries(live).any(|entry| matches!(entry.ownership, Ownership::Ours | Ownership::Inherited))
}

/// The owner of the objects of a release. The operator belongs to the release, too, so it may take over such objects.
const RELEASE: &str = "ClusterVersion";

/// The controller that owns an object, if it is not the one that should own ours: its kind and name. It would revert
/// every change, or its Pods would be lost.
pub(super) fn other_owner(wanted: &Value, live: &Value) -> Option<String> {
    let theirs = controller(live).filter(|owner| owner["kind"] != RELEASE)?;
    // Compared without the UID: of two owners of the same name only one exists, and its objects are ours.
    let identity = |owner: &Value| {
        let text = |field: &str| owner[field].as_str().unwrap_or_default().to_owned();
        let api_version = text("apiVersion");
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group).to_owned();
        (group, text("kind"), text("name"))
    };
    let (group, kind, name) = identity(theirs);
    let is_ours = controller(wanted).is_some_and(|ours| identity(ours) == (group, kind.clone(), name.clone()));
    (!is_ours).then(|| format!("{kind} {name}"))
}

/// The kind of the controller that owns an object.
pub(super) fn controller_kind(live: &Value) -> Option<&str> {
    controller(live)?["kind"].as_str().filter(|kind| *kind != RELEASE)
}

fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

/// The field manager of the last write by another program.
pub(super) fn last_writer(live: &Value) -> Option<&str> {
    let others = entries(live).filter(|entry| entry.ownership == Ownership::Foreign);
    let last = others.max_by_key(|entry| entry.raw["time"].as_str().unwrap_or_default().to_owned())?;
    last.raw["manager"].as_str().filter(|name| !name.is_empty())
}

/// The time of the last write, except writes of the status.
pub(crate) fn last_write(live: &Value) -> Option<Timestamp> {
    let entries = entries(live).filter(|entry| entry.ownership != Ownership::Subresource);
    entries
        .filter_map(|entry| entry.raw["time"].as_str()?.parse().ok())
        .max()
}

/// The fields that are ours, alone or with others; `None` if this operator never applied the object.
pub(super) fn ours(live: &Value) -> Option<&Value> {
    entries(live)
        .find(|entry| entry.ownership == Ownership::Ours)
        .map(|entry| entry.fields)
}

/// The fields of others that become ours with [`takeover`]: all of the Go operator's, and all others except those for which `left` is
/// true.
pub(super) fn taken(live: &Value, left: &dyn Fn(&[String]) -> bool) -> Vec<Value> {
    let taken = entries(live).filter_map(|entry| match entry.ownership {
        Ownership::Ours | Ownership::Subresource => None,
        Ownership::Inherited => Some(entry.fields.clone()),
        Ownership::Foreign => Some(fields::split(entry.fields, left).1),
    });
    taken.collect()
}

/// Whether the Go operator still owns fields of the object.
pub(super) fn is_inherited(live: &Value) -> bool {
    entries(live).any(|entry| entry.ownership == Ownership::Inherited)
}

/// The `managedFields` with which all of [`taken`] is ours, so that the next apply removes the fields that are not desired.
pub(super) fn takeover(live: &Value, api_version: &str, left: &dyn Fn(&[String]) -> bool) -> Value {
    let mut own = ours(live).cloned().unwrap_or_else(|| json!({}));
    for set in taken(live, left) {
        own = fields::union(own, &set);
    }
    let mut rest = vec![json!({
        "manager": MANAGER,
        "operation": "Apply",
        "apiVersion": api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": own,
    })];
    rest.extend(entries(live).filter_map(|entry| match entry.ownership {
        Ownership::Ours | Ownership::Inherited => None,
        Ownership::Subresource => Some(entry.raw.clone()),
        Ownership::Foreign => reduced(&entry, left),
    }));
    Value::Array(rest)
}

fn reduced(entry: &Entry<'_>, left: &dyn Fn(&[String]) -> bool) -> Option<Value> {
    let (kept, _) = fields::split(entry.fields, left);
    let mut raw = entry.raw.clone();
    kept.as_object().filter(|kept| !kept.is_empty())?;
    raw["fieldsV1"] = kept;
    Some(raw)
}
