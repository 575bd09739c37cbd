//! How the server answers, also when it is told to answer nonsense.

use crate::{
    Garbage,
    fault::Garbled,
    wire::{
        Answers, each,
        error::{Body, Error, Kind},
    },
};
use axum::{
    Json,
    body::Body as HttpBody,
    extract::{FromRequest, Request, rejection::JsonRejection},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// A body that must be JSON of this shape; otherwise the answer says in JSON what is wrong.
pub(super) struct Asked<T>(pub(super) T);

impl<S, T> FromRequest<S> for Asked<T>
where
    S: Send + Sync,
    Json<T>: FromRequest<S, Rejection = JsonRejection>,
{
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(asked)) => Ok(Self(asked)),
            Err(rejection) => Err(Refusal::invalid("body", rejection.body_text())),
        }
    }
}

/// An answer that says no, or nothing that makes sense.
pub(super) struct Refusal(cloud::Error);

impl Refusal {
    pub(super) fn invalid(field: &str, reason: impl Into<String>) -> Self {
        Self(cloud::Error::invalid(field, reason))
    }

    pub(super) fn not_found(what: impl Into<String>) -> Self {
        Self(cloud::Error::NotFound { what: what.into() })
    }
}

impl From<cloud::Error> for Refusal {
    fn from(error: cloud::Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        if let Some(garbage) = garbage(&self.0) {
            return nonsense(garbage);
        }
        let error = Error::of(&self.0);
        let status = StatusCode::from_u16(error.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let wait = error
            .after_ms
            .filter(|_| error.kind == Kind::Throttled)
            .map(|millis| millis.div_ceil(1000));
        let mut response = (status, Json(Body { error })).into_response();
        if let Some(seconds) = wait {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// A batch: if every answer is the same error, the call failed as a whole.
pub(super) fn batch<T, A: From<cloud::Result<T>> + Serialize>(
    answers: Vec<cloud::Result<T>>,
) -> Result<Json<Answers<A>>, Refusal> {
    let words = |answer: &cloud::Result<T>| answer.as_ref().err().map(Error::of);
    let first = answers.first().and_then(words);
    let failed = first.is_some() && answers.iter().all(|answer| words(answer) == first);
    let mut answers = answers.into_iter();
    if failed && let Some(Err(error)) = answers.next() {
        return Err(error.into());
    }
    Ok(Json(Answers { answers: each(answers) }))
}

fn garbage(error: &cloud::Error) -> Option<Garbage> {
    let cloud::Error::Unavailable { source, .. } = error else {
        return None;
    };
    source.downcast_ref::<Garbled>().map(|garbled| garbled.0)
}

fn nonsense(garbage: Garbage) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    match garbage {
        Garbage::NotJson => (json, "<html><body>It works!</body></html>").into_response(),
        Garbage::WrongShape => (json, r#"{"answers": "forty-two", "status": 42}"#).into_response(),
        Garbage::Empty => (json, "").into_response(),
        Garbage::Truncated => truncated(),
    }
}

/// Promises more than it sends, so that the connection ends in the middle of the body.
fn truncated() -> Response {
    let begun = futures::stream::iter([
        Ok::<_, std::io::Error>(r#"{"answers": [{"status": "fo"#),
        Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
    ]);
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CONTENT_LENGTH, "4096"),
    ];
    (headers, HttpBody::from_stream(begun)).into_response()
}
