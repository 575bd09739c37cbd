//! What the API shows.

use provider_kit::{
    json::{self, Object},
    load_balancer::{Condition, single::Whole},
};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// A number that serves as a name.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    u64::deserialize(deserializer).map(|number| number.to_string())
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct Droplet {
    #[serde(deserialize_with = "number")]
    pub id: String,
    pub name: String,
    pub status: String,
    pub size_slug: String,
    pub region: Region,
    /// By IP family: `v4` and `v6`.
    #[serde(default)]
    pub networks: BTreeMap<String, Vec<Network>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct Region {
    pub slug: String,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Network {
    pub ip_address: String,
    #[serde(rename = "type")]
    pub kind: String,
}

/// A load balancer; its settings have the names that they have in requests.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadBalancer {
    pub id: String,
    pub status: String,
    #[serde(flatten)]
    pub settings: Object,
}

impl Whole for LoadBalancer {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        json::text(&self.settings, "name")
    }

    fn condition(&self) -> Condition {
        match self.status.as_str() {
            "active" => Condition::Ready,
            "new" => Condition::Busy("to become active"),
            _ => Condition::Broken,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct Certificate {
    pub id: String,
    pub name: String,
    #[serde(rename = "type", default)]
    pub kind: String,
}

/// A cloud firewall; its settings have the names that they have in requests.
#[derive(Debug, Clone, Deserialize)]
pub struct Firewall {
    pub id: String,
    pub name: String,
    #[serde(flatten)]
    pub settings: Object,
}
