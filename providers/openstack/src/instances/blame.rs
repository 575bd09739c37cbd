//! One failure, told to everybody whom it concerns.

use cloud::Error;
use std::sync::Arc;

/// The same error once more, as far as anybody acts on it.
pub fn share(error: &Arc<Error>) -> Error {
    let source = || Box::new(Arc::clone(error));
    match &**error {
        Error::Throttled { call, retry_after } => Error::Throttled {
            call: call.clone(),
            retry_after: *retry_after,
        },
        Error::Invalid { field, reason } => Error::invalid(field, reason),
        Error::NotSupported { what } => Error::NotSupported { what: what.clone() },
        Error::NotLeader => Error::NotLeader,
        Error::Denied { call, .. } => Error::Denied {
            call: call.clone(),
            source: source(),
        },
        Error::Quota { what, .. } => Error::Quota {
            what: what.clone(),
            source: source(),
        },
        Error::Unavailable { call, .. } => Error::unavailable(call, source()),
        // What the call as a whole did not find says nothing about one machine.
        other => Error::unavailable(other.to_string(), source()),
    }
}
