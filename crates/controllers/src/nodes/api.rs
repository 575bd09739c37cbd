//! Calls to the API server, each with a deadline, and what their failures mean.

use kube::{Error, api::PatchParams};
use std::{future::Future, time::Duration};

/// A client without a deadline waits for ever when the network swallows a packet.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// Why a write failed, in the terms a controller acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The object is gone.
    Gone,
    /// The object is not what the write was made for; this is what the API server said.
    Contended(String),
    /// Anything else.
    Failed(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gone => f.write_str("it is gone"),
            Self::Contended(reason) | Self::Failed(reason) => f.write_str(reason),
        }
    }
}

/// How a controller patches: under its own name.
#[must_use]
pub fn params(manager: &str) -> PatchParams {
    PatchParams {
        field_manager: Some(manager.to_owned()),
        ..PatchParams::default()
    }
}

/// Makes the call, and gives it up after a while.
///
/// # Errors
/// If the API server refuses or does not answer.
pub async fn call<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, Fault> {
    match tokio::time::timeout(DEADLINE, request).await {
        Ok(result) => result.map_err(|error| fault(&error)),
        Err(_) => Err(Fault::Failed("the API server did not answer in time".to_owned())),
    }
}

/// 409 is a precondition that failed, and 422 also a test of a JSON patch that did.
fn fault(error: &Error) -> Fault {
    match error {
        Error::Api(status) if status.code == 404 => Fault::Gone,
        Error::Api(status) if matches!(status.code, 409 | 422) => Fault::Contended(status.message.clone()),
        Error::Api(status) => Fault::Failed(status.message.clone()),
        other => Fault::Failed(innermost(other)),
    }
}

fn innermost(error: &Error) -> String {
    let mut reason: &dyn std::error::Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}
