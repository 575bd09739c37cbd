//! JSON bodies: how they are built, and whether what an API shows is what it was sent.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A JSON object.
pub type Object = Map<String, Value>;

/// An object without the fields that are `null` or an empty text, at any depth: an `Option` in `json!` is a field that may be left out.
#[must_use]
pub fn object(value: Value) -> Object {
    object_of(given(value))
}

/// The text of a field; empty if there is none.
#[must_use]
pub fn text<'a>(object: &'a Object, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The items of a list; none if there is no list.
#[must_use]
pub fn items<'a>(object: &'a Object, field: &str) -> &'a [Value] {
    object.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The names of the fields of which the API shows something else than what is desired.
///
/// Only fields that are desired count, and those with a default, which holds wherever a field is missing or empty. So do fields of objects
/// within. Lists are compared in any order, and their items as a whole: what is missing in one of two items has to be empty in the other.
#[must_use]
pub fn differences(observed: &Object, desired: &Object, defaults: &Value) -> Vec<String> {
    let filled = |object: &Object| object_of(fill(&Value::Object(object.clone()), defaults));
    let (observed, desired) = (filled(observed), filled(desired));
    let differs = |(name, value): &(&String, &Value)| !holds(field(&observed, name), value);
    desired.iter().filter(differs).map(|(name, _)| name.clone()).collect()
}

fn given(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null() && value != "");
            fields.map(|(name, value)| (name, given(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(given).collect(),
        other => other,
    }
}

fn object_of(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

fn field<'a>(object: &'a Object, name: &str) -> &'a Value {
    object.get(name).unwrap_or(&Value::Null)
}

fn fill(value: &Value, default: &Value) -> Value {
    match (value, default) {
        (Value::Object(fields), Value::Object(defaults)) => {
            let mut filled = fields.clone();
            let with_default = defaults
                .iter()
                .map(|(name, default)| (name.clone(), fill(field(fields, name), default)));
            filled.extend(with_default);
            Value::Object(filled)
        }
        (value, default) if is_empty(value) => default.clone(),
        (value, _) => value.clone(),
    }
}

fn holds(observed: &Value, desired: &Value) -> bool {
    match (observed, desired) {
        (Value::Object(observed), Value::Object(desired)) => {
            desired.iter().all(|(name, value)| holds(field(observed, name), value))
        }
        (observed, desired) => normal(observed) == normal(desired),
    }
}

/// Without what is empty, and with lists in one order. `null` if nothing is left.
fn normal(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let given = fields.iter().map(|(name, value)| (name.clone(), normal(value)));
            let given: BTreeMap<_, _> = given.filter(|(_, value)| !value.is_null()).collect();
            non_empty(given.into_iter().collect())
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(normal).collect();
            items.sort_by_cached_key(Value::to_string);
            non_empty(Value::Array(items))
        }
        other => non_empty(other.clone()),
    }
}

fn non_empty(value: Value) -> Value {
    if is_empty(&value) { Value::Null } else { value }
}

/// An API may show what is empty, or leave it out.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::same(json!({"a": 1}), json!({"a": 1}), "")]
    #[case::other(json!({"a": 1}), json!({"a": 2}), "a")]
    #[case::missing(json!({}), json!({"a": 2}), "a")]
    #[case::missing_but_empty(json!({}), json!({"a": false, "b": "", "c": 0, "d": [], "e": null}), "")]
    #[case::empty_for_something(json!({"a": "x"}), json!({"a": ""}), "a")]
    #[case::not_desired(json!({"a": 1, "b": 2}), json!({"a": 1}), "")]
    #[case::not_desired_within(json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": 1}}), "")]
    #[case::other_within(json!({"a": {"b": 1}}), json!({"a": {"b": 2}}), "a")]
    #[case::any_order(json!({"a": [{"x": 1, "y": [1, 2]}, {"x": 2}]}), json!({"a": [{"x": 2}, {"y": [2, 1], "x": 1}]}), "")]
    #[case::item_more(json!({"a": [1, 2]}), json!({"a": [1]}), "a")]
    #[case::item_twice(json!({"a": [1, 1]}), json!({"a": [1, 2]}), "a")]
    #[case::items_as_a_whole(json!({"a": [{"x": 1, "y": 2}]}), json!({"a": [{"x": 1}]}), "a")]
    #[case::items_with_empty_fields(json!({"a": [{"x": 1, "y": ""}]}), json!({"a": [{"x": 1}]}), "")]
    #[case::default_of_the_api(json!({"size": 1}), json!({}), "")]
    #[case::default_restored(json!({"size": 2}), json!({}), "size")]
    #[case::default_not_shown(json!({"session": {}}), json!({"session": {"kind": "none"}}), "")]
    #[case::several(json!({"b": 1}), json!({"a": 1, "b": 2}), "a b")]
    fn compares(#[case] observed: Value, #[case] desired: Value, #[case] expected: &str) {
        let defaults = json!({"size": 1, "session": {"kind": "none"}});
        let found = differences(&object_of(observed), &object_of(desired), &defaults);
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn omits_what_is_not_given() {
        let built = object(json!({"a": None::<u8>, "b": [{"c": null, "d": 1}], "e": "", "f": false}));
        assert_eq!(Value::Object(built.clone()), json!({"b": [{"d": 1}], "f": false}));
        assert_eq!(
            (
                text(&built, "e"),
                text(&built, "b"),
                items(&built, "b").len(),
                items(&built, "x").len()
            ),
            ("", "", 1, 0)
        );
    }
}
