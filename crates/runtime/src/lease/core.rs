//! What candidates and leaders share: one read of the lease, and one write if it is due.

use super::{
    decision::{Step, View},
    metrics::LeaseMetrics,
    params::Params,
    record::{Record, micro_time},
    status::Status,
    store::{Error, Freshness, Limit, Store},
};
use crate::{
    events::{Kind, Recorder},
    fence::Fence,
};
use k8s_openapi::api::core::v1::ObjectReference;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// How often a write is retried at once after a conflict.
const TRIES: usize = 5;

/// The maximum time of a release: the process must not hang, and the lease expires anyway.
const RELEASE: Duration = Duration::from_secs(5);

/// The shared state of one election.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) store: Store,
    pub(super) params: Params,
    pub(super) fence: Fence,
    pub(super) metrics: LeaseMetrics,
    pub(super) recorder: Option<Recorder>,
    pub(super) status: Status,
}

/// The lease while this replica holds it.
#[derive(Debug)]
pub(super) struct Held {
    /// The object as this replica wrote it.
    lease: Value,
    record: Record,
    /// When the last acquisition or renewal began.
    pub(super) since: Instant,
    /// Until when the lease is certainly held.
    pub(super) until: Instant,
}

/// The result of an attempt.
#[derive(Debug)]
pub(super) enum Attempt {
    Acquired(Held),
    HeldByOther,
}

impl Core {
    /// Reads the lease, and acquires or renews it if that is due.
    pub(super) async fn attempt(&self, view: &mut View, limit: Limit) -> Result<Attempt, Error> {
        for _ in 0..TRIES {
            let found = self.store.find(Freshness::Latest, limit).await?;
            let record = found.as_ref().map(Record::of).transpose().map_err(unreadable)?;
            let step = view.decide(record.as_ref(), Instant::now());
            self.status.observed_leader(view.holder());
            match step {
                Step::Wait(_) => return Ok(Attempt::HeldByOther),
                Step::Renew => self.metrics.slow_path(),
                Step::Create | Step::Take => {}
            }
            match self.write(&step, found, record.unwrap_or_default(), limit).await {
                Ok(held) => {
                    view.observe(&held.record, Instant::now());
                    self.status.observed_leader(view.holder());
                    return Ok(Attempt::Acquired(held));
                }
                Err(Error::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Conflict)
    }

    /// Renews it without reading it first: there is nearly never another writer.
    pub(super) async fn renew(&self, held: &Held) -> Result<Held, Error> {
        let limit = Limit::Until(held.until);
        self.write(&Step::Renew, Some(held.lease.clone()), held.record.clone(), limit)
            .await
    }

    /// Releases it, so that other replicas need not wait. Returns the free lease; `None` if it was not held any more.
    pub(super) async fn release(&self, held: Held) -> Result<Option<Value>, Error> {
        let limit = Limit::Until(held.until.min(Instant::now() + RELEASE));
        let (mut lease, mut record) = (held.lease, held.record);
        for _ in 0..TRIES {
            let error = match self.write_free(lease, &record, limit).await {
                Ok(lease) => {
                    self.status.observed_leader("");
                    return Ok(Some(lease));
                }
                Err(error) => error,
            };
            tracing::debug!(lease = %self.params, %error, "could not release the lease; reading it again");
            let Some(found) = self.store.find(Freshness::Latest, limit).await? else {
                return Ok(None);
            };
            record = Record::of(&found).map_err(unreadable)?;
            if record.holder() != self.params.identity {
                return Ok(None);
            }
            lease = found;
        }
        Err(Error::Conflict)
    }

    /// Records an event about the lease.
    pub(super) fn announce(&self, lease: &Value, what: &str) {
        let Some(recorder) = &self.recorder else { return };
        let text = |pointer| lease.pointer(pointer).and_then(Value::as_str).map(String::from);
        let regarding = ObjectReference {
            api_version: Some("coordination.k8s.io/v1".into()),
            kind: Some("Lease".into()),
            namespace: Some(self.params.namespace.clone()),
            name: Some(self.params.name.clone()),
            uid: text("/metadata/uid"),
            resource_version: text("/metadata/resourceVersion"),
            field_path: None,
        };
        recorder.event(
            regarding,
            Kind::Normal,
            "LeaderElection",
            format!("{} {what}", self.params.identity),
        );
    }

    async fn write(&self, step: &Step, lease: Option<Value>, before: Record, limit: Limit) -> Result<Held, Error> {
        let record = Record::claim(
            step,
            &before,
            &self.params.identity,
            self.params.seconds(),
            micro_time(),
        );
        let lease = record
            .into_lease(lease.unwrap_or_else(|| self.store.blank()))
            .map_err(unreadable)?;
        let since = Instant::now();
        let until = since + self.params.renew_deadline;
        let lease = match step {
            Step::Create => self.store.create(&lease, limit).await?,
            _ => self.store.update(&lease, limit).await?,
        };
        if Instant::now() >= until {
            return Err(Error::TooLate);
        }
        let record = Record::of(&lease).map_err(unreadable)?;
        Ok(Held {
            lease,
            record,
            since,
            until,
        })
    }

    async fn write_free(&self, lease: Value, record: &Record, limit: Limit) -> Result<Value, Error> {
        let lease = record.released(micro_time()).into_lease(lease).map_err(unreadable)?;
        self.store.update(&lease, limit).await
    }
}

impl Held {
    pub(super) fn lease(&self) -> &Value {
        &self.lease
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is the argument of map_err")]
fn unreadable(error: serde_json::Error) -> Error {
    Error::Failed(format!("the lease cannot be read: {error}"))
}
