//! Sizes in bytes, in Kubernetes' notation for quantities.

use super::{Value, value::last};
use std::{fmt, str::FromStr};

/// A number of bytes: `512`, `1K`, `2Ki`, `3M`, `4Gi`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bytes {
    count: u64,
    written: String,
}

const SUFFIXES: [(&str, u64); 13] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("Pi", 1 << 50),
    ("Ei", 1 << 60),
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("P", 1_000_000_000_000_000),
    ("E", 1_000_000_000_000_000_000),
];

impl Bytes {
    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let suffix = SUFFIXES.iter().find(|(suffix, _)| text.ends_with(suffix));
        let (digits, unit) = suffix.map_or((text, 1), |(suffix, unit)| (&text[..text.len() - suffix.len()], *unit));
        let count = digits.parse::<u64>().ok().and_then(|digits| digits.checked_mul(unit));
        let count = count.ok_or("not a size such as 512, 1K or 2Ki")?;
        Ok(Self {
            count,
            written: text.to_owned(),
        })
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.written.is_empty() { "0" } else { &self.written })
    }
}

impl Value for Bytes {
    fn kind(&self) -> &'static str {
        "quantity"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        last(given, str::parse).map(|size| *self = size)
    }

    fn print(&self) -> String {
        self.to_string()
    }
}
