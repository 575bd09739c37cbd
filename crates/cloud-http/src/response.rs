//! What the cloud answered.

use crate::{
    fault::{Fault, Phase, Reason},
    redact,
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt;

/// What the cloud answered. `Debug` shows neither headers nor body.
pub struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) call: String,
    /// Method and URL, as they may be shown.
    pub(crate) request: String,
}

impl Response {
    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// A header, if it exists and is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// [`cloud::Error::Unavailable`] if it is something else; the message contains what and where, and no part of the body.
    pub fn json<T: DeserializeOwned>(&self) -> cloud::Result<T> {
        self.decode()
            .map_err(|error| cloud::Error::unavailable(&self.call, self.fault(&error)))
    }

    pub(crate) fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let message = redact::parser_message(&error.to_string());
            // Bodies that end with the connection look complete to HTTP.
            if error.is_eof() && self.status != StatusCode::NO_CONTENT {
                DecodeError::Truncated(message)
            } else {
                DecodeError::Garbled(message)
            }
        })
    }

    /// The body as a JSON object whose fields are decoded one by one.
    ///
    /// # Errors
    /// If it is something else.
    pub fn envelope(&self) -> Result<Envelope, DecodeError> {
        self.decode().map(Envelope)
    }

    /// One field of the body, which is a JSON object.
    ///
    /// # Errors
    /// If it is something else, or the field is missing.
    pub fn member<T: DeserializeOwned>(&self, field: &str) -> Result<T, DecodeError> {
        self.envelope()?.take(field)
    }

    pub(crate) fn fault(&self, error: &DecodeError) -> Fault {
        let reason = match error {
            DecodeError::Truncated(_) => Reason::Truncated,
            DecodeError::Garbled(_) => Reason::Garbled,
        };
        let kind = self.header(header::CONTENT_TYPE.as_str()).unwrap_or("no content type");
        let detail = format!("{error} in {} bytes of {kind}", self.body.len());
        Fault::new(&self.request, reason, detail)
    }
}

/// A JSON object around the requested data.
pub struct Envelope(Map<String, Value>);

impl Envelope {
    /// Its fields.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Takes a field out of it.
    ///
    /// # Errors
    /// If it is missing or cannot be decoded.
    pub fn take<T: DeserializeOwned>(&mut self, field: &str) -> Result<T, DecodeError> {
        let value = self.0.remove(field);
        let value = value.ok_or_else(|| DecodeError::Garbled(format!("the field {field} is missing")))?;
        serde_json::from_value(value).map_err(|error| DecodeError::Garbled(redact::parser_message(&error.to_string())))
    }
}

/// Why an answer cannot be decoded. The message contains what and where, and no part of the body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The body ends too early. The call is tried again, if it may be repeated.
    #[error("{0}")]
    Truncated(String),
    /// The body is complete, and is not what was agreed upon.
    #[error("{0}")]
    Garbled(String),
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.body.len();
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("bytes", &bytes)
            .finish_non_exhaustive()
    }
}

/// How a body came to its end.
pub(crate) enum Ending {
    Complete,
    /// There would have been more than the limit.
    Cut,
    Broken(Fault),
}

/// Reads a body up to a limit, which also holds for what a compressed body grows to.
pub(crate) async fn read(response: &mut reqwest::Response, limit: usize, request: &str) -> (Bytes, Ending) {
    let mut body = BytesMut::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = limit - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    return (body.freeze(), Ending::Cut);
                }
            }
            Ok(None) => return (body.freeze(), Ending::Complete),
            Err(error) => {
                return (
                    body.freeze(),
                    Ending::Broken(Fault::of_exchange(request, Phase::Body, error)),
                );
            }
        }
    }
}
