//! The objects of the operator: which exist, and which may be deleted.

use super::Settings;
use crate::{
    Key, Object, certificates, cloud_config,
    operands::{
        Report,
        kinds::{self, Rank},
    },
    platforms::{self, Images, Platform, Setting},
    status, trusted_ca,
};
use operator_api::{
    cluster_operator::{ObjectReference, Status},
    infrastructure::PlatformStatus,
};
use serde_json::Value;
use std::collections::BTreeSet;

/// The namespace of the operator in a release, which must-gather collects, whatever the namespace of this operator.
const OPERATOR_NAMESPACE: &str = "openshift-cloud-controller-manager-operator";

/// What may be deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Prune {
    /// Nothing: it is not known what is desired.
    #[default]
    Nothing,
    /// Objects that are not desired any more.
    Unwanted,
    /// All operands, in the safe order.
    All,
}

/// The related objects of the `ClusterOperator`: the three that the Go operator lists, in its order, and then the inventory.
pub(super) fn related(namespace: &str, inventory: &[Key]) -> Vec<ObjectReference> {
    let reference = |group: &str, resource: &str, name: &str| ObjectReference {
        group: group.to_owned(),
        resource: resource.to_owned(),
        namespace: String::new(),
        name: name.to_owned(),
    };
    let first = [
        reference("", "namespaces", OPERATOR_NAMESPACE),
        reference("config.openshift.io", "clusteroperators", status::NAME),
        reference("", "namespaces", namespace),
    ];
    let operands = inventory.iter().filter_map(kinds::related);
    first.into_iter().chain(operands).collect()
}

/// The inventory in the related objects: all except namespaces. Newer Go operators list themselves first, and then many objects of the
/// release, but no operands.
pub(super) fn listed(status: &Status) -> Vec<Key> {
    let is_ours = status
        .related_objects
        .first()
        .is_some_and(|first| first.resource == "namespaces");
    let related = status.related_objects.iter().filter(|_| is_ours);
    let keys = related.filter_map(kinds::key);
    keys.filter(|key| key.kind != "Namespace").collect()
}

/// Whether an inventory contains operands. The two `ConfigMaps` may be those of another process.
pub(super) fn names_operands(inventory: &[Key]) -> bool {
    inventory.iter().any(|key| key.kind != "ConfigMap")
}

/// Whether an object is deleted when it is not desired any more: all except those that are written for other operators.
pub(super) fn is_inventoried(key: &Key) -> bool {
    key.namespace.as_deref() != Some(cloud_config::MANAGED_NAMESPACE)
}

/// The objects that may be deleted if they are not desired. Those of another process may only if all operands are deleted.
pub(super) fn prunable(inventory: &[Key], prune: Prune, settings: &Settings) -> Vec<Key> {
    let cloud_conf = Key::config_map(&settings.namespace, cloud_config::NAME);
    // Pods cannot start without it, and without a Proxy its desired content is not known.
    let certificates = Key::config_map(&settings.namespace, trusted_ca::NAME);
    let is_ours = |key: &Key| *key != certificates && (settings.duties.has_sync() || *key != cloud_conf);
    let mut ours: Vec<_> = match prune {
        Prune::Nothing => Vec::new(),
        Prune::Unwanted | Prune::All => inventory.iter().filter(|key| is_ours(key)).cloned().collect(),
    };
    if prune == Prune::All && !ours.contains(&cloud_conf) {
        ours.push(cloud_conf);
    }
    ours
}

/// The inventory with objects that are about to be created.
pub(super) fn with(inventory: &[Key], keys: &[Key]) -> Vec<Key> {
    let new = keys.iter().filter(|key| is_inventoried(key));
    let all: BTreeSet<_> = inventory.iter().chain(new).cloned().collect();
    all.into_iter().collect()
}

/// The inventory after a run.
pub(super) fn after(report: &Report, keys: &[Key], before: &[Key], prune: Prune) -> Vec<Key> {
    let after: Vec<_> = report.inventory().into_iter().filter(is_inventoried).collect();
    match prune {
        Prune::Nothing => with(&with(before, &after), keys),
        Prune::Unwanted | Prune::All => with(&after, &[]),
    }
}

/// The workloads among them.
pub(super) fn workloads<'a>(keys: impl IntoIterator<Item = &'a Key>) -> Vec<Key> {
    let runs = |key: &&Key| kinds::get(key).is_ok_and(|kind| kind.rank == Rank::Workload);
    keys.into_iter().filter(runs).cloned().collect()
}

/// The names of the objects that any platform has in this namespace and beside it.
pub(crate) fn candidates(namespace: &str) -> BTreeSet<Key> {
    let keys = platforms::ALL.iter().flat_map(|platform| platform.images);
    let images: Value = keys.map(|(_, key)| ((*key).to_owned(), "any")).collect();
    let setting = Setting {
        namespace: namespace.to_owned(),
        infrastructure_name: "any".to_owned(),
        images: Images::parse(&images.to_string()).unwrap_or_default(),
        ..Setting::default()
    };
    let mut keys: BTreeSet<_> = platforms::ALL
        .iter()
        .flat_map(|platform| objects(platform, &setting))
        .map(|object| object.key().clone())
        .collect();
    let names = certificates::Names {
        service: String::new(),
        namespace: namespace.to_owned(),
        prefix: String::new(),
    };
    keys.extend([names.ca_secret(), names.serving_secret(), names.bundle()]);
    keys
}

fn objects(platform: &Platform, setting: &Setting) -> Vec<Object> {
    let setting = Setting {
        platform: PlatformStatus {
            type_: platform.type_.to_owned(),
            ..PlatformStatus::default()
        },
        ..setting.clone()
    };
    // A test checks that there is no error.
    platform.resources(&setting).unwrap_or_default()
}

#[cfg(test)]
mod tests;
