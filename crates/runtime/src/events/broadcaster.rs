//! Writes events in the background.

use super::{
    Event, Recorder,
    correlator::{Correlator, Limits, Step},
    metrics::{Metrics, Outcome, count},
};
use crate::client::{explain, is_fenced};
use futures::future::join;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event as Object;
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The maximum number of waiting events; further ones are dropped. Events are written one at a time, so that they do not delay
/// other requests; so in a burst many wait.
const QUEUE: usize = 10_000;
const TRIES: u32 = 12;
const BETWEEN_TRIES: Duration = Duration::from_secs(10);
/// How long a stopping process continues to write waiting events.
const FLUSH: Duration = Duration::from_secs(5);

/// Writes the events of its recorders to the API server. Clones share it.
#[derive(Clone)]
pub struct Broadcaster(Arc<Inner>);

struct Inner {
    client: Client,
    sender: mpsc::Sender<Event>,
    receiver: tokio::sync::Mutex<mpsc::Receiver<Event>>,
    metrics: Option<Metrics>,
    /// The last logged rejection: the same one is not logged again.
    rejection: Mutex<String>,
}

impl Broadcaster {
    /// A broadcaster that writes with this client once it runs; until then its events wait.
    #[must_use]
    pub fn new(client: Client, metrics: Option<Metrics>) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let receiver = tokio::sync::Mutex::new(receiver);
        Self(Arc::new(Inner {
            client,
            sender,
            receiver,
            metrics,
            rejection: Mutex::default(),
        }))
    }

    /// A recorder whose events are from this component.
    #[must_use]
    pub fn recorder(&self, component: &'static str) -> Recorder {
        Recorder::new(component, self.0.sender.clone()).counted_by(self.0.metrics.clone())
    }

    /// Writes events until cancelled, and then the waiting ones for a few seconds. Call it once.
    ///
    /// An event that the API server rejects is dropped; while the API server is unavailable, each is retried for two minutes.
    pub async fn run(&self, cancel: CancellationToken) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let out_of_time = async {
            cancel.cancelled().await;
            tokio::time::sleep(FLUSH).await;
        };
        tokio::select! {
            _ = join(self.0.dispatch(sender, &cancel), self.0.write_all(receiver, &cancel)) => {}
            () = out_of_time => tracing::warn!("stopped before all events were written"),
        }
    }
}

impl Inner {
    /// Decides about events when they are recorded, however slow the writes are.
    async fn dispatch(&self, steps: mpsc::Sender<Step>, cancel: &CancellationToken) {
        let mut events = self.receiver.lock().await;
        let mut correlator = Correlator::new(Limits::default());
        while let Some(event) = next(&mut events, cancel).await {
            log(&event);
            let Some(step) = correlator.correlate(&event, Timestamp::now()) else {
                count(self.metrics.as_ref(), event.component, Outcome::Filtered);
                continue;
            };
            // The receiver ends only after this.
            let _ = steps.send(step).await;
        }
    }

    async fn write_all(&self, mut steps: mpsc::Receiver<Step>, cancel: &CancellationToken) {
        while let Some(step) = steps.recv().await {
            let outcome = self.write(&step, cancel).await;
            let component = step.object().reporting_component.as_deref().unwrap_or_default();
            count(self.metrics.as_ref(), component, outcome);
        }
    }

    /// Retries until the API server responds; after a cancel, tries once.
    async fn write(&self, step: &Step, cancel: &CancellationToken) -> Outcome {
        let mut tries = 0;
        loop {
            let error = match self.write_once(step).await {
                Ok(outcome) => return outcome,
                Err(error) => error,
            };
            if !is_worth_retrying(&error) {
                self.rejected(step, &error);
                return Outcome::Rejected;
            }
            tries += 1;
            if tries >= TRIES || cancel.is_cancelled() {
                tracing::error!(%step, tries, reason = explain(&error), "cannot write event");
                return Outcome::Failed;
            }
            tracing::debug!(%step, tries, reason = explain(&error), "cannot write event; retrying");
            // The first wait is random, so that not all clients retry at the same time.
            let wait = if tries == 1 {
                BETWEEN_TRIES.mul_f64(fastrand::f64())
            } else {
                BETWEEN_TRIES
            };
            tokio::select! {
                () = cancel.cancelled() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    async fn write_once(&self, step: &Step) -> kube::Result<Outcome> {
        let object = step.object();
        let events: Api<Object> = Api::namespaced(self.client.clone(), &object.namespace().unwrap_or_default());
        if let Step::Count(object) = step {
            let Object {
                count,
                message,
                last_timestamp,
                ..
            } = object;
            let patch = serde_json::json!({"count": count, "lastTimestamp": last_timestamp, "message": message});
            match events
                .patch(&object.name_any(), &PatchParams::default(), &Patch::Strategic(patch))
                .await
            {
                Ok(_) => return Ok(Outcome::Counted),
                // Events expire after an hour.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        events
            .create(&PostParams::default(), object)
            .await
            .map(|_| Outcome::Created)
    }

    fn rejected(&self, step: &Step, error: &kube::Error) {
        let reason = explain(error);
        let mut last = self.rejection.lock();
        if is_expected(error) || *last == reason {
            tracing::debug!(%step, reason, "the API server rejected an event");
        } else {
            tracing::warn!(%step, reason, "the API server rejected an event");
            *last = reason;
        }
    }
}

/// The next event; after a cancel, only waiting events.
async fn next(events: &mut mpsc::Receiver<Event>, cancel: &CancellationToken) -> Option<Event> {
    if !cancel.is_cancelled() {
        tokio::select! {
            event = events.recv() => return event,
            () = cancel.cancelled() => {}
        }
    }
    events.close();
    events.recv().await
}

pub(crate) fn log(event: &Event) {
    let Event {
        component,
        regarding,
        kind,
        reason,
        message,
    } = event;
    let (namespace, name) = (
        regarding.namespace.as_deref().unwrap_or_default(),
        regarding.name.as_deref().unwrap_or_default(),
    );
    let object = if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    };
    // client-go's fields in client-go's order; `note` is printed as `message`.
    tracing::info!(
        object,
        fieldPath = regarding.field_path.as_deref().unwrap_or_default(),
        kind = regarding.kind.as_deref().unwrap_or_default(),
        apiVersion = regarding.api_version.as_deref().unwrap_or_default(),
        r#type = kind.as_str(),
        reason,
        note = message,
        component,
        "Event occurred"
    );
}

/// Whether the API server may not have received the request. A response would be the same again.
fn is_worth_retrying(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(_) | kube::Error::BuildRequest(_) => false,
        error => !is_fenced(error),
    }
}

/// Rejections that are expected: the event exists already, or its namespace is being deleted.
fn is_expected(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.is_already_exists() || causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
}

#[cfg(test)]
mod tests;
