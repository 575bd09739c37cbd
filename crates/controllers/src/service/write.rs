//! Writes to the API server: the finalizer, the status, what the cloud wants to be noted.

use super::{
    conditions::{self, Say},
    patch,
    predicates::{self, FINALIZER},
    status,
};
use crate::nodes::api;
use cloud::Status;
use k8s_openapi::{api::core::v1::Service, jiff::Timestamp};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
};
use runtime::{client::is_fenced, fence::Fenced};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// Why a Service could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there any more, or another one has taken its name.
    #[error("the Service is gone")]
    Gone,
    /// This process may not write any more.
    #[error(transparent)]
    Fenced(Fenced),
    /// The API server said no, for this reason.
    #[error("{message}")]
    Refused {
        /// What it said.
        message: String,
        /// When it wants to be asked again, if it said so.
        retry_after: Option<Duration>,
    },
    /// There was no answer.
    #[error("the API server gave no answer")]
    Unanswered(#[source] cloud::Source),
}

/// Annotations to be set, or (`None`) removed.
pub type Annotations = BTreeMap<String, Option<String>>;

/// Writes Services.
#[derive(Clone)]
pub struct Writer {
    client: Client,
}

impl Writer {
    /// Writes by this client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Makes the API server's Service differ as `new` differs from `old`; `None` if there is nothing to write.
    ///
    /// # Errors
    /// If it could not be written.
    pub async fn write(&self, old: &Service, new: &Service) -> Result<Option<Arc<Service>>, Error> {
        let Some(mut patch) = patch::between(old, new) else {
            return Ok(None);
        };
        // Another Service that took the name since must not get what was meant for this one.
        patch["metadata"]["uid"] = json!(old.metadata.uid);
        let mut written = self.send(old, patch).await?;
        super::trim(&mut written);
        Ok(Some(Arc::new(written)))
    }

    async fn send(&self, service: &Service, patch: Value) -> Result<Service, Error> {
        let api: Api<Service> = Api::namespaced(self.client.clone(), &service.namespace().unwrap_or_default());
        let (name, params, patch) = (service.name_any(), PatchParams::default(), Patch::Strategic(patch));
        let answer = api.patch_status(&name, &params, &patch);
        match tokio::time::timeout(api::DEADLINE, answer).await {
            Ok(answer) => answer.map_err(|error| refusal(error, service)),
            Err(elapsed) => Err(Error::Unanswered(elapsed.into())),
        }
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

/// The Service with this status and condition, if that deserves a write.
#[must_use]
pub fn with_status(service: &Service, status: &Status, say: &Say, now: Timestamp) -> Option<Service> {
    if status::same(&status::of(service), status) && !conditions::worth_writing(service, say) {
        return None;
    }
    let mut new = service.clone();
    let wire = new.status.get_or_insert_default();
    if !status::same(&status::of(service), status) {
        wire.load_balancer = Some(status::wire(status));
    }
    wire.conditions = Some(conditions::with(service, Some(say), now));
    Some(new)
}

/// The Service as one without a load balancer, if it has anything of one.
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

fn refusal(error: kube::Error, service: &Service) -> Error {
    match error {
        error if is_fenced(&error) => Error::Fenced(Fenced),
        kube::Error::Api(status) if status.is_not_found() => Error::Gone,
        kube::Error::Api(status) if is_another(&status, service) => Error::Gone,
        kube::Error::Api(status) => {
            let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
            let retry_after = (seconds > 0).then(|| Duration::from_secs(seconds.into()));
            Error::Refused {
                message: status.message,
                retry_after,
            }
        }
        other => Error::Unanswered(other.into()),
    }
}

/// Whether the API server refused because of the UID.
fn is_another(status: &kube::core::Status, service: &Service) -> bool {
    let uid = service.metadata.uid.as_deref().unwrap_or_default();
    (status.is_conflict() || status.is_invalid()) && !uid.is_empty() && status.message.contains(uid)
}

#[cfg(test)]
mod tests;
