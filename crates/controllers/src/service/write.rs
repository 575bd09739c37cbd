//! Writes Services: the finalizer, the status, and the cloud's annotations.

mod patch;

pub use crate::api_server::Error;

use super::{
    spec::predicates::{self, FINALIZER},
    status::{
        self,
        conditions::{self, Readiness},
    },
};
use crate::api_server;
use cloud::Status;
use k8s_openapi::{api::core::v1::Service, jiff::Timestamp};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// Annotations to set or (`None`) to remove.
pub type Annotations = BTreeMap<String, Option<String>>;

/// Writes Services.
#[derive(Clone)]
pub struct Writer {
    client: Client,
}

impl Writer {
    /// Writes with this client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Patches the differences between `old` and `new`; `None` if there are none.
    ///
    /// # Errors
    /// [`Error::NotFound`] also if another Service has the name now.
    pub async fn write(&self, old: &Service, new: &Service) -> Result<Option<Arc<Service>>, Error> {
        let Some(mut patch) = patch::between(old, new) else {
            return Ok(None);
        };
        // With the UID, the API server refuses to patch another Service of the same name.
        patch["metadata"]["uid"] = json!(old.metadata.uid);
        let mut written = self.send(old, patch).await?;
        super::trim(&mut written);
        Ok(Some(Arc::new(written)))
    }

    async fn send(&self, service: &Service, patch: Value) -> Result<Service, Error> {
        let api: Api<Service> = Api::namespaced(self.client.clone(), &service.namespace().unwrap_or_default());
        let (name, params, patch) = (service.name_any(), PatchParams::default(), Patch::Strategic(patch));
        let written = api_server::call(api.patch_status(&name, &params, &patch)).await;
        written.map_err(|error| not_found_if_replaced(error, service))
    }
}

/// The Service with the finalizer, if it lacks it.
#[must_use]
pub fn with_finalizer(service: &Service) -> Option<Service> {
    if predicates::has_finalizer(service) {
        return None;
    }
    let mut new = service.clone();
    new.metadata
        .finalizers
        .get_or_insert_default()
        .push(FINALIZER.to_owned());
    Some(new)
}

/// The Service without the finalizer, if it has it.
#[must_use]
pub fn without_finalizer(service: &Service) -> Option<Service> {
    if !predicates::has_finalizer(service) {
        return None;
    }
    let mut new = service.clone();
    new.metadata
        .finalizers
        .get_or_insert_default()
        .retain(|finalizer| finalizer != FINALIZER);
    Some(new)
}

/// The Service with these annotations set or removed, if that changes anything.
#[must_use]
pub fn with_annotations(service: &Service, annotations: &Annotations) -> Option<Service> {
    let current = |key: &String| service.metadata.annotations.as_ref().and_then(|all| all.get(key));
    if annotations.iter().all(|(key, value)| current(key) == value.as_ref()) {
        return None;
    }
    let mut new = service.clone();
    let all = new.metadata.annotations.get_or_insert_default();
    for (key, value) in annotations {
        match value {
            Some(value) => all.insert(key.clone(), value.clone()),
            None => all.remove(key),
        };
    }
    Some(new)
}

/// The Service with this status and condition, if one of them is worth a write.
#[must_use]
pub fn with_status(service: &Service, status: &Status, readiness: &Readiness, now: Timestamp) -> Option<Service> {
    if status::same(&status::of(service), status) && !conditions::worth_writing(service, readiness) {
        return None;
    }
    let mut new = service.clone();
    let wire = new.status.get_or_insert_default();
    if !status::same(&status::of(service), status) {
        wire.load_balancer = Some(status::wire(status));
    }
    wire.conditions = Some(conditions::with(service, Some(readiness), now));
    Some(new)
}

/// The Service without the status and condition of a load balancer, if it has them.
#[must_use]
pub fn without_status(service: &Service, now: Timestamp) -> Option<Service> {
    if status::of(service).ingress.is_empty() && conditions::find(service).is_none() {
        return None;
    }
    let mut new = service.clone();
    let wire = new.status.get_or_insert_default();
    wire.load_balancer = None;
    wire.conditions = Some(conditions::with(service, None, now));
    Some(new)
}

/// A conflict about the UID means that another Service has the name now.
fn not_found_if_replaced(error: Error, service: &Service) -> Error {
    let uid = service.metadata.uid.as_deref().unwrap_or_default();
    match error {
        Error::Conflict(message) if !uid.is_empty() && message.contains(uid) => Error::NotFound,
        other => other,
    }
}

#[cfg(test)]
mod tests;
