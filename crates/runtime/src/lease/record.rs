//! The record of a Lease.

use super::decision::Step;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The part of a Lease's spec that an election uses. The rest of the object is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// The holder; absent or empty if it is free.
    pub holder_identity: Option<String>,
    /// The maximum time between two renewals.
    pub lease_duration_seconds: Option<i32>,
    /// When it was acquired, by the clock of the holder. Never used in a computation.
    pub acquire_time: Option<String>,
    /// When it was last renewed, by the clock of the holder. Never used in a computation.
    pub renew_time: Option<String>,
    /// The number of changes of the holder.
    pub lease_transitions: Option<i32>,
}

impl Record {
    /// Reads it from a Lease.
    ///
    /// # Errors
    /// If the Lease's fields have other types than Kubernetes gives them.
    pub fn of(lease: &Value) -> serde_json::Result<Self> {
        match lease.get("spec") {
            Some(spec) if !spec.is_null() => Self::deserialize(spec),
            _ => Ok(Self::default()),
        }
    }

    /// The holder; empty if it is free.
    #[must_use]
    pub fn holder(&self) -> &str {
        self.holder_identity.as_deref().unwrap_or_default()
    }

    /// Whether it is free.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.holder().is_empty()
    }

    /// The record that carries out a step; `now` as in [`micro_time`].
    pub(super) fn claim(step: &Step, before: &Self, identity: &str, seconds: i32, now: String) -> Self {
        let transitions = before.lease_transitions.unwrap_or_default();
        let (acquire_time, transitions) = match step {
            Step::Renew => (before.acquire_time.clone(), transitions),
            Step::Take => (None, transitions.saturating_add(1)),
            Step::Create | Step::Wait(_) => (None, 0),
        };
        Self {
            holder_identity: Some(identity.into()),
            lease_duration_seconds: Some(seconds),
            acquire_time: acquire_time.or_else(|| Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(transitions),
        }
    }

    /// The record of a released lease, as client-go writes it.
    pub(super) fn released(&self, now: String) -> Self {
        Self {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: Some(self.lease_transitions.unwrap_or_default()),
        }
    }

    /// The Lease with this record; all other fields are kept.
    pub(super) fn into_lease(self, mut lease: Value) -> serde_json::Result<Value> {
        if !lease["spec"].is_object() {
            lease["spec"] = json!({});
        }
        if let (Some(spec), Value::Object(ours)) = (lease["spec"].as_object_mut(), serde_json::to_value(self)?) {
            spec.extend(ours);
        }
        Ok(lease)
    }
}

/// The current time as a Kubernetes `MicroTime`: always six digits, always UTC.
pub(super) fn micro_time() -> String {
    format!("{:.6}", jiff::Timestamp::now())
}

/// A Lease that does not exist yet.
pub(super) fn new_lease(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "namespace": namespace, "name": name },
    })
}
