//! The content of a `ConfigMap`.

use crate::object::Object;
use k8s_openapi::{ByteString, api::core::v1::ConfigMap};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt};

/// The content of a `ConfigMap`. Its `Debug` shows keys only: a cloud configuration may contain passwords.
#[derive(Clone, Default, PartialEq)]
pub struct Content {
    /// Texts by key.
    pub data: BTreeMap<String, String>,
    /// Bytes by key.
    pub binary_data: BTreeMap<String, ByteString>,
    /// Whether it may be changed later.
    pub mutability: Mutability,
}

/// Whether a `ConfigMap` may be changed later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mutability {
    /// It can be changed.
    #[default]
    Mutable,
    /// The API server refuses changes.
    Immutable,
}

impl Content {
    /// The `ConfigMap` of this name with this content.
    ///
    /// # Panics
    /// Never: the object has a name.
    pub fn object(&self, namespace: &str, name: &str) -> Object {
        let mut map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "namespace": namespace, "name": name },
            "data": self.data,
        });
        if !self.binary_data.is_empty() {
            map["binaryData"] = json!(self.binary_data);
        }
        if self.mutability == Mutability::Immutable {
            map["immutable"] = json!(true);
        }
        Object::new(map).expect("it has a kind and a name")
    }

    /// The same content with another text.
    #[must_use]
    pub(crate) fn with(mut self, key: &str, text: String) -> Self {
        self.data.insert(key.to_owned(), text);
        self
    }
}

/// Whether two `ConfigMaps` have the same meaning. The Go operator's encoder sorts the keys of JSON, drops those without a value and adds zeros.
pub(crate) fn has_same_meaning(a: &Value, b: &Value) -> bool {
    let meaning = |map: &Value| {
        let texts = map["data"].as_object().into_iter().flatten();
        texts
            .map(|(key, text)| (key.clone(), without_zeros(text)))
            .collect::<BTreeMap<_, _>>()
    };
    meaning(a) == meaning(b) && a.get("binaryData") == b.get("binaryData")
}

/// A text; if it is JSON, without the fields that have no value.
fn without_zeros(text: &Value) -> Value {
    let parsed = text.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let mut parsed = parsed.unwrap_or_else(|| text.clone());
    let is_zero = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    };
    if let Some(fields) = parsed.as_object_mut() {
        fields.retain(|_, value| !is_zero(value));
    }
    parsed
}

impl From<&ConfigMap> for Content {
    fn from(map: &ConfigMap) -> Self {
        Self {
            data: map.data.clone().unwrap_or_default(),
            binary_data: map.binary_data.clone().unwrap_or_default(),
            mutability: match map.immutable {
                Some(true) => Mutability::Immutable,
                Some(false) | None => Mutability::Mutable,
            },
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content")
            .field("data", &self.data.keys())
            .field("binary_data", &self.binary_data.keys())
            .field("mutability", &self.mutability)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::equal("[Global]", "[Global]", true)]
    #[case::edited("[Global]", "[Global]\n", false)]
    #[case::order_of_keys(r#"{"b": 1, "a": "x"}"#, r#"{"a":"x","b":1}"#, true)]
    #[case::zeros(r#"{"a": "x", "b": ""}"#, r#"{"a":"x","Entries":null,"enable":false,"n":0}"#, true)]
    #[case::edited_json(r#"{"a": "x"}"#, r#"{"a": "y"}"#, false)]
    #[case::removed(r#"{"a": "x", "b": "y"}"#, r#"{"a": "x"}"#, false)]
    fn compares_by_meaning(#[case] a: &str, #[case] b: &str, #[case] expected: bool) {
        let map = |text: &str| json!({"data": {"cloud.conf": text}});
        assert_eq!(has_same_meaning(&map(a), &map(b)), expected);
    }
}
