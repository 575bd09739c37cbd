//! A Kubernetes object as the operator applies it: plain JSON with an identity.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt, sync::Arc};

/// The identity of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// `apps/v1`
    pub api_version: String,
    /// `Deployment`
    pub kind: String,
    /// `None` for a cluster-scoped object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Key {
    /// A `ConfigMap`.
    #[must_use]
    pub fn config_map(namespace: &str, name: &str) -> Self {
        Self::namespaced("v1", "ConfigMap", namespace, name)
    }

    /// A Secret.
    #[must_use]
    pub fn secret(namespace: &str, name: &str) -> Self {
        Self::namespaced("v1", "Secret", namespace, name)
    }

    /// An object in a namespace.
    #[must_use]
    pub fn namespaced(api_version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..Self::of_cluster(api_version, kind, name)
        }
    }

    /// A cluster-scoped object.
    #[must_use]
    pub fn of_cluster(api_version: &str, kind: &str, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: None,
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// Why something could not be read, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unread(pub String);

/// What is known of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup {
    /// It exists.
    Found(Arc<Value>),
    /// It does not exist, or its kind is not served.
    Absent,
    /// It could not be read, and why.
    Unknown(String),
}

/// An object, as JSON: the fields that the operator sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    key: Key,
    value: Value,
}

/// The field that is missing in an object.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a Kubernetes object: {0} is missing")]
pub struct Nameless(&'static str);

impl Object {
    /// Parses an object.
    ///
    /// # Errors
    /// If it has no `apiVersion`, `kind` or `metadata.name`.
    pub fn new(value: Value) -> Result<Self, Nameless> {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let key = Key {
            api_version: text("/apiVersion").ok_or(Nameless("apiVersion"))?,
            kind: text("/kind").ok_or(Nameless("kind"))?,
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name").ok_or(Nameless("metadata.name"))?,
        };
        Ok(Self { key, value })
    }

    /// Converts a typed object.
    ///
    /// # Errors
    /// If it has no name.
    pub fn of<K: Serialize>(object: &K) -> Result<Self, Nameless> {
        Self::new(serde_json::to_value(object).map_err(|_| Nameless("apiVersion"))?)
    }

    /// Its identity.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The whole object.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The whole object, by value.
    pub fn into_value(self) -> Value {
        self.value
    }
}
