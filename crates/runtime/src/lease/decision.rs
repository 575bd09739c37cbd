//! What to do about a lease, decided from what was observed of it and when. Pure.
//!
//! Times in the record are from the clock of the holder and are not used. What counts is how long *this* replica, by its own
//! monotonic clock, has observed the record unchanged: the last renewal cannot be more recent than that.

use super::record::Record;
use std::time::Duration;
use tokio::time::Instant;

/// What to do about a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It does not exist: create it.
    Create,
    /// It is free, or it has expired: acquire it.
    Take,
    /// This replica holds it: renew it.
    Renew,
    /// Another replica holds it, at least until then.
    Wait(Instant),
}

/// What this replica has observed of a lease.
#[derive(Debug, Clone)]
pub struct View {
    identity: String,
    /// For a record without a lease duration.
    lease_duration: Duration,
    last: Option<Observation>,
}

#[derive(Debug, Clone)]
struct Observation {
    record: Record,
    /// When this content was first observed.
    since: Instant,
}

impl View {
    /// Nothing observed yet.
    #[must_use]
    pub fn new(identity: &str, lease_duration: Duration) -> Self {
        Self {
            identity: identity.into(),
            lease_duration,
            last: None,
        }
    }

    /// Records an observation. `now` is after the response arrived, so that it is not before the renewal.
    pub fn observe(&mut self, record: &Record, now: Instant) {
        if self.last.as_ref().is_none_or(|last| last.record != *record) {
            self.last = Some(Observation {
                record: record.clone(),
                since: now,
            });
        }
    }

    /// The last observed holder; empty if it was free or not observed.
    #[must_use]
    pub fn holder(&self) -> &str {
        self.last.as_ref().map(|last| last.record.holder()).unwrap_or_default()
    }

    /// Until when another replica may lead.
    #[must_use]
    pub fn expiry(&self) -> Option<Instant> {
        let last = self.last.as_ref()?;
        if last.record.is_free() || last.record.holder() == self.identity {
            return None;
        }
        let seconds = last
            .record
            .lease_duration_seconds
            .and_then(|seconds| u64::try_from(seconds).ok());
        let duration = seconds.map_or(self.lease_duration, Duration::from_secs);
        last.since.checked_add(duration)
    }

    /// What to do about the lease with this record; `None` if it does not exist.
    ///
    /// A lease that was deleted while it was held is recreated only when it would have expired: the holder does not know yet.
    #[must_use]
    pub fn decide(&mut self, found: Option<&Record>, now: Instant) -> Step {
        if let Some(record) = found {
            self.observe(record, now);
        }
        match (self.expiry(), found) {
            (Some(expiry), _) if now < expiry => Step::Wait(expiry),
            (_, None) => Step::Create,
            (_, Some(record)) if record.holder() == self.identity => Step::Renew,
            (_, Some(_)) => Step::Take,
        }
    }
}
