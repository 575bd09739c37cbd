//! An exchange that did not come to an answer, or to one that cannot be read.

use std::{
    error::Error as StdError,
    fmt,
    io::{self, ErrorKind},
};

/// An exchange with the cloud that did not come to a usable answer. It is the source of a [`cloud::Error::Unavailable`].
#[derive(Debug, thiserror::Error)]
#[error("{request}: {reason}: {detail}")]
pub struct Fault {
    request: String,
    reason: Reason,
    reach: Reach,
    detail: String,
}

/// What broke; `label()` is the `reason` of `cloud_api_connection_failures_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The host's name has no address.
    Dns,
    /// No connection came about.
    Connect,
    /// No encrypted connection came about, most often because of a certificate.
    Tls,
    /// The deadline has passed.
    Timeout,
    /// The connection broke before an answer came.
    Reset,
    /// The answer broke off.
    Truncated,
    /// The answer is no HTTP.
    Protocol,
    /// The answer is larger than allowed.
    TooLarge,
    /// The answer is complete, but not what was agreed upon.
    Garbled,
}

impl Reason {
    /// The name in metrics.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Truncated => "truncated",
            Self::Protocol => "protocol",
            Self::TooLarge => "too_large",
            Self::Garbled => "garbled",
        }
    }

    /// Whether the connection is to blame, and not what came over it.
    pub(crate) fn is_connection_failure(self) -> bool {
        !matches!(self, Self::TooLarge | Self::Garbled)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dns => "the host name cannot be resolved",
            Self::Connect => "cannot connect",
            Self::Tls => "no trusted TLS connection (a CA of your own must be named in the cloud's configuration)",
            Self::Timeout => "timed out",
            Self::Reset => "the connection broke",
            Self::Truncated => "the answer is truncated",
            Self::Protocol => "the answer is no valid HTTP",
            Self::TooLarge => "the answer is too large",
            Self::Garbled => "the answer makes no sense",
        })
    }
}

/// Whether the cloud can have acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Nothing was sent.
    Unsent,
    /// It may have arrived.
    Perhaps,
}

/// What was going on when the exchange broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Until the head of the response has arrived.
    Head,
    /// While the body is read.
    Body,
}

impl Fault {
    pub(crate) fn new(request: &str, reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            request: request.to_owned(),
            reason,
            reach: Reach::Perhaps,
            detail: detail.into(),
        }
    }

    pub(crate) fn of_exchange(request: &str, phase: Phase, error: reqwest::Error) -> Self {
        let (reason, reach) = classify(phase, &error);
        Self {
            request: request.to_owned(),
            reason,
            reach,
            detail: causes(&error.without_url()),
        }
    }

    /// What broke.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Whether the cloud can have acted.
    #[must_use]
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// The fault beneath an error, if there is one.
    #[must_use]
    pub fn of(error: &cloud::Error) -> Option<&Self> {
        beneath(error)
    }
}

/// The first error of this type in the chain beneath an error.
pub(crate) fn beneath<E: StdError + 'static>(error: &cloud::Error) -> Option<&E> {
    std::iter::successors(error.source(), |&cause| cause.source()).find_map(|cause| cause.downcast_ref())
}

fn classify(phase: Phase, error: &reqwest::Error) -> (Reason, Reach) {
    let reach = if error.is_connect() || error.is_builder() {
        Reach::Unsent
    } else {
        Reach::Perhaps
    };
    let reason = match phase {
        _ if error.is_dns() => Reason::Dns,
        _ if error.is_timeout() => Reason::Timeout,
        _ if chain(error).any(is_tls) => Reason::Tls,
        _ if error.is_connect() => Reason::Connect,
        _ if chain(error).any(is_parse) => Reason::Protocol,
        _ if chain(error).any(is_reset) => Reason::Reset,
        Phase::Body => Reason::Truncated,
        Phase::Head if chain(error).any(is_http) => Reason::Reset,
        Phase::Head => Reason::Protocol,
    };
    (reason, reach)
}

/// An error and everything beneath it. What an [`io::Error`] wraps counts as beneath it, which its `source()` forgets.
fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&cause| {
        match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped as &(dyn StdError + 'static)),
            None => cause.source(),
        }
    })
}

fn is_tls(cause: &(dyn StdError + 'static)) -> bool {
    cause.is::<rustls::Error>()
}

fn is_http(cause: &(dyn StdError + 'static)) -> bool {
    cause.is::<hyper::Error>()
}

fn is_parse(cause: &(dyn StdError + 'static)) -> bool {
    cause.downcast_ref().is_some_and(hyper::Error::is_parse)
}

fn is_reset(cause: &(dyn StdError + 'static)) -> bool {
    const KINDS: [ErrorKind; 3] = [
        ErrorKind::ConnectionReset,
        ErrorKind::ConnectionAborted,
        ErrorKind::BrokenPipe,
    ];
    cause
        .downcast_ref::<io::Error>()
        .is_some_and(|error| KINDS.contains(&error.kind()))
}

/// The messages of all causes of an error, each once. The error itself only reports that a request failed.
fn causes(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    for cause in chain(error).skip(1) {
        let text = cause.to_string();
        if !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
    }
    if texts.is_empty() {
        error.to_string()
    } else {
        texts.join(": ")
    }
}
