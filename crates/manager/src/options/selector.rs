//! Label selectors as kubectl accepts them: `a=b,c!=d,e in (f,g),h,!i`.

use controllers::nodes::scope::parse_selector;
use kube::core::{Selector, SelectorExt};
use runtime::flags::Value;
use std::collections::BTreeMap;

/// The nodes that this manager owns; empty for all.
#[derive(Debug, Clone, Default)]
pub struct NodeSelector {
    written: String,
    selector: Selector,
}

impl NodeSelector {
    /// Whether it matches these labels.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector.matches(labels)
    }

    /// The parsed selector.
    pub fn selector(&self) -> &Selector {
        &self.selector
    }

    /// The text, as in a list or watch request.
    pub fn written(&self) -> &str {
        &self.written
    }
}

impl PartialEq for NodeSelector {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl std::str::FromStr for NodeSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self {
            written: text.to_owned(),
            selector: parse_selector(text).map_err(|error| error.to_string())?,
        })
    }
}

impl Value for NodeSelector {
    fn kind(&self) -> &'static str {
        "string"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        for text in given {
            *self = text.parse()?;
        }
        Ok(())
    }

    fn print(&self) -> String {
        self.written.clone()
    }
}
