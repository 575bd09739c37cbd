//! A flag without an effect.

use super::Value;

/// The value of a flag that is accepted, so that existing manifests work, and has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    kind: &'static str,
    written: String,
}

impl Ignored {
    /// A flag with the type and the default of the Go program.
    #[must_use]
    pub fn new(kind: &'static str, default: &str) -> Self {
        Self {
            kind,
            written: default.to_owned(),
        }
    }

    /// Whether it has a value other than nothing and `0`.
    pub fn is_set(&self) -> bool {
        !matches!(self.written.as_str(), "" | "0")
    }
}

impl Value for Ignored {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        self.written = given.join(",");
        Ok(())
    }

    fn print(&self) -> String {
        self.written.clone()
    }
}
