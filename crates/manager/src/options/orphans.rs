//! The treatment of load balancers whose Service does not exist.

use runtime::flags::Value;

/// `--load-balancer-orphans`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Orphans {
    /// They are ignored.
    #[default]
    Ignore,
    /// They are reported.
    Report,
    /// They are reported and deleted.
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
