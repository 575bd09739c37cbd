//! Why a reconcile stops before its end.

use cloud::{Error, Noted, Progress};
use std::time::Duration;

/// Why a reconcile stops before its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Halt {
    /// An object changed since it was read: observe again after a while.
    #[error("{what} is still being provisioned")]
    Pending {
        /// The object.
        what: String,
        /// When to observe it again.
        poll_after: Duration,
    },
    /// A call failed, or an object cannot be used.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// The result of a part of a reconcile.
pub(crate) type Result<T> = std::result::Result<T, Halt>;

impl Halt {
    /// As [`cloud::report`] of it.
    pub fn report(&self) -> String {
        cloud::report(self)
    }
}

/// The answer of a whole reconcile: [`Halt::Pending`] is progress, not a failure.
pub(crate) fn progress<T>(result: Result<Noted<Progress<T>>>) -> cloud::Result<Noted<Progress<T>>> {
    match result {
        Ok(noted) => Ok(noted),
        Err(Halt::Failed(error)) => Err(error),
        Err(halt @ Halt::Pending { poll_after, .. }) => {
            let waiting_for = halt.to_string();
            let pending = Progress::Pending {
                poll_after,
                waiting_for,
            };
            Ok(pending.into())
        }
    }
}
