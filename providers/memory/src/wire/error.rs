//! Errors.

use crate::wire::millis;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// `{"kind": "throttled", "subject": "describe", "message": "", "afterMs": 500}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Error {
    pub(crate) kind: Kind,
    /// The call, the object or the field.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) subject: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after_ms: Option<u64>,
}

/// The body of an answer that says no.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Body {
    pub(crate) error: Error,
}

/// The variants of [`cloud::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Kind {
    NotFound,
    Invalid,
    Unusable,
    Throttled,
    Unavailable,
    Denied,
    Quota,
    NotSupported,
    ImplementedElsewhere,
    NotLeader,
}

impl Kind {
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::Invalid => 422,
            Self::Unusable | Self::ImplementedElsewhere | Self::NotLeader => 409,
            Self::Throttled => 429,
            Self::Unavailable => 503,
            Self::Denied | Self::Quota => 403,
            Self::NotSupported => 501,
        }
    }
}

impl Error {
    /// The words of an error; whatever else lies beneath is lost.
    pub(crate) fn of(error: &cloud::Error) -> Self {
        use cloud::Error as E;
        let said = |kind, subject: &str, message: &str, after: Option<Duration>| Self {
            kind,
            subject: subject.to_owned(),
            message: message.to_owned(),
            after_ms: after.map(millis),
        };
        match error {
            E::NotFound { what } => said(Kind::NotFound, what, "", None),
            E::Invalid { field, reason } => said(Kind::Invalid, field, reason, None),
            E::Unusable { what, reason } => said(Kind::Unusable, what, reason, None),
            E::Throttled { call, retry_after } => said(Kind::Throttled, call, "", *retry_after),
            E::Unavailable { call, source } => said(Kind::Unavailable, call, &source.to_string(), None),
            E::Denied { call, source } => said(Kind::Denied, call, &source.to_string(), None),
            E::Quota { what, source } => said(Kind::Quota, what, &source.to_string(), None),
            E::NotSupported { what } => said(Kind::NotSupported, what, "", None),
            E::ImplementedElsewhere => said(Kind::ImplementedElsewhere, "", "", None),
            E::NotLeader => said(Kind::NotLeader, "", "", None),
            other => said(Kind::Unavailable, "memory", &other.report(), None),
        }
    }
}

impl From<Error> for cloud::Error {
    fn from(
        Error {
            kind,
            subject,
            message,
            after_ms,
        }: Error,
    ) -> Self {
        let after = after_ms.map(Duration::from_millis);
        match kind {
            Kind::NotFound => Self::NotFound { what: subject },
            Kind::Invalid => Self::Invalid {
                field: subject,
                reason: message,
            },
            Kind::Unusable => Self::unusable(subject, message),
            Kind::Throttled => Self::Throttled {
                call: subject,
                retry_after: after,
            },
            Kind::Unavailable => Self::unavailable(subject, message),
            Kind::Denied => Self::denied(subject, message),
            Kind::Quota => Self::quota(subject, message),
            Kind::NotSupported => Self::NotSupported { what: subject },
            Kind::ImplementedElsewhere => Self::ImplementedElsewhere,
            Kind::NotLeader => Self::NotLeader,
        }
    }
}
