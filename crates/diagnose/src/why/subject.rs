//! What the user asks about.

use std::{fmt, str::FromStr};

/// A kind that can be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A Service.
    Service,
    /// A Node.
    Node,
    /// A `CloudControllerManager`.
    Manager,
}

/// An object: `service/web`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
}

/// It does not name an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no object: write service/NAME, node/NAME or ccm/NAME")]
pub struct Unknown(String);

impl FromStr for Subject {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let unknown = || Unknown(text.to_owned());
        let (kind, name) = text.split_once('/').ok_or_else(unknown)?;
        let kind = match kind.to_ascii_lowercase().as_str() {
            "service" | "services" | "svc" => Kind::Service,
            "node" | "nodes" | "no" => Kind::Node,
            "ccm" | "cloudcontrollermanager" | "cloudcontrollermanagers" => Kind::Manager,
            _ => return Err(unknown()),
        };
        if name.is_empty() || name.contains('/') {
            return Err(unknown());
        }
        Ok(Self {
            kind,
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Service => "Service",
            Self::Node => "Node",
            Self::Manager => "CloudControllerManager",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::service("service/web", Some("Service web"))]
    #[case::short("svc/web", Some("Service web"))]
    #[case::node("Node/a.example", Some("Node a.example"))]
    #[case::manager("ccm/west", Some("CloudControllerManager west"))]
    #[case::no_kind("web", None)]
    #[case::other_kind("pod/web", None)]
    #[case::no_name("svc/", None)]
    #[case::two_names("svc/default/web", None)]
    fn parses(#[case] text: &str, #[case] expected: Option<&str>) {
        let subject: Result<Subject, _> = text.parse();
        let named = subject.map(|it| format!("{} {}", it.kind, it.name));
        assert_eq!(named.as_deref().ok(), expected);
    }
}
