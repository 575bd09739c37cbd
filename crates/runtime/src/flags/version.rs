//! `--version`.

use super::{Arity, Switch, Value, value::last};

/// The value of `--version`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// Run the program.
    #[default]
    Run,
    /// Print the version and exit.
    Print,
    /// Print all build information and exit.
    Raw,
}

impl Value for Version {
    fn kind(&self) -> &'static str {
        "version"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        last(given, parse).map(|version| *self = version)
    }

    fn print(&self) -> String {
        match self {
            Self::Run => "false".to_owned(),
            Self::Print => "true".to_owned(),
            Self::Raw => "raw".to_owned(),
        }
    }

    fn default_note(&self) -> Option<String> {
        None
    }

    fn arity(&self) -> Arity {
        Arity::Optional
    }
}

fn parse(text: &str) -> Result<Version, String> {
    match text {
        "raw" => Ok(Version::Raw),
        // In Go this changes the reported version. Accepted, without effect.
        _ if text.starts_with('v') && text.len() > 1 => Ok(Version::Run),
        _ => match text.parse() {
            Ok(Switch::On) => Ok(Version::Print),
            Ok(Switch::Off) => Ok(Version::Run),
            Err(_) => Err("neither true, false, raw nor a version that starts with v".to_owned()),
        },
    }
}
