//! Reports why a Node is not initialized: by an event, and by a condition.

use super::{COMPONENT, Error};
use crate::{
    api_server,
    nodes::{self, conditions, patch},
};
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Node, NodeCondition},
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::Api;
use runtime::{
    events::{Kind, Recorder},
    queue::Next,
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;
use tracing::{debug, warn};

/// A failure with the same reason is reported again after this time; its message is not compared.
const REPEAT: Duration = Duration::from_mins(5);

/// Reports failures that last, once instead of at every attempt.
pub(super) struct Reporter {
    recorder: Recorder,
    api: Api<Node>,
    patience: Duration,
    /// By UID.
    failures: Mutex<HashMap<String, Failure>>,
}

#[derive(Debug)]
struct Failure {
    since: Instant,
    reported: Option<(&'static str, Instant)>,
}

impl Failure {
    fn new(now: Instant) -> Self {
        Self {
            since: now,
            reported: None,
        }
    }

    /// Whether to report the failure now: only if it has lasted, or will last until the next attempt after `wait`, and
    /// not again for the same reason.
    fn should_report(&mut self, reason: &'static str, wait: Duration, patience: Duration, now: Instant) -> bool {
        let lasts = now.saturating_duration_since(self.since) + wait >= patience;
        let reported = self
            .reported
            .is_some_and(|(last, at)| last == reason && now.saturating_duration_since(at) < REPEAT);
        if lasts && !reported {
            self.reported = Some((reason, now));
        }
        lasts && !reported
    }
}

impl Reporter {
    pub(super) fn new(recorder: Recorder, client: kube::Client, patience: Duration) -> Self {
        Self {
            recorder,
            api: Api::all(client),
            patience,
            failures: Mutex::default(),
        }
    }

    /// The Node is initialized, or does not exist any more.
    pub(super) fn resolved(&self, node: &Node) {
        self.failures().remove(nodes::uid(node));
    }

    /// The cloud does not describe the instance yet.
    pub(super) fn waiting(&self, node: &Node) {
        if self.should_report(node, "WaitingForCloud", Duration::ZERO) {
            let message = "The cloud does not describe this machine yet";
            self.recorder
                .event(nodes::reference(node), Kind::Normal, "WaitingForCloud", message);
        }
    }

    /// The Node cannot be initialized.
    pub(super) async fn failed(&self, node: &Node, error: &Error) {
        let wait = match error.next() {
            Next::After(wait) | Next::Poll(wait) => wait,
            Next::Retry | Next::Done => Duration::ZERO,
        };
        let name = nodes::name(node);
        debug!(node = name, %error, "cannot initialize node");
        if !self.should_report(node, error.reason(), wait) {
            return;
        }
        warn!(node = name, %error, "cannot initialize node; retrying");
        let message = format!("Cannot initialize node: {error}");
        self.recorder
            .event(nodes::reference(node), Kind::Warning, "FailedToInitialize", &*message);
        if let Some(condition) = condition(node, error.reason(), &message, Timestamp::now()) {
            let patch = patch::Status::of(node).condition(&condition).build();
            let params = api_server::patch_params(COMPONENT);
            if let Err(error) = api_server::call(self.api.patch_status(name, &params, &patch)).await {
                debug!(node = name, error = error.report(), "cannot write the condition");
            }
        }
    }

    fn should_report(&self, node: &Node, reason: &'static str, wait: Duration) -> bool {
        let now = Instant::now();
        let mut failures = self.failures();
        let failure = failures
            .entry(nodes::uid(node).to_owned())
            .or_insert_with(|| Failure::new(now));
        failure.should_report(reason, wait, self.patience, now)
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<String, Failure>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The condition to write; `None` if the Node has it already.
fn condition(node: &Node, reason: &str, message: &str, now: Timestamp) -> Option<NodeCondition> {
    let current = conditions::find(node, conditions::CLOUD_PROVIDER_INITIALIZED);
    let same = current.is_some_and(|it| it.reason.as_deref() == Some(reason) && it.message.as_deref() == Some(message));
    (!same).then(|| NodeCondition {
        type_: conditions::CLOUD_PROVIDER_INITIALIZED.to_owned(),
        status: "False".to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_heartbeat_time: Some(Time(now)),
        last_transition_time: current
            .and_then(|it| it.last_transition_time.clone())
            .or(Some(Time(now))),
    })
}

#[cfg(test)]
mod tests;
