//! Merges the manifest of a platform into the shared one.

use serde_json::{Map, Value};

/// Merges `over` into `base`.
///
/// Maps are merged, and `null` removes a key. Lists are merged if every item has an identity: a `name` (containers,
/// volumes, variables, ports), or the name of the flag; new items are appended. Any other list, and any other value,
/// is replaced.
pub fn lay(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => lay_map(base, over),
        (Value::Array(base), Value::Array(over)) if base.iter().chain(&over).all(|item| identity(item).is_some()) => {
            lay_list(base, over);
        }
        (base, over) => *base = over,
    }
}

fn lay_map(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match base.get_mut(&key) {
            _ if value.is_null() => {
                base.remove(&key);
            }
            Some(there) => lay(there, value),
            None => {
                base.insert(key, value);
            }
        }
    }
}

fn lay_list(base: &mut Vec<Value>, over: Vec<Value>) {
    for item in over {
        match base.iter_mut().find(|there| identity(there) == identity(&item)) {
            Some(there) => lay(there, item),
            None => base.push(item),
        }
    }
}

/// The identity of an item of a list.
fn identity(item: &Value) -> Option<&str> {
    match item {
        Value::Object(map) => {
            let named = map.get("name").and_then(Value::as_str);
            named.or_else(|| map.get("flag").and_then(flag_name))
        }
        item => flag_name(item),
    }
}

fn flag_name(item: &Value) -> Option<&str> {
    let flag = item.as_str().filter(|text| text.starts_with('-'))?;
    Some(flag.split_once('=').map_or(flag, |(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::maps(json!({"a": 1, "b": {"c": 2}}), json!({"b": {"d": 3}}), json!({"a": 1, "b": {"c": 2, "d": 3}}))]
    #[case::null_takes_away(json!({"a": 1, "b": 2}), json!({"a": null}), json!({"b": 2}))]
    #[case::null_of_nothing(json!({}), json!({"a": null}), json!({}))]
    #[case::by_name(
        json!([{"name": "x", "a": 1}, {"name": "y"}]),
        json!([{"name": "z"}, {"name": "x", "b": 2}]),
        json!([{"name": "x", "a": 1, "b": 2}, {"name": "y"}, {"name": "z"}])
    )]
    #[case::flags(json!(["--a=1", "-b"]), json!(["-b=2", "--c"]), json!(["--a=1", "-b=2", "--c"]))]
    #[case::flags_under_a_condition(
        json!([{"flag": "--a=1", "given": "x"}, "--b"]),
        json!(["--a=2"]),
        json!(["--a=2", "--b"])
    )]
    #[case::other_lists(json!(["get", "list"]), json!(["watch"]), json!(["watch"]))]
    #[case::lists_of_nameless(json!([{"key": "a"}]), json!([{"key": "b"}]), json!([{"key": "b"}]))]
    #[case::another_type(json!({"a": [1]}), json!({"a": "text"}), json!({"a": "text"}))]
    fn overlays_objects(#[case] mut base: Value, #[case] over: Value, #[case] expected: Value) {
        lay(&mut base, over);
        assert_eq!(base, expected);
    }
}
