//! What becomes of load balancers whose Service is gone.

use runtime::flags::Value;

/// `--load-balancer-orphans`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Orphans {
    /// Nobody looks for them.
    #[default]
    Ignore,
    /// They are told of.
    Report,
    /// They are told of and deleted.
    Delete,
}

impl Value for Orphans {
    fn kind(&self) -> &'static str {
        "string"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        for text in given {
            *self = match text.as_str() {
                "ignore" => Self::Ignore,
                "report" => Self::Report,
                "delete" => Self::Delete,
                _ => return Err("neither ignore, report nor delete".to_owned()),
            };
        }
        Ok(())
    }

    fn print(&self) -> String {
        match self {
            Self::Ignore => "ignore",
            Self::Report => "report",
            Self::Delete => "delete",
        }
        .to_owned()
    }

    fn default_note(&self) -> Option<String> {
        Some(format!("{:?}", self.print()))
    }
}
