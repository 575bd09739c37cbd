//! The stable name of a machine: `spec.providerID` of a Node.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The value of `spec.providerID`: opaque outside of its provider, stable for the life of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderId(String);

impl ProviderId {
    /// The text as it is; an empty text is not an ID.
    pub fn parse(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (!text.is_empty()).then_some(Self(text))
    }

    /// The text.
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
