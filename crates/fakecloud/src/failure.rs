//! How a call over HTTP can fail.

use crate::{Action, Fault};
use std::time::Duration;

/// How a call over HTTP fails: see [`Fault`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(pub(crate) Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Reset,
    /// Without a body it is that of [`crate::Api::error`].
    Status {
        status: u16,
        body: Option<String>,
        retry_after: Option<String>,
    },
    LoseAnswer,
    Truncate,
    SlowBody(Duration),
    ReplaceBody(String),
}

impl Kind {
    /// Whether the call fails before it is performed.
    pub(crate) fn is_early(&self) -> bool {
        matches!(self, Self::Reset | Self::Status { .. })
    }
}

impl Fault {
    /// The connection breaks before anything is done.
    pub fn reset() -> Self {
        Self::of(Kind::Reset)
    }

    /// Nothing is done, and the answer has this status and the body that the cloud itself sends with it.
    pub fn status(status: u16) -> Self {
        Self::refuse(status, None)
    }

    /// Nothing is done, and the answer has this status and this body.
    pub fn answer(status: u16, body: impl Into<String>) -> Self {
        Self::refuse(status, Some(body.into()))
    }

    /// The call is performed, and the connection breaks in place of an answer.
    pub fn lose_answer() -> Self {
        Self::of(Kind::LoseAnswer)
    }

    /// The call is performed, and the connection breaks in the middle of the answer.
    pub fn truncate() -> Self {
        Self::of(Kind::Truncate)
    }

    /// The call is performed, and each piece of the answer (there are about ten) takes this long.
    pub fn slow_body(each: Duration) -> Self {
        Self::of(Kind::SlowBody(each))
    }

    /// The call is performed, and the answer has this body.
    pub fn replace_body(body: impl Into<String>) -> Self {
        Self::of(Kind::ReplaceBody(body.into()))
    }

    /// With this `Retry-After`, in seconds or as a date; only for [`Fault::status`] and [`Fault::answer`].
    #[must_use]
    pub fn retry_after(mut self, value: impl Into<String>) -> Self {
        if let Action::Fail(Failure(Kind::Status { retry_after, .. })) = &mut self.action {
            *retry_after = Some(value.into());
        }
        self
    }

    fn refuse(status: u16, body: Option<String>) -> Self {
        let retry_after = None;
        Self::of(Kind::Status {
            status,
            body,
            retry_after,
        })
    }

    fn of(kind: Kind) -> Self {
        Self::fail(Failure(kind))
    }
}
