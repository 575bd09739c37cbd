//! On or off.

use super::{Arity, Value, value::last};
use std::{fmt, str::FromStr};

/// On or off, written `--name`, `--name=true` or `--name=false`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Switch {
    /// Off.
    #[default]
    Off,
    /// On.
    On,
}

impl Switch {
    /// Whether this is [`Switch::On`].
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}

impl From<bool> for Switch {
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}

impl FromStr for Switch {
    type Err = String;

    /// The spellings Go accepts.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Self::On),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Self::Off),
            _ => Err("neither true nor false".to_owned()),
        }
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.is_on() { "true" } else { "false" })
    }
}

impl Value for Switch {
    fn kind(&self) -> &'static str {
        ""
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        last(given, str::parse).map(|switch| *self = switch)
    }

    fn print(&self) -> String {
        self.to_string()
    }

    fn arity(&self) -> Arity {
        Arity::Optional
    }
}
