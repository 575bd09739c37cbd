//! Tells the cluster, in the `ClusterOperator` and in events.

use super::{
    observe::{self, Observed},
    pass::{Found, Operator},
};
use crate::{
    Key,
    monitoring::Truth,
    operands::{MANAGER, kinds},
    status,
};
use k8s_openapi::{api::core::v1, jiff::Timestamp};
use kube::{Api, Client, api::PostParams};
use operator_api::{
    ClusterOperator,
    cluster_operator::{Condition, ObjectReference, Status},
};
use runtime::{client::explain, events::Kind};
use std::sync::Arc;
use tracing::warn;

/// Where a release puts the operator, wherever this one runs: who looks for what went wrong looks there.
const OPERATOR_NAMESPACE: &str = "openshift-cloud-controller-manager-operator";

impl Operator {
    /// Writes the status where it is not what it should be.
    pub(super) async fn report(&mut self, observed: &mut Observed, inventory: &[Key], found: &mut Found) {
        let operator = match &observed.cluster_operator {
            Ok(operator) => operator.as_ref(),
            Err(reason) => {
                warn!(%reason, "cannot report");
                found.failing = true;
                return;
            }
        };
        let before = operator.map(|operator| operator.status.clone()).unwrap_or_default();
        let settings = &self.settings;
        let related = related(&settings.namespace, inventory);
        let report = status::Report {
            cloud_config: found.cloud_config.clone(),
            trusted_ca: found.trusted_ca.clone(),
            operands: found.operands.clone(),
            remarks: found.remarks.iter().chain(&found.left).cloned().collect(),
            obstacles: found.obstacles.clone(),
            related: if settings.duties.has_operands() || before.related_objects.is_empty() {
                related
            } else {
                Vec::new()
            },
            release: settings.release.clone(),
        };
        let after = status::next(&before, &report, Timestamp::now());
        for condition in &after.conditions {
            let truth = Truth::of(&condition.status);
            self.hands.metrics.condition(status::NAME, &condition.type_, truth);
        }
        if operator.is_some() && after == before {
            return;
        }
        match write(&self.hands.client, operator, &after).await {
            Ok(written) => {
                self.announce_changes(&before, &after);
                if let Ok(value) = serde_json::to_value(&written) {
                    self.watches.saw(&observe::cluster_operator(), &Arc::new(value));
                }
                observed.cluster_operator = Ok(Some(written));
            }
            Err(error) => {
                warn!(reason = %explain(&error), "cannot write the status of the ClusterOperator");
                found.failing = true;
            }
        }
    }

    /// Events about what has turned for the worse, or begun.
    pub(super) fn announce_changes(&self, before: &Status, after: &Status) {
        let reference = v1::ObjectReference {
            api_version: Some("config.openshift.io/v1".to_owned()),
            kind: Some("ClusterOperator".to_owned()),
            name: Some(status::NAME.to_owned()),
            ..v1::ObjectReference::default()
        };
        let turned = |type_: &str| {
            let said = |status: &Status| status.conditions.iter().find(|each| each.type_ == type_).cloned();
            let now = said(after).filter(|now| now.status == "True")?;
            (said(before).is_none_or(|then| then.status != now.status || then.message != now.message)).then_some(now)
        };
        if let Some(Condition { message, .. }) = turned("Degraded") {
            self.hands
                .recorder
                .event(reference.clone(), Kind::Warning, "StatusDegraded", message);
        }
        if let Some(Condition { message, .. }) = status::upgrade(before, after, &self.settings.release) {
            let recorder = &self.hands.recorder;
            recorder.event(reference, Kind::Normal, "StatusUpgrade", message.clone());
        }
    }
}

/// What the operator has made, by its own word.
pub(super) fn inventory(observed: &Observed) -> Vec<Key> {
    let operator = observed.cluster_operator.as_ref().ok().and_then(Option::as_ref);
    operator.map_or_else(Vec::new, |operator| listed(&operator.status))
}

/// Whether there are operands in a list: the two `ConfigMaps` may have been written by another process.
pub(super) fn names_operands(inventory: &[Key]) -> bool {
    inventory.iter().any(|key| key.kind != "ConfigMap")
}

/// What the original names: the operator's namespace, itself, the operands' namespace. In this order, before all else.
fn related(namespace: &str, inventory: &[Key]) -> Vec<ObjectReference> {
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

/// What the operator has made, by its own word: all that it relates to but namespaces. Newer Go operators name themselves
/// first, and then much that comes with a release: that is nobody's word on operands.
pub(super) fn listed(status: &Status) -> Vec<Key> {
    let is_ours = status
        .related_objects
        .first()
        .is_some_and(|first| first.resource == "namespaces");
    let related = status.related_objects.iter().filter(|_| is_ours);
    let keys = related.filter_map(kinds::key);
    keys.filter(|key| key.kind != "Namespace").collect()
}

/// Writes the status, on top of the `ClusterOperator` that was seen; makes one where there is none. What was written comes back.
async fn write(client: &Client, seen: Option<&ClusterOperator>, status: &Status) -> kube::Result<ClusterOperator> {
    let api: Api<ClusterOperator> = Api::all(client.clone());
    let params = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    let mut operator = match seen {
        Some(seen) => seen.clone(),
        None => api.create(&params, &new()).await?,
    };
    // The resource version makes sure that nobody else has written meanwhile. A whole update, because the rights that a
    // release gives to this operator are for that.
    operator.metadata.managed_fields = None;
    operator.status = status.clone();
    api.replace_status(status::NAME, &params, &operator).await
}

fn new() -> ClusterOperator {
    let mut new = ClusterOperator::default();
    new.metadata.name = Some(status::NAME.to_owned());
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inventory_is_what_is_related() {
        let key = |kind: &str, api_version: &str, namespace: Option<&str>| Key {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: "x".to_owned(),
        };
        let keys = [
            key("Deployment", "apps/v1", Some("ns")),
            key("ClusterRole", "rbac.authorization.k8s.io/v1", None),
            key("ConfigMap", "v1", Some("ns")),
        ];
        let related = related("ns", &keys);
        let names: Vec<_> = related[..3]
            .iter()
            .map(|each| format!("{}/{}", each.resource, each.name))
            .collect();
        assert_eq!(
            names,
            [
                "namespaces/openshift-cloud-controller-manager-operator",
                "clusteroperators/cloud-controller-manager",
                "namespaces/ns"
            ]
        );
        let status = Status {
            related_objects: related,
            ..Status::default()
        };
        assert_eq!(listed(&status), keys);
    }
}
