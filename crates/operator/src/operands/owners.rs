//! The owners of the fields of an object, by its `metadata.managedFields`.

use super::fields;
use jiff::Timestamp;
use serde_json::{Value, json};

/// The field manager under which all is applied.
pub const MANAGER: &str = "outrigger-operator";

/// Under which the Go operator wrote: the names of its programs. What it has set is ours to change.
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
    /// Of the Go operator, or written by us but not by server-side apply.
    Inherited,
    Foreign,
    /// Status, scale: written by controllers, each by its own rules.
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

/// Whether we or the Go operator ever wrote this object, rather than another program one of the same name.
pub(super) fn is_ours(live: &Value) -> bool {
    entries(live).any(|entry| matches!(entry.ownership, Ownership::Ours | Ownership::Inherited))
}

/// What a release brings along has this owner. The operator is brought along, too: what it takes over from there is no stranger's.
const RELEASE: &str = "ClusterVersion";

/// The controller to which an object belongs, if that is another than the one to which ours is to belong: its kind and name. It would change
/// everything back, or lose what runs.
pub(super) fn other_owner(wanted: &Value, live: &Value) -> Option<String> {
    let theirs = controller(live).filter(|owner| owner["kind"] != RELEASE)?;
    // Not by its UID: of two with one name one is gone, and what was its is ours.
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

/// The kind of the controller to which an object belongs.
pub(super) fn controller_kind(live: &Value) -> Option<&str> {
    controller(live)?["kind"].as_str().filter(|kind| *kind != RELEASE)
}

fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

/// Who else wrote to an object last: the name of the field manager.
pub(super) fn last_writer(live: &Value) -> Option<&str> {
    let others = entries(live).filter(|entry| entry.ownership == Ownership::Foreign);
    let last = others.max_by_key(|entry| entry.raw["time"].as_str().unwrap_or_default().to_owned())?;
    last.raw["manager"].as_str().filter(|name| !name.is_empty())
}

/// When the object was last written, other than its status.
pub(crate) fn last_write(live: &Value) -> Option<Timestamp> {
    let entries = entries(live).filter(|entry| entry.ownership != Ownership::Subresource);
    entries
        .filter_map(|entry| entry.raw["time"].as_str()?.parse().ok())
        .max()
}

/// The fields that are ours alone or among others; `None` if we never applied it.
pub(super) fn ours(live: &Value) -> Option<&Value> {
    entries(live)
        .find(|entry| entry.ownership == Ownership::Ours)
        .map(|entry| entry.fields)
}

/// The fields of others that become ours with [`takeover`]: all of the Go operator's, and what `left` does not leave to
/// the program that set it.
pub(super) fn taken(live: &Value, left: &dyn Fn(&[String]) -> bool) -> Vec<Value> {
    let taken = entries(live).filter_map(|entry| match entry.ownership {
        Ownership::Ours | Ownership::Subresource => None,
        Ownership::Inherited => Some(entry.fields.clone()),
        Ownership::Foreign => Some(fields::split(entry.fields, left).1),
    });
    taken.collect()
}

/// Whether the Go operator's name is still on it.
pub(super) fn is_inherited(live: &Value) -> bool {
    entries(live).any(|entry| entry.ownership == Ownership::Inherited)
}

/// `managedFields` under which all of [`taken`] is ours, so that the next apply removes what it does not want.
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
