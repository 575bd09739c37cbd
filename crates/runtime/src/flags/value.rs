//! The trait of flag values, and its implementations for standard types.

use super::GoDuration;
use std::net::IpAddr;

/// The value of a flag.
pub trait Value {
    /// The type in the help, as pflag names it.
    fn kind(&self) -> &'static str;

    /// Sets the value from all occurrences of the flag, in order: the last one wins, or all of them form a list.
    ///
    /// # Errors
    /// The problem of the first invalid occurrence, as the end of a sentence.
    fn set(&mut self, given: &[String]) -> Result<(), String>;

    /// The current value as Go prints it.
    fn print(&self) -> String;

    /// The default in the help; `None` for an obvious default.
    fn default_note(&self) -> Option<String> {
        let text = self.print();
        (!matches!(text.as_str(), "" | "0" | "false" | "0s" | "[]")).then_some(text)
    }

    /// Whether the flag can be given without a value.
    fn arity(&self) -> Arity {
        Arity::One
    }
}

/// Whether a flag can be given without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    /// `--name=value` or `--name value`.
    One,
    /// `--name`, which means `--name=true`, or `--name=value`.
    Optional,
}

impl Value for String {
    fn kind(&self) -> &'static str {
        "string"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        last(given, |text| Ok(text.to_owned())).map(|text| *self = text)
    }

    fn print(&self) -> String {
        self.clone()
    }

    fn default_note(&self) -> Option<String> {
        (!self.is_empty()).then(|| super::quote(self))
    }
}

impl Value for IpAddr {
    fn kind(&self) -> &'static str {
        "ip"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        // As in pflag, an empty text changes nothing.
        for text in given.iter().filter(|text| !text.is_empty()) {
            *self = text.trim().parse().map_err(|_| "not an IP address".to_owned())?;
        }
        Ok(())
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl Value for GoDuration {
    fn kind(&self) -> &'static str {
        "duration"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        let parse = |text: &str| text.parse().map_err(|error: go_text::NotADuration| error.to_string());
        last(given, parse).map(|value| *self = value)
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

/// Parses every occurrence, so that an invalid one is found even if a later one wins, and returns the last.
pub(super) fn last<T>(given: &[String], parse: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
    let mut value = Err("a value is needed".to_owned());
    for text in given {
        value = Ok(parse(text)?);
    }
    value
}
