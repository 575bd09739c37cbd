//! The name of a machine that lasts: `spec.providerID` of a Node.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What stands in `spec.providerID`: opaque outside its provider, stable for the life of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderId(String);

impl ProviderId {
    /// Takes the text as it is; an empty text is no ID.
    pub fn parse(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (!text.is_empty()).then_some(Self(text))
    }

    /// The text as it stands in the Node.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before `://`, if there is one.
    pub fn scheme(&self) -> Option<&str> {
        self.0.split_once("://").map(|(scheme, _)| scheme)
    }
}

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::empty("", "no ID")]
    #[case::plain("abc", "no scheme")]
    #[case::scheme("openstack:///abc", "openstack")]
    fn parses(#[case] text: &str, #[case] expected: &str) {
        let id = ProviderId::parse(text);
        assert_eq!(
            id.as_ref().map_or("no ID", |id| id.scheme().unwrap_or("no scheme")),
            expected
        );
    }
}
