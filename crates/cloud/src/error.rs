//! Why a cloud call failed, in the terms a controller acts on.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{error::Error as StdError, fmt, ops::Deref, sync::Arc, time::Duration};

/// The cause of an [`Error`], shared by its clones; printed by the reporter, never by the error itself.
///
/// It dereferences to the cause instead of being an error of its own, so that [`StdError::source`] returns the cause
/// itself and a caller can downcast it.
#[derive(Clone)]
pub struct Source(Arc<dyn StdError + Send + Sync>);

impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for Source {
    fn from(cause: E) -> Self {
        Self(Arc::from(cause.into()))
    }
}

impl Deref for Source {
    type Target = dyn StdError + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// As its [`report`]: the text crosses to another process, the types do not.
impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&report(&*self.0))
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// Why a cloud call failed. A variant exists only if callers act on it differently.
///
/// Messages do not contain their `source`: [`report`] walks the chain.
#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Error {
    /// The cloud itself reported that the object does not exist. Any uncertainty is [`Error::Unavailable`].
    #[error("{what} was not found")]
    NotFound {
        /// The object, as a user would name it; nothing else.
        what: String,
    },

    /// The user asked for something that this cloud cannot do; a retry would not help.
    #[error("invalid {field}: {reason}")]
    Invalid {
        /// The field, annotation or key that is wrong.
        field: String,
        /// What is wrong with it and what to write instead.
        reason: String,
    },

    /// The object exists and cannot be used as it is: it belongs to another owner, several objects match, or it is
    /// broken or in an unexpected state. The calls to the cloud succeed.
    #[error("{what} cannot be used: {reason}")]
    Unusable {
        /// The object, as a user would name it.
        what: String,
        /// Why it cannot be used, and what to do about it.
        reason: String,
    },

    /// The cloud throttles requests.
    #[error("{call} was throttled")]
    Throttled {
        /// The call, for example `list servers`.
        call: String,
        /// The cloud's retry-after, if any.
        retry_after: Option<Duration>,
    },

    /// The cloud cannot be reached, failed, or gave an invalid answer.
    #[error("{call} is unavailable")]
    Unavailable {
        /// The call, for example `list servers`.
        call: String,
        /// The cause.
        source: Source,
    },

    /// The credentials are wrong or lack a permission.
    #[error("{call} was denied")]
    Denied {
        /// The call, for example `list servers`.
        call: String,
        /// The cloud's answer.
        source: Source,
    },

    /// A limit of the account or project is reached; it has to be raised, or objects have to be deleted.
    #[error("the quota for {what} is exceeded")]
    Quota {
        /// Which quota.
        what: String,
        /// The cloud's answer.
        source: Source,
    },

    /// This cloud does not support it.
    #[error("{what} is not supported by this cloud")]
    NotSupported {
        /// What was requested.
        what: String,
    },

    /// Another controller manages this object: a success without a write.
    #[error("implemented by another controller")]
    ImplementedElsewhere,

    /// This process must not write any more, because it may have lost its lease.
    #[error("this replica is not the leader any more")]
    NotLeader,
}

/// What to do after an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Not before something changes.
    Never,
    /// After exactly this long.
    After(Duration),
    /// With exponential back-off.
    Backoff,
}

impl Error {
    /// Decides retry in one place, so that no controller has to match variants.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::Invalid { .. } | Self::NotSupported { .. } | Self::ImplementedElsewhere | Self::NotLeader => {
                Retry::Never
            }
            Self::Throttled {
                retry_after: Some(wait),
                ..
            } => Retry::After(*wait),
            Self::NotFound { .. }
            | Self::Unusable { .. }
            | Self::Throttled { retry_after: None, .. }
            | Self::Unavailable { .. }
            | Self::Denied { .. }
            | Self::Quota { .. } => Retry::Backoff,
        }
    }

    /// An [`Error::Unavailable`] of this call.
    pub fn unavailable(call: impl Into<String>, source: impl Into<Source>) -> Self {
        Self::Unavailable {
            call: call.into(),
            source: source.into(),
        }
    }

    /// An [`Error::Denied`] call.
    pub fn denied(call: impl Into<String>, source: impl Into<Source>) -> Self {
        Self::Denied {
            call: call.into(),
            source: source.into(),
        }
    }

    /// An [`Error::Quota`] that is exceeded.
    pub fn quota(what: impl Into<String>, source: impl Into<Source>) -> Self {
        Self::Quota {
            what: what.into(),
            source: source.into(),
        }
    }

    /// An [`Error::NotFound`] object.
    pub fn not_found(what: impl Into<String>) -> Self {
        Self::NotFound { what: what.into() }
    }

    /// An [`Error::Unusable`] object.
    pub fn unusable(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unusable {
            what: what.into(),
            reason: reason.into(),
        }
    }

    /// An [`Error::Invalid`] field.
    pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid {
            field: field.into(),
            reason: reason.into(),
        }
    }

    /// The same error as the answer for one object of a batch: a URL that was not found does not mean that the object does not
    /// exist, so [`Error::NotFound`] becomes [`Error::Unavailable`].
    #[must_use]
    pub fn of_batch(self) -> Self {
        match self {
            Self::NotFound { ref what } => Self::unavailable(what.clone(), self),
            other => other,
        }
    }

    /// As [`report`] of it.
    #[must_use]
    pub fn report(&self) -> String {
        report(self)
    }
}

/// The message of an error and those of everything beneath it, once each, in one line.
#[must_use]
pub fn report(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::invalid(Error::invalid("port", "must not be 0"), Retry::Never)]
    #[case::elsewhere(Error::ImplementedElsewhere, Retry::Never)]
    #[case::not_leader(Error::NotLeader, Retry::Never)]
    #[case::not_supported(Error::NotSupported { what: "UDP".into() }, Retry::Never)]
    #[case::unusable(Error::unusable("x", "it is broken"), Retry::Backoff)]
    #[case::throttled_with_a_time(Error::Throttled { call: "x".into(), retry_after: Some(Duration::from_secs(9)) }, Retry::After(Duration::from_secs(9)))]
    #[case::throttled_without(Error::Throttled { call: "x".into(), retry_after: None }, Retry::Backoff)]
    #[case::unavailable(Error::unavailable("x", "reset"), Retry::Backoff)]
    #[case::not_found(Error::NotFound { what: "x".into() }, Retry::Backoff)]
    fn retries(#[case] error: Error, #[case] expected: Retry) {
        assert_eq!(error.retry(), expected);
    }

    #[test]
    fn report_walks_the_chain_once() {
        let error = Error::unavailable("list servers", "connection reset");
        assert_eq!(error.to_string(), "list servers is unavailable");
        assert_eq!(error.report(), "list servers is unavailable: connection reset");
    }

    #[test]
    fn a_batch_that_was_not_found_does_not_mean_missing_objects() {
        let error = Error::not_found("server list").of_batch();
        assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
        assert_eq!(error.report(), "server list is unavailable: server list was not found");
    }

    #[rstest]
    #[case::not_found(Error::not_found("x"))]
    #[case::unusable(Error::unusable("x", "it is broken"))]
    #[case::throttled(Error::Throttled { call: "x".into(), retry_after: Some(Duration::from_millis(1500)) })]
    #[case::denied(Error::denied("x", Error::unavailable("login", "reset")))]
    #[case::not_leader(Error::NotLeader)]
    fn crosses_to_another_process(#[case] error: Error) {
        let text = serde_json::to_string(&error).unwrap();
        let received: Error = serde_json::from_str(&text).unwrap();
        let shown = |error: &Error| (error.report(), error.retry());
        assert_eq!(shown(&received), shown(&error), "{text}");
    }

    #[test]
    fn a_clone_has_the_same_cause() {
        let cause = std::io::Error::from(std::io::ErrorKind::TimedOut);
        let error = Error::denied("list servers", cause).clone();
        let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
        assert_eq!(cause.map(std::io::Error::kind), Some(std::io::ErrorKind::TimedOut));
    }
}
