//! How the server answers, with garbage where a fault asks for it.

use super::Answer;
use crate::{
    Garbage,
    fault::Garbled,
    wire::{
        Answers, each,
        error::{Body, Error, Kind},
    },
};
use fakecloud::{Request, Response};
use serde::{Serialize, de::DeserializeOwned};

/// The body, which must be JSON of this shape.
pub(super) fn parse<T: DeserializeOwned>(request: &Request) -> cloud::Result<T> {
    let invalid = |error: serde_json::Error| cloud::Error::invalid("body", error.to_string());
    request.parse().map_err(invalid)
}

/// A batch: if every answer is the same error, the call failed as a whole.
pub(super) fn batch<T, A: From<cloud::Result<T>> + Serialize>(answers: Vec<cloud::Result<T>>) -> Answer {
    let words = |answer: &cloud::Result<T>| answer.as_ref().err().map(Error::of);
    let first = answers.first().and_then(words);
    let failed = first.is_some() && answers.iter().all(|answer| words(answer) == first);
    let mut answers = answers.into_iter();
    if failed && let Some(Err(error)) = answers.next() {
        return Err(error);
    }
    let answers: Vec<A> = each(answers);
    Ok(Response::ok(Answers { answers }))
}

/// The answer for an error.
pub(super) fn refusal(error: &cloud::Error) -> Response {
    if let Some(garbage) = garbage(error) {
        return nonsense(garbage);
    }
    let error = Error::of(error);
    let wait = error.after_ms.filter(|_| error.kind == Kind::Throttled);
    let response = Response::json(error.kind.status(), Body { error });
    match wait {
        Some(millis) => response.header("Retry-After", millis.div_ceil(1000).to_string()),
        None => response,
    }
}

fn garbage(error: &cloud::Error) -> Option<Garbage> {
    let cloud::Error::Unavailable { source, .. } = error else {
        return None;
    };
    source.downcast_ref::<Garbled>().map(|garbled| garbled.0)
}

fn nonsense(garbage: Garbage) -> Response {
    let json = |body: &'static str| Response::new(200, "application/json", body);
    match garbage {
        Garbage::NotJson => json("<html><body>It works!</body></html>"),
        Garbage::WrongShape => json(r#"{"answers": "forty-two", "status": 42}"#),
        Garbage::Empty => json(""),
        Garbage::Truncated => json(r#"{"answers": [{"status": "found"}]}"#).truncated(),
    }
}
