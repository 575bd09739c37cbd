//! The requests to the API server: one function per endpoint.

use super::{
    kinds::{self, Rank},
    owners::MANAGER,
    report::{Class, Failure, Operation, is_unserved},
};
use crate::Key;
use kube::{
    Client,
    api::{DeleteParams, GetParams, Patch, PatchParams, Preconditions, PropagationPolicy, ValidationDirective},
    core::Request,
};
use serde_json::{Value, json};
use std::time::Duration;

/// The deadline of one request.
const DEADLINE: Duration = Duration::from_secs(30);

/// Whether a request is a dry run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Real,
    DryRun,
}

/// Sends requests about one object, for one operation.
pub(super) struct Call<'a> {
    client: &'a Client,
    key: &'a Key,
    operation: Operation,
}

type HttpRequest = Result<http::Request<Vec<u8>>, kube::core::request::Error>;

impl<'a> Call<'a> {
    pub(super) fn new(client: &'a Client, key: &'a Key, operation: Operation) -> Self {
        Self { client, key, operation }
    }

    /// Whether the object is a workload.
    pub(super) fn runs_pods(&self) -> bool {
        kinds::get(self.key).is_ok_and(|kind| kind.rank == Rank::Workload)
    }

    /// The object, if it exists.
    pub(super) async fn find(&self) -> Result<Option<Value>, Failure> {
        let request = self.endpoint()?.get(&self.key.name, &GetParams::default());
        match self.send(request).await? {
            Ok(live) => Ok(Some(live)),
            Err(kube::Error::Api(status)) if status.code == 404 && !is_unserved(&status) => Ok(None),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// Server-side apply: creates the object if it does not exist.
    pub(super) async fn apply(&self, wanted: &Value, mode: Mode) -> Result<Value, Failure> {
        let name = wanted["metadata"]["name"].as_str().unwrap_or(&self.key.name);
        let params = PatchParams {
            field_validation: Some(ValidationDirective::Strict),
            ..PatchParams::apply(MANAGER).force()
        };
        let (params, patch) = (with_mode(params, mode), Patch::Apply(wanted));
        match self.send(self.endpoint()?.patch(name, &params, &patch)).await? {
            // Ownership is forced, so this can only be a concurrent write.
            Err(kube::Error::Api(status)) if status.code == 409 => self.patch(name, &params, &patch).await,
            answer => answer.map_err(|error| self.failure(&error)),
        }
    }

    /// Changes the owners of fields, provided that the object is still the one that was read.
    pub(super) async fn take_over(&self, version: &Value, managed_fields: &Value) -> Result<Value, Failure> {
        let patch = json!([
            // A resource version that is out of date causes a conflict.
            { "op": "replace", "path": "/metadata/resourceVersion", "value": version },
            { "op": "replace", "path": "/metadata/managedFields", "value": managed_fields },
        ]);
        let patch = serde_json::from_value(patch).map_err(|error| self.refused(error.to_string()))?;
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.patch(&self.key.name, &params, &Patch::<()>::Json(patch)).await
    }

    /// The object as it would be with these changes.
    pub(super) async fn try_merge(&self, changes: &Value) -> Result<Value, Failure> {
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.patch(&self.key.name, &with_mode(params, Mode::DryRun), &Patch::Merge(changes))
            .await
    }

    /// Deletes the object that was read, if it still exists. `false` if it does not.
    pub(super) async fn delete(
        &self,
        preconditions: Preconditions,
        policy: PropagationPolicy,
    ) -> Result<bool, Failure> {
        let params = DeleteParams {
            preconditions: Some(preconditions),
            propagation_policy: Some(policy),
            ..DeleteParams::default()
        };
        match self.send(self.endpoint()?.delete(&self.key.name, &params)).await? {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(self.failure(&error)),
        }
    }

    async fn patch<P: serde::Serialize + std::fmt::Debug>(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<Value, Failure> {
        let request = self.endpoint()?.patch(name, params, patch);
        self.send(request).await?.map_err(|error| self.failure(&error))
    }

    fn endpoint(&self) -> Result<Request, Failure> {
        let collection = kinds::get(self.key).and_then(|kind| kind.collection(self.key.namespace.as_deref()));
        let collection = collection.map_err(|error| Failure::unknown(self.key, self.operation, &error))?;
        Ok(Request::new(collection))
    }

    async fn send(&self, request: HttpRequest) -> Result<kube::Result<Value>, Failure> {
        let request = request.map_err(|error| self.refused(error.to_string()))?;
        let answer = tokio::time::timeout(DEADLINE, self.client.request(request)).await;
        answer.map_err(|_| {
            let reason = format!("the API server did not answer within {} s", DEADLINE.as_secs());
            self.fail(Class::Transient, reason)
        })
    }

    /// A failure of this call with a message of our own.
    pub(super) fn fail(&self, class: Class, reason: String) -> Failure {
        Failure::new(self.key, self.operation, class, reason)
    }

    fn refused(&self, reason: String) -> Failure {
        self.fail(Class::Refused, reason)
    }

    fn failure(&self, error: &kube::Error) -> Failure {
        Failure::of(self.key, self.operation, error)
    }
}

fn with_mode(mut params: PatchParams, mode: Mode) -> PatchParams {
    params.dry_run = mode == Mode::DryRun;
    params
}
