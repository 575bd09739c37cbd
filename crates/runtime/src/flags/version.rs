//! `--version`.

use super::{Arity, Switch, Value, value::last};

/// What `--version` asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Version {
    /// Nothing: the program runs.
    #[default]
    Run,
    /// Print the version in words and exit.
    Print,
    /// Print everything known about the version and exit.
    Raw,
    /// Run, and report this version.
    Report(String),
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
            Self::Report(version) => version.clone(),
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
        _ if text.starts_with('v') && text.len() > 1 => Ok(Version::Report(text.to_owned())),
        _ => match text.parse() {
            Ok(Switch::On) => Ok(Version::Print),
            Ok(Switch::Off) => Ok(Version::Run),
            Err(_) => Err("neither true, false, raw nor a version that starts with v".to_owned()),
        },
    }
}
