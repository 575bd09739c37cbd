//! Chooses the source of the cloud configuration.

use super::{Content, Error, KEY, MANAGED_NAME, MANAGED_NAMESPACE, USER_NAMESPACE, Writer};
use k8s_openapi::api::core::v1::ConfigMap;
use operator_api::infrastructure::CloudConfig;
use std::collections::BTreeMap;

/// The initial configuration of vSphere, if there is none: all values come from the Infrastructure.
const SEED: &str = "global: {}\nvcenter: {}\n";

/// A source, with its configuration under the key `cloud.conf`.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The whole content: the operand may read other keys, too.
    pub content: Content,
    /// The name of the source, for messages.
    pub origin: String,
    /// Warnings for the user, each one sentence.
    pub warnings: Vec<String>,
}

impl Chosen {
    /// The configuration.
    pub(crate) fn text(&self) -> &str {
        self.content.data.get(KEY).map_or("", String::as_str)
    }
}

/// Chooses the managed `ConfigMap`, or the one that the Infrastructure names, or none.
///
/// `managed` must be `None` for a platform that does not read it.
///
/// # Errors
/// If the `ConfigMap` or the key that the Infrastructure names does not exist.
pub fn choose(
    writer: Writer,
    reference: &CloudConfig,
    managed: Option<&ConfigMap>,
    referenced: Option<&ConfigMap>,
) -> Result<Chosen, Error> {
    let user = format!("ConfigMap {USER_NAMESPACE}/{}", reference.name);
    if let Some(map) = managed {
        return prepare(
            map,
            &reference.key,
            format!("ConfigMap {MANAGED_NAMESPACE}/{MANAGED_NAME}"),
        );
    }
    match referenced.filter(|_| !reference.name.is_empty()) {
        Some(map) => prepare(map, &reference.key, user),
        None if writer == Writer::ThisOperator => Ok(seed()),
        None if reference.name.is_empty() && !reference.key.is_empty() => Err(Error::Terminal(format!(
            "spec.cloudConfig of the Infrastructure has the key {:?} but no name: name a ConfigMap in {USER_NAMESPACE}, \
             or remove the key",
            reference.key
        ))),
        None if !reference.key.is_empty() => Err(Error::Terminal(format!(
            "{user} does not exist, but spec.cloudConfig of the Infrastructure names it: create it with the key {:?}, \
             or remove the reference",
            reference.key
        ))),
        None => Ok(nothing(reference, &user)),
    }
}

/// Moves the configuration to the key `cloud.conf`.
fn prepare(map: &ConfigMap, key: &str, origin: String) -> Result<Chosen, Error> {
    let mut content = Content::from(map);
    if !content.data.contains_key(KEY) {
        let text = match content.data.remove(key) {
            Some(text) => text,
            None if key.is_empty() => String::new(),
            None => return Err(Error::Terminal(missing(&content, key, &origin))),
        };
        content.data.insert(KEY.to_owned(), text);
    }
    Ok(Chosen {
        content,
        origin,
        warnings: Vec::new(),
    })
}

fn missing(content: &Content, key: &str, origin: &str) -> String {
    if content.binary_data.contains_key(key) {
        return format!("{origin} has the key {key:?} in binaryData: put it into data, as text");
    }
    let keys: Vec<_> = content.data.keys().map(String::as_str).collect();
    let has = if keys.is_empty() {
        "nothing".to_owned()
    } else {
        keys.join(", ")
    };
    format!(
        "{origin} has no key {key:?}, which spec.cloudConfig of the Infrastructure names: add it or correct the \
         reference; it has {has}"
    )
}

fn seed() -> Chosen {
    Chosen {
        content: Content {
            data: BTreeMap::from([(KEY.to_owned(), SEED.to_owned())]),
            ..Content::default()
        },
        origin: "the Infrastructure".to_owned(),
        warnings: Vec::new(),
    }
}

fn nothing(reference: &CloudConfig, user: &str) -> Chosen {
    let (origin, warnings) = if reference.name.is_empty() {
        (
            "the cloud configuration, which spec.cloudConfig of the Infrastructure does not name".to_owned(),
            Vec::new(),
        )
    } else {
        let warning = format!(
            "{user} does not exist, but spec.cloudConfig of the Infrastructure names it: an empty cloud configuration \
             is used instead"
        );
        (format!("{user}, which does not exist"), vec![warning])
    };
    let content = Content {
        data: BTreeMap::from([(KEY.to_owned(), String::new())]),
        ..Content::default()
    };
    Chosen {
        content,
        origin,
        warnings,
    }
}
