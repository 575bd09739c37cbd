//! Saying why a Node stays as it is: an event, and a condition for those who come later.

use super::{COMPONENT, stuck::Stuck};
use crate::nodes::{self, api, conditions, patch};
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

/// The same trouble is told again after this long; a text that changes every time counts as the same.
const REPEAT: Duration = Duration::from_mins(5);

/// Knows which Nodes are in trouble, and tells those who have to know; once, not at every attempt.
pub(super) struct Diagnosis {
    recorder: Recorder,
    api: Api<Node>,
    patience: Duration,
    /// By UID.
    troubles: Mutex<HashMap<String, Trouble>>,
}

#[derive(Debug)]
struct Trouble {
    since: Instant,
    told: Option<(&'static str, Instant)>,
}

impl Trouble {
    fn new(now: Instant) -> Self {
        Self { since: now, told: None }
    }

    /// Whether to tell now: not before it has lasted, or is going to last, and not again for the same reason.
    fn tell(&mut self, reason: &'static str, wait: Duration, patience: Duration, now: Instant) -> bool {
        let lasts = now.saturating_duration_since(self.since) + wait >= patience;
        let told = self
            .told
            .is_some_and(|(said, at)| said == reason && now.saturating_duration_since(at) < REPEAT);
        if lasts && !told {
            self.told = Some((reason, now));
        }
        lasts && !told
    }
}

impl Diagnosis {
    pub(super) fn new(recorder: Recorder, client: kube::Client, patience: Duration) -> Self {
        Self {
            recorder,
            api: Api::all(client),
            patience,
            troubles: Mutex::default(),
        }
    }

    /// The Node is well, or gone.
    pub(super) fn over(&self, node: &Node) {
        self.troubles().remove(nodes::uid(node));
    }

    /// The cloud asked to be asked later: no trouble, but somebody may wonder.
    pub(super) fn waiting(&self, node: &Node) {
        if self.tell(node, "WaitingForCloud", Duration::ZERO) {
            let message = "The cloud asks to be asked about this machine again later";
            self.recorder
                .event(nodes::reference(node), Kind::Normal, "WaitingForCloud", message);
        }
    }

    /// The Node cannot be initialised.
    pub(super) async fn stuck(&self, node: &Node, stuck: &Stuck) {
        let wait = match stuck.next() {
            Next::After(wait) | Next::Poll(wait) => wait,
            Next::Retry | Next::Done => Duration::ZERO,
        };
        let name = nodes::name(node);
        debug!(node = name, reason = %stuck, "cannot initialize node");
        if !self.tell(node, stuck.reason(), wait) {
            return;
        }
        warn!(node = name, reason = %stuck, "cannot initialize node; going on trying");
        let message = format!("Cannot initialize node: {stuck}");
        self.recorder
            .event(nodes::reference(node), Kind::Warning, "FailedToInitialize", &*message);
        if let Some(condition) = condition(node, stuck.reason(), &message, Timestamp::now()) {
            let patch = patch::Status::of(node).condition(&condition).build();
            if let Err(error) = api::call(self.api.patch_status(name, &api::params(COMPONENT), &patch)).await {
                debug!(node = name, %error, "cannot write a condition");
            }
        }
    }

    fn tell(&self, node: &Node, reason: &'static str, wait: Duration) -> bool {
        let now = Instant::now();
        let mut troubles = self.troubles();
        let trouble = troubles
            .entry(nodes::uid(node).to_owned())
            .or_insert_with(|| Trouble::new(now));
        trouble.tell(reason, wait, self.patience, now)
    }

    fn troubles(&self) -> MutexGuard<'_, HashMap<String, Trouble>> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The condition to write; `None` if the Node says so already.
fn condition(node: &Node, reason: &str, message: &str, now: Timestamp) -> Option<NodeCondition> {
    let there = conditions::find(node, conditions::CLOUD_PROVIDER_INITIALIZED);
    let same = there.is_some_and(|it| it.reason.as_deref() == Some(reason) && it.message.as_deref() == Some(message));
    (!same).then(|| NodeCondition {
        type_: conditions::CLOUD_PROVIDER_INITIALIZED.to_owned(),
        status: "False".to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_heartbeat_time: Some(Time(now)),
        last_transition_time: there.and_then(|it| it.last_transition_time.clone()).or(Some(Time(now))),
    })
}

#[cfg(test)]
mod tests;
