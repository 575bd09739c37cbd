//! What is to go wrong, on the wire.

use crate::{Failure, Fault, Garbage, Operation, wire::millis};
use fakecloud::Action;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// [`Fault`]: exactly one of `delayMs`, `hang`, `withhold` and `fail`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WireFault {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    hang: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    withhold: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fail: Option<WireFailure>,
    /// None is all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    operations: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<u64>,
}

/// [`Failure`]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WireFailure {
    kind: FailureKind,
    /// The field that is invalid.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    subject: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steps: Option<usize>,
}

/// The variants of [`Failure`] and [`Garbage`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum FailureKind {
    NotFound,
    Invalid,
    Pending,
    Throttled,
    #[default]
    Unavailable,
    Denied,
    Quota,
    NotSupported,
    ImplementedElsewhere,
    LostAnswer,
    AfterSteps,
    Truncated,
    NotJson,
    WrongShape,
    Empty,
    Blind,
}

/// A fault with the ID by which it can be withdrawn.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Injected {
    pub(crate) id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fault: Option<WireFault>,
}

impl WireFault {
    /// The fault, or what is wrong with its description.
    pub(crate) fn parse(self) -> Result<Fault, String> {
        let Self {
            delay_ms,
            hang,
            withhold,
            fail,
            operations,
            subject,
            times,
        } = self;
        let mut fault = match (delay_ms, hang, withhold, fail) {
            (Some(millis), false, false, None) => Fault::delay(Duration::from_millis(millis)),
            (None, true, false, None) => Fault::hang(),
            (None, false, true, None) => Fault::withhold_answer(),
            (None, false, false, Some(failure)) => Fault::fail(failure.into()),
            _ => return Err("a fault has exactly one of delayMs, hang, withhold and fail".to_owned()),
        };
        for name in operations {
            fault = fault.operation(Operation::parse(&name).ok_or_else(|| unknown(&name))?);
        }
        fault.object = subject;
        fault.times = times;
        Ok(fault)
    }
}

impl From<Fault> for WireFault {
    fn from(fault: Fault) -> Self {
        let wire = Self {
            operations: fault.operations,
            subject: fault.object,
            times: fault.times,
            ..Self::default()
        };
        match fault.action {
            Action::Delay(delay) => Self {
                delay_ms: Some(millis(delay)),
                ..wire
            },
            Action::Hang => Self { hang: true, ..wire },
            Action::Withhold => Self { withhold: true, ..wire },
            Action::Fail(failure) => Self {
                fail: Some(failure.into()),
                ..wire
            },
        }
    }
}

impl From<WireFailure> for Failure {
    fn from(
        WireFailure {
            kind,
            subject,
            message,
            after_ms,
            steps,
        }: WireFailure,
    ) -> Self {
        let after = after_ms.map(Duration::from_millis);
        match kind {
            FailureKind::NotFound => Self::NotFound,
            FailureKind::Invalid => Self::Invalid {
                field: subject,
                reason: message,
            },
            FailureKind::Pending => Self::Pending {
                poll_after: after.unwrap_or(Duration::from_secs(1)),
            },
            FailureKind::Throttled => Self::Throttled { retry_after: after },
            FailureKind::Unavailable => Self::Unavailable(message),
            FailureKind::Denied => Self::Denied(message),
            FailureKind::Quota => Self::Quota(message),
            FailureKind::NotSupported => Self::NotSupported,
            FailureKind::ImplementedElsewhere => Self::ImplementedElsewhere,
            FailureKind::LostAnswer => Self::LostAnswer,
            FailureKind::AfterSteps => Self::AfterSteps(steps.unwrap_or_default()),
            FailureKind::Truncated => Self::Garbage(Garbage::Truncated),
            FailureKind::NotJson => Self::Garbage(Garbage::NotJson),
            FailureKind::WrongShape => Self::Garbage(Garbage::WrongShape),
            FailureKind::Empty => Self::Garbage(Garbage::Empty),
            FailureKind::Blind => Self::Blind,
        }
    }
}

impl From<Failure> for WireFailure {
    fn from(failure: Failure) -> Self {
        let plain = |kind| Self {
            kind,
            ..Self::default()
        };
        let text = |kind, message| Self {
            kind,
            message,
            ..Self::default()
        };
        let after = |kind, after: Option<Duration>| Self {
            kind,
            after_ms: after.map(millis),
            ..Self::default()
        };
        match failure {
            Failure::NotFound => plain(FailureKind::NotFound),
            Failure::Invalid { field, reason } => Self {
                subject: field,
                ..text(FailureKind::Invalid, reason)
            },
            Failure::Pending { poll_after } => after(FailureKind::Pending, Some(poll_after)),
            Failure::Throttled { retry_after } => after(FailureKind::Throttled, retry_after),
            Failure::Unavailable(message) => text(FailureKind::Unavailable, message),
            Failure::Denied(message) => text(FailureKind::Denied, message),
            Failure::Quota(message) => text(FailureKind::Quota, message),
            Failure::NotSupported => plain(FailureKind::NotSupported),
            Failure::ImplementedElsewhere => plain(FailureKind::ImplementedElsewhere),
            Failure::LostAnswer => plain(FailureKind::LostAnswer),
            Failure::AfterSteps(steps) => Self {
                steps: Some(steps),
                ..plain(FailureKind::AfterSteps)
            },
            Failure::Garbage(Garbage::Truncated) => plain(FailureKind::Truncated),
            Failure::Garbage(Garbage::NotJson) => plain(FailureKind::NotJson),
            Failure::Garbage(Garbage::WrongShape) => plain(FailureKind::WrongShape),
            Failure::Garbage(Garbage::Empty) => plain(FailureKind::Empty),
            Failure::Blind => plain(FailureKind::Blind),
        }
    }
}

fn unknown(name: &str) -> String {
    let known: Vec<_> = Operation::ALL.iter().map(|operation| operation.as_str()).collect();
    format!("{name} is no operation; there are {}", known.join(", "))
}
