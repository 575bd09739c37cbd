//! Requests without a response.

use super::transport::NoCredentials;
use crate::fence::Fenced;
use std::{error::Error, io, sync::Arc, time::Duration};
use tower::BoxError;

/// Why a request got no response from the API server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// There is no connection to the server.
    #[error("cannot connect to {address}")]
    Connect {
        /// The server.
        address: Arc<str>,
        /// The cause.
        source: BoxError,
    },
    /// The connection was lost; it is unknown whether the request was processed.
    #[error("the connection to {address} was lost")]
    Lost {
        /// The server.
        address: Arc<str>,
        /// The cause.
        source: BoxError,
    },
    /// The response took too long; it is unknown whether the request was processed.
    #[error("{address} did not answer within {} s", after.as_secs_f64())]
    Timeout {
        /// The server.
        address: Arc<str>,
        /// The timeout.
        after: Duration,
    },
    /// The request was not sent, because this replica may not write.
    #[error(transparent)]
    Fenced(#[from] Fenced),
    /// The request was not sent, because its credentials are not available.
    #[error("no credentials for {address}")]
    Credentials {
        /// The server.
        address: Arc<str>,
        /// The cause.
        source: BoxError,
    },
}

impl Failure {
    /// Classifies an error of the connection; other errors are unchanged.
    pub(super) fn classify(error: BoxError, address: &Arc<str>) -> BoxError {
        let address = address.clone();
        if has_fenced(&*error) {
            return Self::Fenced(Fenced).into();
        }
        match error.downcast::<hyper_util::client::legacy::Error>() {
            Ok(source) if source.is_connect() => Self::Connect { address, source }.into(),
            Ok(source) => Self::Lost { address, source }.into(),
            Err(other) if is_lost(&*other) => Self::Lost { address, source: other }.into(),
            Err(other) if other.is::<kube::client::AuthError>() || other.is::<NoCredentials>() => {
                Self::Credentials { address, source: other }.into()
            }
            Err(other) => other,
        }
    }
}

/// Whether a write was rejected because this replica may not write.
pub fn is_fenced(error: &kube::Error) -> bool {
    has_fenced(error)
}

fn has_fenced(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|error| error.is::<Fenced>() || matches!(error.downcast_ref(), Some(Failure::Fenced(_))))
}

/// Whether a request failed because the API server is unreachable, rather than by its response.
pub fn is_unreachable(error: &kube::Error) -> bool {
    chain(error).any(|error| {
        matches!(
            error.downcast_ref(),
            Some(Failure::Connect { .. } | Failure::Lost { .. } | Failure::Timeout { .. })
        )
    })
}

/// An error and its sources, outermost first.
pub(super) fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        // The source of an IO error is the source of the error it contains, not that error.
        let carried = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        carried
            .map(|error| error as &(dyn Error + 'static))
            .or_else(|| error.source())
    })
}

/// Whether the connection was lost during the request.
pub(crate) fn is_lost(error: &(dyn Error + 'static)) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    chain(error).any(|error| {
        let broken = |error: &io::Error| {
            matches!(
                error.kind(),
                BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
            )
        };
        error.downcast_ref::<io::Error>().is_some_and(broken)
            || error
                .downcast_ref::<hyper::Error>()
                .is_some_and(|error| error.is_incomplete_message() || error.is_closed())
    })
}
