//! What a flag's value must be able to do, and the plain types that can.

use std::net::IpAddr;

/// A type a flag can fill.
pub trait Value {
    /// The word for the type in the help, as pflag spells it.
    fn kind(&self) -> &'static str;

    /// Takes all occurrences of the flag, in order: the last one wins, or all of them make a list.
    ///
    /// # Errors
    /// What is wrong with the first occurrence that is not acceptable, as the end of a sentence.
    fn set(&mut self, given: &[String]) -> Result<(), String>;

    /// The present value as Go prints it.
    fn print(&self) -> String;

    /// What the help says the default is; `None` if it goes without saying.
    fn default_note(&self) -> Option<String> {
        let text = self.print();
        (!matches!(text.as_str(), "" | "0" | "false" | "0s" | "[]")).then_some(text)
    }

    /// Whether the flag can stand without a value.
    fn arity(&self) -> Arity {
        Arity::One
    }
}

/// Whether a flag can stand without a value.
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
        // As pflag: an empty text changes nothing.
        for text in given.iter().filter(|text| !text.is_empty()) {
            *self = text.trim().parse().map_err(|_| "not an IP address".to_owned())?;
        }
        Ok(())
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

/// Parses every occurrence, so that a wrong one is found even if a later one would win, and answers the last.
pub(super) fn last<T>(given: &[String], parse: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
    let mut value = Err("a value is needed".to_owned());
    for text in given {
        value = Ok(parse(text)?);
    }
    value
}
