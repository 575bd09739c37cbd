//! What a `ConfigMap` holds.

use crate::object::Object;
use k8s_openapi::{ByteString, api::core::v1::ConfigMap};
use serde_json::json;
use std::{collections::BTreeMap, fmt};

/// What a `ConfigMap` holds. Its `Debug` shows keys only: a cloud configuration may have passwords.
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
    /// It may.
    #[default]
    Mutable,
    /// The API server refuses changes.
    Immutable,
}

impl Content {
    /// The `ConfigMap` of this name that holds it.
    ///
    /// # Panics
    /// Never: it has a name.
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

    /// The same with another text.
    #[must_use]
    pub(crate) fn with(mut self, key: &str, text: String) -> Self {
        self.data.insert(key.to_owned(), text);
        self
    }
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
