//! The image of each container: `images.json`, and the rule that a container's name selects its image.

use crate::platforms::{Error, Platform, Provider, manifest::Wrong};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The name of the container with the cloud controller manager.
pub const MANAGER: &str = "cloud-controller-manager";
/// The key of the operator's own image.
pub const OPERATOR: &str = "cloudControllerManagerOperator";

/// Images by their key in `images.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Images {
    by_key: BTreeMap<String, String>,
    own: Option<String>,
}

/// Why `images.json` cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// It is not a JSON object.
    #[error("images.json is not a JSON object (line {line}, column {column})")]
    Json {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// The value of a needed key is not a text.
    #[error("images.json: {key} has to be a text")]
    NotText {
        /// The key.
        key: String,
    },
}

impl Images {
    /// Parses `images.json`. Unused keys are ignored, and of duplicate keys the last one counts.
    ///
    /// # Errors
    /// If it is not a JSON object, or an image is not a text. A missing key is no error yet.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let parsed: BTreeMap<String, Value> = serde_json::from_str(text).map_err(|source| ParseError::Json {
            line: source.line(),
            column: source.column(),
            source,
        })?;
        let mut by_key = BTreeMap::new();
        for (key, value) in parsed {
            match value {
                Value::String(image) => drop(by_key.insert(key, image)),
                Value::Null => {}
                _ if is_known(&key) => return Err(ParseError::NotText { key }),
                _ => {}
            }
        }
        Ok(Self { by_key, own: None })
    }

    /// The image of this project, instead of the operator's in `images.json`.
    #[must_use]
    pub fn with_own(mut self, image: impl Into<String>) -> Self {
        self.own = Some(image.into());
        self
    }

    /// The image of a key, if it has one.
    pub fn find(&self, key: &str) -> Option<&str> {
        self.by_key
            .get(key)
            .map(String::as_str)
            .filter(|image| !image.is_empty())
    }

    /// The image of this project's programs.
    pub fn own(&self) -> Option<&str> {
        self.own.as_deref().or_else(|| self.find(OPERATOR))
    }
}

/// The images of a platform by container, and which project's manager it is.
#[derive(Debug)]
pub struct Chosen {
    /// Which project's manager it is.
    pub provider: Provider,
    by_container: BTreeMap<&'static str, String>,
}

/// Finds an image for every container of a platform.
///
/// An image that `images.json` names is used. Otherwise the manager is this project's, if it supports the platform.
pub fn choose(platform: &Platform, images: &Images) -> Result<Chosen, Error> {
    let mut chosen = Chosen {
        provider: Provider::Theirs,
        by_container: BTreeMap::new(),
    };
    let mut missing = BTreeSet::new();
    for &(container, key) in platform.images {
        let ours = container == MANAGER && platform.provider == Provider::Ours;
        match (images.find(key), images.own()) {
            (Some(image), _) => drop(chosen.by_container.insert(container, image.to_owned())),
            (None, Some(own)) if ours => {
                chosen.provider = Provider::Ours;
                chosen.by_container.insert(container, own.to_owned());
            }
            _ => drop(missing.insert(key.to_owned())),
        }
    }
    if missing.is_empty() {
        return Ok(chosen);
    }
    Err(Error::Images {
        platform: platform.type_,
        fields: missing.into_iter().collect(),
    })
}

impl Chosen {
    /// Sets the image of a container by its name.
    pub fn put(&self, container: &mut Value) -> Result<(), Wrong> {
        let name = container["name"].as_str().unwrap_or_default();
        match self.by_container.get(name) {
            Some(image) => container["image"] = image.as_str().into(),
            None if container["image"].is_string() => {}
            None => {
                return Err(Wrong::manifest(format!(
                    "container {name:?} has no image, and the platform names none for it"
                )));
            }
        }
        Ok(())
    }
}

fn is_known(key: &str) -> bool {
    let mut of_platforms = crate::platforms::ALL.iter().flat_map(|platform| platform.images);
    key == OPERATOR || of_platforms.any(|(_, known)| *known == key)
}

#[cfg(test)]
mod tests;
