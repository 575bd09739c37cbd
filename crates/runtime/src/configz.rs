//! What `/configz` shows: the configuration in effect, keyed by its API group.

use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

/// The configurations of a process. Clones share them. Nothing secret may be put in.
#[derive(Debug, Clone, Default)]
pub struct Configz(Arc<RwLock<BTreeMap<String, String>>>);

impl Configz {
    /// Shows `config` under `group`, in place of what was there.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn set(&self, group: &str, config: &impl Serialize) -> serde_json::Result<()> {
        // Kept as text, so that the fields stay in the order of the type.
        let json = serde_json::to_string(config)?;
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(group.to_owned(), json);
        Ok(())
    }

    /// One JSON object with everything.
    pub fn json(&self) -> String {
        let configs = self.0.read().unwrap_or_else(PoisonError::into_inner);
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
