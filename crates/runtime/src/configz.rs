//! `/configz`: the current configuration, by API group.

use parking_lot::RwLock;
use serde::Serialize;
use std::{collections::BTreeMap, sync::Arc};

/// The configurations of a process. Clones share them. They must not contain secrets.
#[derive(Debug, Clone, Default)]
pub struct Configz(Arc<RwLock<BTreeMap<String, String>>>);

impl Configz {
    /// Sets the configuration of `group`.
    ///
    /// # Errors
    /// If it cannot be serialized as JSON.
    pub fn set(&self, group: &str, config: &impl Serialize) -> serde_json::Result<()> {
        // Kept as text, to keep the order of the fields.
        let json = serde_json::to_string(config)?;
        self.0.write().insert(group.to_owned(), json);
        Ok(())
    }

    /// All configurations as one JSON object.
    pub fn json(&self) -> String {
        let configs = self.0.read();
        let members: Vec<_> = configs
            .iter()
            .map(|(group, json)| format!("{}:{json}", serde_json::Value::from(group.as_str())))
            .collect();
        format!("{{{}}}", members.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Config {
        kind: &'static str,
        #[serde(rename = "apiVersion")]
        api_version: &'static str,
    }

    #[test]
    fn shows_each_group_in_order_and_fields_as_declared() {
        let configz = Configz::default();
        assert_eq!(configz.json(), "{}");
        configz
            .set(
                "z.k8s.io",
                &Config {
                    kind: "Z",
                    api_version: "z/v1",
                },
            )
            .unwrap();
        configz
            .set(
                "a\"b",
                &Config {
                    kind: "old",
                    api_version: "a/v1",
                },
            )
            .unwrap();
        configz
            .clone()
            .set(
                "a\"b",
                &Config {
                    kind: "A",
                    api_version: "a/v1",
                },
            )
            .unwrap();
        let expected = r#"{"a\"b":{"kind":"A","apiVersion":"a/v1"},"z.k8s.io":{"kind":"Z","apiVersion":"z/v1"}}"#;
        assert_eq!(configz.json(), expected);
    }
}
