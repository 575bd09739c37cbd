//! `${name}` in a manifest, replaced after the YAML has been parsed: a value cannot change the structure of the YAML.

use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap};

/// The values of placeholders.
pub type Values = BTreeMap<&'static str, Value>;

/// A placeholder that cannot be replaced.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// It has no value.
    #[error("placeholder ${{{0}}} is not known")]
    Name(String),
    /// `${` is not closed.
    #[error("a placeholder in {0:?} has no end")]
    Open(String),
}

/// The reader of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// Kubernetes, which reads it unchanged.
    Kubernetes,
    /// A shell, for which a value must stay one word.
    Shell,
}

/// Replaces every placeholder in every text. A text that consists of one placeholder becomes its value, which may be a number.
///
/// Placeholders in values are not replaced. Under the key `run`, whose text becomes a script, values are quoted if necessary.
pub fn fill(value: &mut Value, values: &Values) -> Result<(), Unknown> {
    fill_for(value, values, Reader::Kubernetes)
}

fn fill_for(value: &mut Value, values: &Values, reader: Reader) -> Result<(), Unknown> {
    match value {
        Value::String(text) => *value = filled(text, values, reader)?,
        Value::Array(items) => items.iter_mut().try_for_each(|item| fill_for(item, values, reader))?,
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                let reader = if key == "run" { Reader::Shell } else { reader };
                fill_for(value, values, reader)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn filled(text: &str, values: &Values, reader: Reader) -> Result<Value, Unknown> {
    let find = |name: &str| values.get(name).ok_or_else(|| Unknown::Name(name.to_owned()));
    let mut rest = text;
    let mut parts = String::new();
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or_else(|| Unknown::Open(text.to_owned()))?;
        let value = find(name)?;
        if before.is_empty() && after.is_empty() && parts.is_empty() {
            return Ok(value.clone());
        }
        parts.push_str(before);
        parts.push_str(&word(value, reader));
        rest = after;
    }
    parts.push_str(rest);
    Ok(Value::String(parts))
}

fn word(value: &Value, reader: Reader) -> Cow<'_, str> {
    let text = value.as_str().map_or_else(|| value.to_string().into(), Cow::Borrowed);
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.,:=/@%+-".contains(c);
    match reader {
        Reader::Shell if !text.chars().all(plain) => format!("'{}'", text.replace('\'', r"'\''")).into(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn values() -> Values {
        [
            ("name", json!("aws")),
            ("replicas", json!(2)),
            ("tricky", json!("a: 'b'\n${name}")),
            ("empty", json!("")),
        ]
        .into()
    }

    #[rstest]
    #[case::whole(json!("${name}"), json!("aws"))]
    #[case::keeps_its_type(json!("${replicas}"), json!(2))]
    #[case::within(json!("<${name}-${replicas}>"), json!("<aws-2>"))]
    #[case::next_to_each_other(json!("${name}${name}"), json!("awsaws"))]
    #[case::empty(json!("--x=${empty}"), json!("--x="))]
    #[case::deep(json!({"a": [{"b": "${name}"}], "c": true}), json!({"a": [{"b": "aws"}], "c": true}))]
    #[case::not_looked_into_again(json!("${tricky}"), json!("a: 'b'\n${name}"))]
    #[case::of_kubernetes(json!("$(name) $name"), json!("$(name) $name"))]
    #[case::one_word_in_a_script(json!({"run": ["--a=${tricky}"]}), json!({"run": ["--a='a: '\\''b'\\''\n${name}'"]}))]
    #[case::plain_word_in_a_script(json!({"run": ["--a=${name}"]}), json!({"run": ["--a=aws"]}))]
    fn fills(#[case] mut value: Value, #[case] expected: Value) {
        fill(&mut value, &values()).unwrap();
        assert_eq!(value, expected);
    }

    #[rstest]
    #[case("${nmae}", "placeholder ${nmae} is not known")]
    #[case("x ${name", "a placeholder in \"x ${name\" has no end")]
    fn refuses(#[case] text: &str, #[case] message: &str) {
        assert_eq!(fill(&mut json!([text]), &values()).unwrap_err().to_string(), message);
    }
}
