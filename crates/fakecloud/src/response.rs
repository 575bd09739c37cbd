//! One answer.

use crate::{Request, json};
use bytes::Bytes;
use serde::Serialize;
use std::time::Duration;

/// An answer, also one that is garbled on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers, besides `Content-Length`.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
    pub(crate) delivery: Delivery,
    /// The request that the fake does not implement.
    pub(crate) unknown: Option<String>,
}

/// `Err` is a refusal: nothing was done.
pub type Outcome = Result<Response, Response>;

/// How an answer reaches the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    /// Not at all: the connection breaks.
    Lost,
    /// The connection breaks in the middle.
    Truncated,
    /// In pieces, each of which takes this long.
    Slow(Duration),
}

impl Response {
    /// An answer without a body.
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Bytes::new(),
            delivery: Delivery::Whole,
            unknown: None,
        }
    }

    /// An answer in JSON.
    pub fn json(status: u16, body: impl Serialize) -> Self {
        // Only a map with keys that are not text, or a type that refuses on its own, is no JSON.
        serde_json::to_vec(&body).map_or_else(
            |error| Self::text(500, error.to_string()),
            |body| Self::new(status, "application/json", body),
        )
    }

    /// An answer in JSON with the status 200.
    pub fn ok(body: impl Serialize) -> Self {
        Self::json(200, body)
    }

    /// An answer in plain text.
    pub fn text(status: u16, body: impl Into<String>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", body.into())
    }

    /// An answer of any media type: XML, HTML, ….
    pub fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self {
            body: body.into(),
            ..Self::empty(status).header("Content-Type", content_type)
        }
    }

    /// Refuses a request that the fake does not implement, with 501; [`crate::Cloud::unknown`] lists it.
    pub fn unknown(request: &Request) -> Self {
        let what = format!("{} {}", request.method, request.path.join("/"));
        Self::json(501, json!({"fakecloud": {"unknown": what}})).for_unknown(what)
    }

    /// Lists the request in [`crate::Cloud::unknown`], with these words.
    #[must_use]
    pub fn for_unknown(mut self, what: impl Into<String>) -> Self {
        self.unknown = Some(what.into());
        self
    }

    /// The connection breaks in place of an answer.
    pub fn lost() -> Self {
        Self {
            delivery: Delivery::Lost,
            ..Self::empty(500)
        }
    }

    /// The connection breaks in the middle of the body.
    #[must_use]
    pub fn truncated(mut self) -> Self {
        self.delivery = Delivery::Truncated;
        self
    }

    /// The body arrives in about ten pieces, each of which takes this long.
    #[must_use]
    pub fn slow(mut self, each: Duration) -> Self {
        self.delivery = Delivery::Slow(each);
        self
    }

    /// With this header, in place of one of the same name.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self.headers.push((name, value.into()));
        self
    }

    /// With this body in place of its own.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// The status, if the client gets one.
    pub(crate) fn sent_status(&self) -> Option<u16> {
        (self.delivery != Delivery::Lost).then_some(self.status)
    }
}
