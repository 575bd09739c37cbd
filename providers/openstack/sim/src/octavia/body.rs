//! The bodies of requests.

use super::{Common, error, versions::knows};
use crate::exchange::{Ask, Fields, Response};
use serde_json::Value;
use std::{collections::BTreeSet, net::IpAddr};
use uuid::Uuid;

/// The object in a body, whose attributes must all be known in this version.
pub(super) fn object(ask: &Ask, argument: &str, name: &str, known: &[&str], minor: u32) -> Result<Fields, Response> {
    if ask.json().is_none() {
        return Err(error(400, "Request is not in valid JSON format"));
    }
    let missing = || {
        error(
            400,
            &format!("Invalid input for field/attribute {name}. Value: 'None'. Mandatory field missing."),
        )
    };
    let fields = ask.object(name).ok_or_else(missing)?;
    check(&fields, &format!("{argument}.{name}"), known, minor)?;
    Ok(fields)
}

/// Refuses attributes that are not known in this version.
pub(super) fn check(fields: &Fields, argument: &str, known: &[&str], minor: u32) -> Result<(), Response> {
    let strange = fields
        .keys()
        .find(|name| !known.contains(&name.as_str()) || !knows(minor, name));
    match strange {
        None => Ok(()),
        Some(name) => Err(error(
            400,
            &format!("Unknown attribute for argument {argument}: {name}"),
        )),
    }
}

pub(super) fn text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

pub(super) fn switch(fields: &Fields, name: &str) -> Option<bool> {
    fields.get(name).and_then(Value::as_bool)
}

pub(super) fn number(fields: &Fields, name: &str) -> Option<i64> {
    fields.get(name).and_then(Value::as_i64)
}

pub(super) fn list<'a>(fields: &'a Fields, name: &str) -> impl Iterator<Item = &'a Value> {
    fields.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// An ID, if it is given; `null` is not.
pub(super) fn id(fields: &Fields, name: &str) -> Result<Option<Uuid>, Response> {
    let Some(text) = text(fields, name) else {
        return Ok(None);
    };
    Uuid::parse_str(text)
        .map(Some)
        .map_err(|_| bad(name, text, "Value should be UUID format"))
}

/// A port, which must be given.
pub(super) fn port(fields: &Fields, name: &str) -> Result<u16, Response> {
    let value = fields.get(name).and_then(Value::as_u64).unwrap_or_default();
    let port = u16::try_from(value).ok().filter(|port| *port > 0);
    port.ok_or_else(|| bad(name, &value.to_string(), "Value should be greater or equal to 1"))
}

/// An address, which must be given.
pub(super) fn address(fields: &Fields, name: &str) -> Result<IpAddr, Response> {
    let text = text(fields, name).unwrap_or_default();
    text.parse()
        .map_err(|_| bad(name, text, "Value should be IPv4 or IPv6 format"))
}

/// One of some words, if it is given.
pub(super) fn word<'a>(fields: &Fields, name: &str, words: &[&'a str]) -> Result<Option<&'a str>, Response> {
    let Some(text) = text(fields, name) else {
        return Ok(None);
    };
    let found = words.iter().find(|word| **word == text);
    found
        .copied()
        .map(Some)
        .ok_or_else(|| bad(name, text, &format!("Value should be one of: {}", words.join(", "))))
}

pub(super) fn bad(name: &str, value: &str, reason: &str) -> Response {
    error(
        400,
        &format!("Invalid input for field/attribute {name}. Value: '{value}'. {reason}"),
    )
}

/// Takes over what everything has.
pub(super) fn common(common: &mut Common, fields: &Fields) {
    if let Some(name) = text(fields, "name") {
        name.clone_into(&mut common.name);
    }
    if let Some(description) = text(fields, "description") {
        description.clone_into(&mut common.description);
    }
    if let Some(up) = switch(fields, "admin_state_up") {
        common.admin_up = up;
    }
    if fields.contains_key("tags") {
        common.tags = list(fields, "tags")
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect::<BTreeSet<_>>();
    }
}
