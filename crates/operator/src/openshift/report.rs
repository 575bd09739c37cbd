//! Reports in the `ClusterOperator` and in events.

use super::{inventory::related, observe::cluster_operator, observed::Observed, operator::Operator, state::PassState};
use crate::{Key, monitoring::Truth, operands::MANAGER, status};
use k8s_openapi::{api::core::v1, jiff::Timestamp};
use kube::{Api, Client, api::PostParams};
use operator_api::{
    ClusterOperator,
    cluster_operator::{Condition, Status},
};
use runtime::{client::explain, events::Kind};
use std::sync::Arc;
use tracing::warn;

impl Operator {
    /// Writes the status if it differs. Returns whether it is up to date.
    pub(super) async fn report(&mut self, observed: &mut Observed, inventory: &[Key], state: &PassState) -> bool {
        let operator = match &observed.cluster_operator {
            Ok(operator) => operator.as_ref(),
            Err(reason) => {
                warn!(%reason, "cannot report");
                return false;
            }
        };
        let before = operator.map(|operator| operator.status.clone()).unwrap_or_default();
        let settings = &self.settings;
        let lists_objects = settings.duties.has_operands() || before.related_objects.is_empty();
        let summary = status::Summary {
            cloud_config: state.cloud_config.clone(),
            trusted_ca: state.trusted_ca.clone(),
            operands: state.operands.clone(),
            remarks: state.remarks.clone(),
            obstacles: state.obstacles.clone(),
            related: if lists_objects {
                related(&settings.namespace, inventory)
            } else {
                Vec::new()
            },
            release: settings.release.clone(),
        };
        let after = status::next(&before, &summary, Timestamp::now());
        for condition in &after.conditions {
            let truth = Truth::of(&condition.status);
            self.clients.metrics.condition(status::NAME, &condition.type_, truth);
        }
        if operator.is_some() && after == before {
            return true;
        }
        match write(&self.clients.write, operator, &after).await {
            Ok(written) => {
                self.emit_changes(&before, &after);
                if let Ok(value) = serde_json::to_value(&written) {
                    self.cache.saw(&cluster_operator(), &Arc::new(value));
                }
                observed.cluster_operator = Ok(Some(written));
                true
            }
            Err(error) => {
                warn!(reason = %explain(&error), "cannot write the status of the ClusterOperator");
                false
            }
        }
    }

    /// Events about conditions that became worse, and about an upgrade that began.
    fn emit_changes(&self, before: &Status, after: &Status) {
        let reference = v1::ObjectReference {
            api_version: Some("config.openshift.io/v1".to_owned()),
            kind: Some("ClusterOperator".to_owned()),
            name: Some(status::NAME.to_owned()),
            ..v1::ObjectReference::default()
        };
        let condition = |status: &Status| status.conditions.iter().find(|each| each.type_ == "Degraded").cloned();
        let degraded = condition(after).filter(|now| {
            let changed = |then: Condition| then.status != now.status || then.message != now.message;
            now.status == "True" && condition(before).is_none_or(changed)
        });
        let recorder = &self.clients.recorder;
        if let Some(Condition { message, .. }) = degraded {
            recorder.event(reference.clone(), Kind::Warning, "StatusDegraded", message);
        }
        if let Some(Condition { message, .. }) = status::upgrade(before, after, &self.settings.release) {
            recorder.event(reference, Kind::Normal, "StatusUpgrade", message.clone());
        }
    }
}

/// Writes the status of the `ClusterOperator` that was read, or creates one. Returns it as it was written.
async fn write(client: &Client, seen: Option<&ClusterOperator>, status: &Status) -> kube::Result<ClusterOperator> {
    let api: Api<ClusterOperator> = Api::all(client.clone());
    let params = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    let mut operator = if let Some(seen) = seen {
        seen.clone()
    } else {
        let mut new = ClusterOperator::default();
        new.metadata.name = Some(status::NAME.to_owned());
        api.create(&params, &new).await?
    };
    // An update of the whole object, because the permissions of a release allow only that. The resource version causes a conflict if another
    // process has written it meanwhile.
    operator.metadata.managed_fields = None;
    operator.status = status.clone();
    api.replace_status(status::NAME, &params, &operator).await
}
