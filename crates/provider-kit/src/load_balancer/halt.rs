//! Why a part of a reconcile stops before its end.

use cloud::{Error, Noted, Notes, Progress, Result};
use std::time::Duration;

/// Why a part of a reconcile stops before its end: it has to wait, or it failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Halt {
    /// Something is not ready: call again after a while.
    #[error("waiting for {waiting_for}")]
    Pending {
        /// When to call again.
        poll_after: Duration,
        /// What is being waited for, for the Service's condition.
        waiting_for: String,
    },
    /// A call failed, or an object cannot be used.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl Halt {
    /// What was read is out of date: an object changed meanwhile.
    #[must_use]
    pub fn changed(what: impl Into<String>) -> Self {
        Self::Pending {
            poll_after: Duration::from_secs(1),
            waiting_for: format!("{}, which changed meanwhile", what.into()),
        }
    }

    /// As [`cloud::report`] of it.
    #[must_use]
    pub fn report(&self) -> String {
        cloud::report(self)
    }
}

/// The answer of a whole reconcile: [`Halt::Pending`] is progress, not a failure.
pub(super) fn progress<T>(result: Result<T, Halt>, notes: Notes) -> Result<Noted<Progress<T>>> {
    match result {
        Ok(done) => Ok(Noted::new(Progress::Done(done), notes)),
        Err(Halt::Failed(error)) => Err(error),
        Err(Halt::Pending {
            poll_after,
            waiting_for,
        }) => {
            let pending = Progress::Pending {
                poll_after,
                waiting_for,
            };
            Ok(Noted::new(pending, notes))
        }
    }
}
