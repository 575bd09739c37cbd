//! Secrets in JSON that is whole.

use super::REDACTED;
use serde_json::Value;

/// An object or list; anything else is as good as plain text.
pub(super) fn parse(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    (value.is_object() || value.is_array()).then_some(value)
}

/// Hides the values of secret keys, and what is secret in any other text.
pub(super) fn hide(value: &mut Value, is_secret: &dyn Fn(&str) -> bool, text: &dyn Fn(&str) -> String) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match value {
                    Value::Null => {}
                    _ if is_secret(key) => *value = REDACTED.into(),
                    value => hide(value, is_secret, text),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| hide(value, is_secret, text)),
        Value::String(string) => *string = text(string),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The texts under secret keys. An object under such a key is looked into: a login has its user's name there, too.
pub(super) fn secrets<'a>(value: &'a Value, is_secret: &dyn Fn(&str) -> bool) -> Vec<&'a str> {
    let under = |(key, value): (&String, &'a Value)| match value {
        Value::String(string) if is_secret(key) => vec![string.as_str()],
        Value::Array(list) if is_secret(key) => list.iter().filter_map(Value::as_str).collect(),
        value => secrets(value, is_secret),
    };
    match value {
        Value::Object(object) => object.iter().flat_map(under).collect(),
        Value::Array(list) => list.iter().flat_map(|value| secrets(value, is_secret)).collect(),
        _ => Vec::new(),
    }
}
