//! The fields of an event or a span.

use super::chain;
use crate::flags::quote;
use std::{error::Error as StdError, fmt};
use tracing::field::{Field, Visit};

/// A value that can be printed as text and as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scalar {
    /// Printed with quotes.
    Text(String),
    /// A number or a boolean, printed without quotes.
    Bare(String),
}

/// Keys and values in their order. A repeated key with another value moves to the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pairs(Vec<(&'static str, Scalar)>);

/// All fields of an event; those with a meaning are separate.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) message: String,
    pub(super) error: Option<Scalar>,
    /// klog's verbosity, if the event has one.
    pub(super) v: Option<u64>,
    /// Whether only the message is printed.
    pub(super) plain: bool,
    pub(super) pairs: Pairs,
}

impl Scalar {
    pub(super) fn json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Bare(text) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
        }
    }

    /// As klog prints it after the key: a text of several lines is indented instead of quoted.
    pub(super) fn push_to(&self, line: &mut String) {
        match self {
            Self::Bare(text) => line.extend(["=", text]),
            Self::Text(text) if text.contains('\n') => {
                line.push_str("=<\n");
                let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
                lines.for_each(|text| line.extend(["\t", text, "\n"]));
                line.push_str(" >");
            }
            Self::Text(text) => line.extend(["=", &quote(text)]),
        }
    }
}

impl Pairs {
    pub(super) fn push(&mut self, key: &'static str, value: Scalar) {
        match self.0.iter().position(|(known, _)| *known == key) {
            Some(at) if self.0[at].1 == value => return,
            Some(at) => drop(self.0.remove(at)),
            None => {}
        }
        self.0.push((key, value));
    }

    pub(super) fn extend(&mut self, others: &Self) {
        for (key, value) in &others.0 {
            self.push(key, value.clone());
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &Scalar)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }
}

impl Fields {
    fn take(&mut self, field: &Field, value: Scalar) {
        match (field.name(), value) {
            ("message", Scalar::Text(text) | Scalar::Bare(text)) => self.message = text,
            ("error" | "err", error) => self.error = Some(error),
            ("plain", Scalar::Bare(text)) => self.plain = text == "true",
            ("v", Scalar::Bare(text)) => self.v = text.parse().ok(),
            // klog's name for it, which in `tracing` is the name of the line's own message.
            ("note", value) => self.pairs.push("message", value),
            (name, value) => self.pairs.push(name, value),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field, Scalar::Text(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, Scalar::Text(value.to_owned()));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn StdError + 'static)) {
        self.take(field, Scalar::Text(chain(value).to_string()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.take(field, Scalar::Bare(value.to_string()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.take(field, Scalar::Bare(value.to_string()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.take(field, Scalar::Bare(value.to_string()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        let text = value.to_string();
        self.take(
            field,
            if value.is_finite() {
                Scalar::Bare(text)
            } else {
                Scalar::Text(text)
            },
        );
    }
}
