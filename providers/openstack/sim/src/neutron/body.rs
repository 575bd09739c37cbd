//! The bodies of requests.

use super::{bad_request, error};
use crate::exchange::{Ask, Fields, Response};
use serde_json::Value;
use uuid::Uuid;

/// The resource in a body, whose attributes must all be known.
pub(super) fn resource(ask: &Ask, one: &str, known: &[&str]) -> Result<Fields, Response> {
    if ask.json().is_none() {
        return Err(bad_request("Body contains invalid data"));
    }
    let missing = || bad_request(&format!("Unable to find '{one}' in request body"));
    let fields = ask.object(one).ok_or_else(missing)?;
    check(&fields, known)?;
    Ok(fields)
}

/// Refuses attributes that are not known.
pub(super) fn check(fields: &Fields, known: &[&str]) -> Result<(), Response> {
    let strange: Vec<&str> = fields
        .keys()
        .map(String::as_str)
        .filter(|name| !known.contains(name))
        .collect();
    if strange.is_empty() {
        return Ok(());
    }
    Err(bad_request(&format!(
        "Unrecognized attribute(s) '{}'",
        strange.join(", ")
    )))
}

/// A text, if it is given.
pub(super) fn text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

/// An ID, if it is given; `null` is not.
pub(super) fn id(fields: &Fields, name: &str) -> Result<Option<Uuid>, Response> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let text = value.as_str().unwrap_or_default();
            let bad = || {
                bad_request(&format!(
                    "Invalid input for {name}. Reason: '{text}' is not a valid UUID."
                ))
            };
            Uuid::parse_str(text).map(Some).map_err(|_| bad())
        }
    }
}

/// An ID that must be given.
pub(super) fn required_id(fields: &Fields, name: &str) -> Result<Uuid, Response> {
    let missing = || {
        bad_request(&format!(
            "Failed to parse request. Required attribute '{name}' not specified"
        ))
    };
    id(fields, name)?.ok_or_else(missing)
}

/// Whether it is switched on, if it is given.
pub(super) fn switch(fields: &Fields, name: &str) -> Option<bool> {
    fields.get(name).and_then(Value::as_bool)
}

/// An invalid input that is not about one attribute.
pub(super) fn invalid(message: &str) -> Response {
    error(400, "InvalidInput", &format!("Invalid input for operation: {message}"))
}
