//! What to do about a lease, decided from what was seen of it and when. Pure.
//!
//! Times in the record are the holder's and are not believed. What counts is how long *this* replica, by its own
//! monotonic clock, has seen the record unchanged: the holder's last renewal cannot be younger than that.

use super::record::Record;
use std::time::Duration;
use tokio::time::Instant;

/// What to do about a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nobody can have it: make it.
    Create,
    /// It is free, or its holder has been silent for too long: take it over.
    Take,
    /// It is ours already: say so again.
    Renew,
    /// It is somebody else's, at least until then.
    Wait(Instant),
}

/// What this replica has seen of a lease.
#[derive(Debug, Clone)]
pub struct View {
    identity: String,
    /// For holders who do not say how long theirs is.
    lease_duration: Duration,
    last: Option<Sight>,
}

#[derive(Debug, Clone)]
struct Sight {
    record: Record,
    /// When it was first seen like this.
    since: Instant,
}

impl View {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(identity: &str, lease_duration: Duration) -> Self {
        Self {
            identity: identity.into(),
            lease_duration,
            last: None,
        }
    }

    /// The lease was seen like this. `now` is a moment after the answer came, so that it is not before the renewal.
    pub fn saw(&mut self, record: &Record, now: Instant) {
        if self.last.as_ref().is_none_or(|last| last.record != *record) {
            self.last = Some(Sight {
                record: record.clone(),
                since: now,
            });
        }
    }

    /// Who held it when it was last seen; empty if nobody or not seen.
    #[must_use]
    pub fn holder(&self) -> &str {
        self.last.as_ref().map(|last| last.record.holder()).unwrap_or_default()
    }

    /// Until when somebody else may believe to lead.
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

    /// What to do about the lease, which is like this now, or not there.
    ///
    /// A lease that was deleted while somebody held it is made anew only when the holder's time is over: the holder does
    /// not know yet.
    #[must_use]
    pub fn decide(&mut self, found: Option<&Record>, now: Instant) -> Step {
        if let Some(record) = found {
            self.saw(record, now);
        }
        match (self.expiry(), found) {
            (Some(expiry), _) if now < expiry => Step::Wait(expiry),
            (_, None) => Step::Create,
            (_, Some(record)) if record.holder() == self.identity => Step::Renew,
            (_, Some(_)) => Step::Take,
        }
    }
}
