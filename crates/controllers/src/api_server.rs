//! Calls to the API server: each has a deadline, and fails in the terms that a controller acts on.

use kube::api::PatchParams;
use runtime::{client::is_fenced, fence::Fenced};
use std::{future::Future, time::Duration};

/// Without a deadline, a call whose packets are dropped would never end.
const DEADLINE: Duration = Duration::from_secs(30);

/// Why a call to the API server failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object does not exist.
    #[error("the object does not exist")]
    NotFound,
    /// The object is not the one that the call expects: a precondition (409) or the test of a JSON patch (422) failed.
    #[error("{0}")]
    Conflict(String),
    /// This process is not the leader any more.
    #[error(transparent)]
    Fenced(Fenced),
    /// The API server refused the call.
    #[error("{message}")]
    Refused {
        /// Its message.
        message: String,
        /// The time after which it asks to be called again, if any.
        retry_after: Option<Duration>,
    },
    /// There was no answer.
    #[error("the API server gave no answer")]
    Unanswered(#[source] cloud::Source),
}

impl Error {
    /// As [`cloud::report`] of it.
    #[must_use]
    pub fn report(&self) -> String {
        cloud::report(self)
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        match error {
            error if is_fenced(&error) => Self::Fenced(Fenced),
            kube::Error::Api(status) if status.code == 404 => Self::NotFound,
            kube::Error::Api(status) if matches!(status.code, 409 | 422) => Self::Conflict(status.message),
            kube::Error::Api(status) => {
                let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
                Self::Refused {
                    message: status.message,
                    retry_after: (seconds > 0).then(|| Duration::from_secs(seconds.into())),
                }
            }
            other => Self::Unanswered(other.into()),
        }
    }
}

/// Parameters of a patch with this field manager.
pub(crate) fn patch_params(manager: &str) -> PatchParams {
    PatchParams {
        field_manager: Some(manager.to_owned()),
        ..PatchParams::default()
    }
}

/// Makes a call, at most until the deadline.
///
/// # Errors
/// If the API server refuses the call or does not answer in time.
pub(crate) async fn call<T>(request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Error> {
    match tokio::time::timeout(DEADLINE, request).await {
        Ok(result) => Ok(result?),
        Err(elapsed) => Err(Error::Unanswered(elapsed.into())),
    }
}
