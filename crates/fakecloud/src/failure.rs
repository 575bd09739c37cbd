//! How a call over HTTP can fail.

use crate::{Action, Fault};
use std::time::Duration;

/// How a call over HTTP fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The connection breaks before anything is done.
    Reset,
    /// Nothing is done, and the answer is this.
    Status {
        /// The status.
        status: u16,
        /// The body; `None` is that of [`crate::Api::error`].
        body: Option<String>,
        /// The header `Retry-After`.
        retry_after: Option<String>,
    },
    /// The call is performed, and the connection breaks in place of an answer.
    LoseAnswer,
    /// The call is performed, and the connection breaks in the middle of the answer.
    Truncate,
    /// The call is performed, and each piece of the answer (there are about ten) takes this long.
    SlowBody(Duration),
    /// The call is performed, and the answer has this body.
    ReplaceBody(String),
}

impl Failure {
    /// Whether the call fails before it is performed.
    pub(crate) fn is_early(&self) -> bool {
        matches!(self, Self::Reset | Self::Status { .. })
    }
}

impl Fault {
    /// The connection breaks before anything is done.
    pub fn reset() -> Self {
        Self::fail(Failure::Reset)
    }

    /// Nothing is done, and the answer has this status and the body that the cloud itself sends with it.
    pub fn status(status: u16) -> Self {
        Self::fail(Failure::Status {
            status,
            body: None,
            retry_after: None,
        })
    }

    /// Nothing is done, and the answer has this status and this body.
    pub fn answer(status: u16, body: impl Into<String>) -> Self {
        Self::fail(Failure::Status {
            status,
            body: Some(body.into()),
            retry_after: None,
        })
    }

    /// The call is performed, and the connection breaks in place of an answer.
    pub fn lose_answer() -> Self {
        Self::fail(Failure::LoseAnswer)
    }

    /// The call is performed, and the connection breaks in the middle of the answer.
    pub fn truncate() -> Self {
        Self::fail(Failure::Truncate)
    }

    /// The call is performed, and each piece of the answer (there are about ten) takes this long.
    pub fn slow_body(each: Duration) -> Self {
        Self::fail(Failure::SlowBody(each))
    }

    /// The call is performed, and the answer has this body.
    pub fn replace_body(body: impl Into<String>) -> Self {
        Self::fail(Failure::ReplaceBody(body.into()))
    }

    /// With this `Retry-After`, in seconds or as a date; only for [`Fault::status`] and [`Fault::answer`].
    #[must_use]
    pub fn retry_after(mut self, value: impl Into<String>) -> Self {
        if let Action::Fail(Failure::Status { retry_after, .. }) = &mut self.action {
            *retry_after = Some(value.into());
        }
        self
    }
}
