//! How the value of an annotation is read. The kind of an annotation decides; a getter that does not fit it reads text.

use super::{Annotation, Kind, Malformed};
use cloud::{Error, Result, Spec};
use ipnet::IpNet;
use std::fmt;
use tracing::debug;

/// What Go's `strconv.ParseBool` reads as true, and as false.
pub(super) const GO_TRUE: [&str; 6] = ["1", "t", "T", "TRUE", "true", "True"];
pub(super) const GO_FALSE: [&str; 6] = ["0", "f", "F", "FALSE", "false", "False"];

impl Annotation {
    /// The text as it is; an annotation that exists but is empty is the empty text, which can turn a default off.
    #[must_use]
    pub fn text<'a>(&self, spec: &'a Spec) -> Option<&'a str> {
        spec.annotations.get(self.key).map(String::as_str)
    }

    /// The text, unless it is empty.
    #[must_use]
    pub fn non_empty<'a>(&self, spec: &'a Spec) -> Option<&'a str> {
        self.text(spec).filter(|text| !text.is_empty())
    }

    /// Whether the annotation exists, whatever its value.
    #[must_use]
    pub fn is_present(&self, spec: &Spec) -> bool {
        self.text(spec).is_some()
    }

    /// The whole number, within its limits.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the value is malformed, and malformed values are refused.
    pub fn integer(&self, spec: &Spec) -> Result<Option<i64>> {
        let (least, most) = match self.kind {
            Kind::Integer { least, most } => (least, most),
            _ => (i64::MIN, i64::MAX),
        };
        self.parse(spec, |text| {
            text.parse().ok().filter(|number| (least..=most).contains(number))
        })
    }

    /// The whole number, within its limits; the empty text counts as not given.
    ///
    /// # Errors
    /// As [`Annotation::integer`].
    pub fn given_integer(&self, spec: &Spec) -> Result<Option<i64>> {
        match self.non_empty(spec) {
            Some(_) => self.integer(spec),
            None => Ok(None),
        }
    }

    /// The truth.
    ///
    /// # Errors
    /// As [`Annotation::integer`].
    pub fn boolean(&self, spec: &Spec) -> Result<Option<bool>> {
        self.parse(spec, |text| match self.kind {
            Kind::GoBoolean if GO_TRUE.contains(&text) => Some(true),
            Kind::GoBoolean if GO_FALSE.contains(&text) => Some(false),
            Kind::GoBoolean => None,
            _ => text.parse().ok(),
        })
    }

    /// The truth; the empty text counts as not given.
    ///
    /// # Errors
    /// As [`Annotation::integer`].
    pub fn given_boolean(&self, spec: &Spec) -> Result<Option<bool>> {
        match self.non_empty(spec) {
            Some(_) => self.boolean(spec),
            None => Ok(None),
        }
    }

    /// The word; the empty one counts as not given, where the table allows it.
    ///
    /// # Errors
    /// As [`Annotation::integer`].
    pub fn word(&self, spec: &Spec) -> Result<Option<&'static str>> {
        let words = match self.kind {
            Kind::Words(words) => words,
            _ => &[],
        };
        let word = self.parse(spec, |text| words.iter().find(|word| **word == text).copied())?;
        Ok(word.filter(|word| !word.is_empty()))
    }

    /// The items of a comma-separated list, each once.
    #[must_use]
    pub fn list(&self, spec: &Spec) -> Vec<String> {
        let mut items: Vec<String> = Vec::new();
        for item in items_of(self.text(spec).unwrap_or_default()) {
            if !items.iter().any(|known| known == item) {
                items.push(item.to_owned());
            }
        }
        items
    }

    /// The port numbers of a comma-separated list.
    ///
    /// # Errors
    /// As [`Annotation::integer`].
    pub fn ports(&self, spec: &Spec) -> Result<Vec<u16>> {
        let ports = self.parse(spec, |text| {
            let ports = text.split(',').map(|port| port.trim().parse().ok());
            ports.collect::<Option<Vec<u16>>>()
        })?;
        Ok(ports.unwrap_or_default())
    }

    /// The CIDRs of a comma-separated list.
    ///
    /// # Errors
    /// As [`Annotation::integer`].
    pub fn cidrs(&self, spec: &Spec) -> Result<Vec<IpNet>> {
        let cidrs = self.parse(spec, |text| items_of(text).map(|item| item.parse().ok()).collect())?;
        Ok(cidrs.unwrap_or_default())
    }

    /// The whole number, or the default if it is malformed or not given.
    #[must_use]
    pub fn integer_or(&self, spec: &Spec, default: i64) -> i64 {
        self.integer(spec).ok().flatten().unwrap_or(default)
    }

    /// The truth, or the default if it is malformed or not given.
    #[must_use]
    pub fn boolean_or(&self, spec: &Spec, default: bool) -> bool {
        self.boolean(spec).ok().flatten().unwrap_or(default)
    }

    /// An [`Error::Invalid`] of this annotation.
    pub fn invalid(&self, reason: impl Into<String>) -> Error {
        Error::invalid(format!("annotation {}", self.key), reason)
    }

    fn parse<T>(&self, spec: &Spec, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
        let Some(text) = self.text(spec) else { return Ok(None) };
        match (parse(text), self.malformed) {
            (None, Malformed::Refused) => Err(self.invalid(format!("{text:?} is not {}", self.kind))),
            (None, Malformed::Ignored) => {
                debug!(annotation = self.key, value = text, "cannot be read, the default holds");
                Ok(None)
            }
            (value, _) => Ok(value),
        }
    }
}

/// The items of a comma-separated text.
pub(crate) fn items_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// Completes "the value is not …".
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Presence => f.write_str("any value"),
            Self::Integer { least, most } => match (*least, *most) {
                (i64::MIN, i64::MAX) => f.write_str("a whole number"),
                (least, i64::MAX) => write!(f, "a whole number of at least {least}"),
                (least, most) => write!(f, "a whole number from {least} to {most}"),
            },
            Self::GoBoolean | Self::Boolean => f.write_str("\"true\" or \"false\""),
            Self::Words(words) => {
                let words = words.iter().filter(|word| !word.is_empty()).copied();
                write!(f, "one of {}", words.collect::<Vec<_>>().join(", "))
            }
            Self::List => f.write_str("a comma-separated list"),
            Self::Ports => f.write_str("a comma-separated list of port numbers"),
            Self::Cidrs => f.write_str("a comma-separated list of CIDRs"),
        }
    }
}
