//! Tells about managers: in the status of their objects, and in metrics.

use super::{
    names,
    observe::{self, Unreadable},
    pass::Operator,
    status::{self, Found, TYPES},
};
use crate::{Key, monitoring::Truth};
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
    /// Writes the status where it is not what it should be. Says whether it is now.
    pub(super) async fn report(&self, manager: &CloudControllerManager, found: &Found) -> bool {
        let name = manager.name_any();
        let before = manager.status.clone().unwrap_or_default();
        let after = status::next(manager, &before, found, &self.watches.find(&self.deployment(&name)));
        for (condition, truth) in status::gauges(&after, found.state) {
            self.hands.metrics.condition(&name, condition, truth);
        }
        if after == before {
            return true;
        }
        // Lists are replaced as a whole, and what is not there any more is removed.
        let mut status = json!(after);
        for field in ["conditions", "relatedObjects", "claims", "version"] {
            if status.get(field).is_none() {
                status[field] = Value::Null;
            }
        }
        self.write(&name, status).await
    }

    /// Says in the status of an object that it cannot be read, and nothing else. Says whether it is said.
    pub(super) async fn complain(&mut self, unreadable: &Unreadable) -> bool {
        let Unreadable { name, object, why } = unreadable;
        self.hands.metrics.condition(name, "Degraded", Truth::True);
        let care = self.care(name);
        if care.complaint != *why {
            warn!(manager = name, %why, "cannot make sense of a CloudControllerManager; leaving it alone");
            care.complaint.clone_from(why);
        }
        match status::unreadable(object, why) {
            Some(status) => self.write(name, status).await,
            None => true,
        }
    }

    /// Nothing is said about a manager that is not there.
    pub(super) fn fall_silent(&self, name: &str) {
        for condition in TYPES {
            self.hands.metrics.condition(name, condition, Truth::Unknown);
        }
        self.hands.metrics.certificates(name, None);
    }

    /// The Deployment of a manager.
    pub(super) fn deployment(&self, name: &str) -> Key {
        Key::namespaced("apps/v1", "Deployment", &self.namespace, &names::full(name))
    }

    async fn write(&self, name: &str, status: Value) -> bool {
        let resource = match observe::resource().api() {
            Ok(resource) => resource,
            Err(error) => {
                warn!(manager = name, reason = %error, "cannot write the status");
                return false;
            }
        };
        let api: Api<DynamicObject> = Api::all_with(self.hands.client.clone(), &resource);
        let params = PatchParams {
            field_manager: Some(crate::operands::MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(json!({ "status": status }));
        match api.patch_status(name, &params, &patch).await {
            Ok(written) => {
                if let Ok(value) = serde_json::to_value(&written) {
                    self.watches.saw(&observe::key(name), &Arc::new(value));
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
