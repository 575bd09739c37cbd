//! Reports on managers, in the status of their objects and in metrics.

use super::{
    names,
    observe::{self, Unreadable},
    operator::Operator,
    status::{self, Found, TYPES},
};
use crate::monitoring::Truth;
use jiff::Timestamp;
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, Patch, PatchParams},
};
use operator_api::CloudControllerManager;
use runtime::client::explain;
use serde_json::{Value, json};
use std::sync::Arc;
use tracing::warn;

impl Operator {
    /// Writes the status if it differs. Returns whether it is up to date.
    pub(super) async fn report(&self, manager: &CloudControllerManager, found: &Found) -> bool {
        let name = manager.name_any();
        let before = manager.status.clone().unwrap_or_default();
        let deployment = names::deployment(&name, &self.settings.namespace);
        let after = status::next(manager, &before, found, &self.cache.find(&deployment), Timestamp::now());
        for (condition, truth) in status::gauges(&after, found.state) {
            self.clients.metrics.condition(&name, condition, truth);
        }
        if after == before {
            return true;
        }
        // Lists are replaced as a whole, so items that do not exist any more are removed.
        let mut status = json!(after);
        for field in ["conditions", "message", "relatedObjects", "claims", "version"] {
            if status.get(field).is_none() {
                status[field] = Value::Null;
            }
        }
        self.write(&name, status).await
    }

    /// Reports in the status of an object that it is not valid, and changes nothing else. Returns whether it is written.
    pub(super) async fn report_invalid(&mut self, unreadable: &Unreadable) -> bool {
        let Unreadable { name, object, why } = unreadable;
        self.clients.metrics.condition(name, "Degraded", Truth::True);
        let state = self.state_of(name);
        if state.invalid != *why {
            warn!(manager = name, %why, "a CloudControllerManager is not valid; it is ignored");
            state.invalid.clone_from(why);
        }
        match status::unreadable(object, why, Timestamp::now()) {
            Some(status) => self.write(name, status).await,
            None => true,
        }
    }

    /// Removes the metrics of a manager that does not exist any more.
    pub(super) fn remove_metrics(&self, name: &str) {
        for condition in TYPES {
            self.clients.metrics.condition(name, condition, Truth::Unknown);
        }
        self.clients.metrics.certificates(name, None);
    }

    async fn write(&self, name: &str, status: Value) -> bool {
        let resource = match observe::resource().api() {
            Ok(resource) => resource,
            Err(error) => {
                warn!(manager = name, reason = %error, "cannot write the status");
                return false;
            }
        };
        let api: Api<DynamicObject> = Api::all_with(self.clients.write.clone(), &resource);
        let params = PatchParams {
            field_manager: Some(crate::operands::MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(json!({ "status": status }));
        match api.patch_status(name, &params, &patch).await {
            Ok(written) => {
                if let Ok(value) = serde_json::to_value(&written) {
                    self.cache.saw(&observe::key(name), &Arc::new(value));
                }
                true
            }
            Err(kube::Error::Api(status)) if status.code == 404 => true,
            Err(error) => {
                warn!(manager = name, reason = %explain(&error), "cannot write the status");
                false
            }
        }
    }
}
