//! An answer that reports a failure.

use crate::{fault::beneath, redact::Redactor, redact::Secrets, request::Request, response::Response, retry_after};
use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use std::{fmt, time::Duration};

/// How much of a body is shown.
const SNIPPET: usize = 512;

/// Headers with the ID that the cloud's support needs.
const REQUEST_IDS: [&str; 6] = [
    "x-openstack-request-id",
    "x-compute-request-id",
    "x-amzn-requestid",
    "x-ms-request-id",
    "x-acs-request-id",
    "x-request-id",
];

/// An answer of the cloud that reports a failure. It contains no secrets.
///
/// Unless [`Client::explaining`](crate::Client::explaining) interprets it, it becomes
///
/// | status | error |
/// |---|---|
/// | 404, [recognised](crate::Client::recognising) | [`cloud::Error::NotFound`] |
/// | 400, 422, recognised | [`cloud::Error::Invalid`] |
/// | 401, 403 | [`cloud::Error::Denied`] |
/// | 429, and 503 with `Retry-After` | [`cloud::Error::Throttled`] |
/// | anything else | [`cloud::Error::Unavailable`] |
///
/// and is then the source of the error, where that has one: see [`Failure::of`].
#[derive(Clone)]
pub struct Failure {
    request: String,
    call: String,
    what: String,
    status: StatusCode,
    headers: HeaderMap,
    body: String,
    retry_after: Option<Duration>,
}

impl Failure {
    pub(crate) fn new(request: &Request, response: &Response, redactor: &Redactor, secrets: &Secrets) -> Self {
        Self {
            request: response.request.clone(),
            call: request.call(),
            what: request.what(),
            status: response.status,
            headers: redactor.headers(&response.headers),
            body: redactor.text(&String::from_utf8_lossy(&response.body), secrets),
            retry_after: retry_after::parse(&response.headers, Timestamp::now()),
        }
    }

    /// The failure beneath an error, if there is one.
    #[must_use]
    pub fn of(error: &cloud::Error) -> Option<&Self> {
        beneath(error)
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The name of the call: `list servers`.
    #[must_use]
    pub fn call(&self) -> &str {
        &self.call
    }

    /// The requested object, as [`Request::about`] named it.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// How long to wait before the next call, if the cloud demands it.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// A header, unless its value is secret.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// What to quote to the cloud's support.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        REQUEST_IDS.iter().find_map(|name| self.header(name))
    }

    /// The body without secrets, at most its first 64 KiB.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.body
    }

    /// The body as JSON, if it is that.
    #[must_use]
    pub fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.body).ok()
    }

    /// The beginning of the body in one line, at most 512 bytes.
    #[must_use]
    pub fn snippet(&self) -> String {
        let words = self.body.split(|c: char| c.is_whitespace() || c.is_control());
        let mut line = String::new();
        for word in words.filter(|word| !word.is_empty()) {
            if line.len() > SNIPPET {
                break;
            }
            let space = if line.is_empty() { "" } else { " " };
            line = line + space + word;
        }
        line.truncate(line.floor_char_boundary(SNIPPET));
        line
    }

    /// Whether this is a JSON object with content: typical of an API, and rare for a proxy.
    #[must_use]
    pub fn is_json(&self) -> bool {
        let declared = self.header(header::CONTENT_TYPE.as_str()).is_some_and(is_json_type);
        declared
            && self
                .json::<serde_json::Map<_, _>>()
                .is_some_and(|object| !object.is_empty())
    }

    /// Whether there is no body at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// The default error of a failure, if the provider does not interpret it. `own` means that the cloud itself answered, and not
    /// something on the way to it.
    pub(crate) fn into_error(self, own: Origin) -> cloud::Error {
        let call = self.call.clone();
        match (self.status, own) {
            (StatusCode::NOT_FOUND, Origin::Cloud) => cloud::Error::NotFound { what: self.what },
            (StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY, Origin::Cloud) => {
                cloud::Error::invalid("request", format!("{call} was refused: {}", self.snippet()))
            }
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => cloud::Error::denied(call, self),
            (StatusCode::TOO_MANY_REQUESTS, _) => cloud::Error::Throttled {
                call,
                retry_after: self.retry_after,
            },
            (StatusCode::SERVICE_UNAVAILABLE, _) if self.retry_after.is_some() => cloud::Error::Throttled {
                call,
                retry_after: self.retry_after,
            },
            _ => cloud::Error::unavailable(call, self),
        }
    }
}

/// The origin of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The cloud.
    Cloud,
    /// Perhaps something on the way to it.
    Doubtful,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answered {}", self.request, self.status)?;
        if let Some(id) = self.request_id() {
            write!(f, " (request {id})")?;
        }
        match self.snippet() {
            snippet if snippet.is_empty() => Ok(()),
            snippet => write!(f, ": {snippet}"),
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure({self})")
    }
}

impl std::error::Error for Failure {}

fn is_json_type(content_type: &str) -> bool {
    let mime = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    mime == "application/json" || (mime.starts_with("application/") && mime.ends_with("+json"))
}
