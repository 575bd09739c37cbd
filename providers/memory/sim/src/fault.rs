//! Faults of a memory cloud. Pure.

use crate::Operation;
use cloud::Error;
pub use fakecloud::FaultId;
use std::time::Duration;

/// A fault. By default it strikes at every call, until it is withdrawn.
///
/// ```
/// use memory_sim::{Failure, Fault, Operation};
/// use std::time::Duration;
///
/// Fault::delay(Duration::from_secs(1));
/// Fault::fail(Failure::Unavailable("no route to host".into())).operation(Operation::EnsureLoadBalancer).only("default/web").times(3);
/// ```
pub type Fault = fakecloud::Fault<Failure>;

/// The faults of one call.
pub(crate) type Verdict = fakecloud::Verdict<Failure>;

/// How a call fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// [`Error::NotFound`], whether the object exists or not.
    NotFound,
    /// [`Error::Invalid`]
    Invalid {
        /// The field that is wrong.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Writes of load balancers answer [`cloud::Progress::Pending`]; other calls fail with [`Error::Unusable`].
    Pending {
        /// When to call again.
        poll_after: Duration,
    },
    /// [`Error::Throttled`]
    Throttled {
        /// When to call again.
        retry_after: Option<Duration>,
    },
    /// [`Error::Unavailable`]
    Unavailable(String),
    /// [`Error::Denied`]
    Denied(String),
    /// [`Error::Quota`]
    Quota(String),
    /// [`Error::NotSupported`]
    NotSupported,
    /// [`Error::ImplementedElsewhere`]
    ImplementedElsewhere,
    /// The call is performed and its answer is lost.
    LostAnswer,
    /// A write stops after so many steps and fails.
    AfterSteps(usize),
    /// The call is performed and its answer is invalid.
    Garbage(Garbage),
    /// The cloud finds nothing: every machine is missing, no load balancer is found, lists are empty, and deletions succeed
    /// without an effect.
    Blind,
}

/// How an answer is invalid. The difference matters only over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// It ends in the middle.
    Truncated,
    /// It is not JSON.
    NotJson,
    /// It is JSON of another shape.
    WrongShape,
    /// It has no body.
    Empty,
}

/// The source of the error of an invalid answer; the server sends the answer itself.
#[derive(Debug, thiserror::Error)]
#[error("the answer is invalid")]
pub(crate) struct Garbled(pub(crate) Garbage);

impl Failure {
    /// The error of this failure; `None` where the failure is not (only) an error.
    pub(crate) fn error(&self, operation: Operation) -> Option<Error> {
        let call = operation.to_string();
        Some(match self.clone() {
            Self::NotFound => Error::NotFound { what: call },
            Self::Invalid { field, reason } => Error::Invalid { field, reason },
            Self::Pending { .. } => Error::unusable(call, "it is still being provisioned"),
            Self::Throttled { retry_after } => Error::Throttled { call, retry_after },
            Self::Unavailable(text) => Error::unavailable(call, text),
            Self::Denied(text) => Error::denied(call, text),
            Self::Quota(text) => Error::quota(call, text),
            Self::NotSupported => Error::NotSupported { what: call },
            Self::ImplementedElsewhere => Error::ImplementedElsewhere,
            Self::LostAnswer | Self::AfterSteps(_) | Self::Garbage(_) | Self::Blind => return None,
        })
    }

    /// The error after the call was performed, if it was to fail then.
    pub(crate) fn late_error(&self, operation: Operation) -> Option<Error> {
        let call = operation.to_string();
        match self {
            Self::LostAnswer => Some(Error::unavailable(call, "the answer was lost")),
            Self::AfterSteps(steps) => Some(Error::unavailable(call, format!("stopped after {steps} steps"))),
            Self::Garbage(garbage) => Some(Error::unavailable(call, Garbled(*garbage))),
            _ => None,
        }
    }
}
