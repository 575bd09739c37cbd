//! EC2.

pub mod instances;
pub mod interfaces;
pub mod routes;
pub mod security_groups;
pub mod subnets;
pub mod tags;
pub mod topology;
pub mod zones;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A tag of an object, of any service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tag {
    /// Its key.
    #[serde(rename(serialize = "Key"), alias = "Key")]
    pub key: String,
    /// Its value, which may be empty.
    #[serde(rename(serialize = "Value"), alias = "Value", default)]
    pub value: String,
}

impl Tag {
    /// A tag.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
        }
    }
}

/// An item of `Filter`: objects that have one of these values.
pub fn filter<V: AsRef<str>>(name: &str, values: impl IntoIterator<Item = V>) -> Value {
    let values: Vec<String> = values.into_iter().map(|value| value.as_ref().to_owned()).collect();
    json!({"Name": name, "Value": values})
}
