//! A JSON object of which a few keys are changed; order, unknown keys and exact numbers are preserved.

use super::Invalid;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, error::Category, value::RawValue};
use std::fmt;

/// The keys of an object and their values as written. It has no `Debug`: some of them are secrets.
///
/// As in the Go programs that read such a file, the case of keys is ignored and the last occurrence counts.
#[derive(Clone)]
pub(crate) struct Document {
    entries: Vec<(String, Box<RawValue>)>,
}

impl Document {
    /// Reads an object. The error names file, position and problem, in one sentence without any value.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, Invalid> {
        if text.trim().is_empty() {
            return Err(Invalid(format!("{file} is empty: write a JSON object")));
        }
        serde_json::from_str(text).map_err(|error| {
            let place = format!("{file}:{}:{}", error.line(), error.column());
            Invalid(match error.classify() {
                Category::Data => format!("{file} is not a JSON object: write one, {{…}}"),
                Category::Eof => format!("{place}: the JSON ends too early: a bracket or quote is not closed"),
                Category::Syntax | Category::Io => format!("{place}: this is not JSON: correct it there"),
            })
        })
    }

    /// The value of a key, unless it is `null`, which counts as not given.
    pub(crate) fn find(&self, key: &str) -> Option<&RawValue> {
        let mut same = self.entries.iter().rev().filter(|(name, _)| same(name, key));
        same.find(|(_, value)| value.get() != "null")
            .map(|(_, value)| value.as_ref())
    }

    /// A text.
    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, Invalid> {
        let Some(value) = self.find(key) else { return Ok(None) };
        let text = serde_json::from_str(value.get());
        text.map(Some)
            .map_err(|_| Invalid(format!("{key:?} is not a text: write it in quotes")))
    }

    /// Sorts the keys, as Go writes a map.
    pub(crate) fn sort(&mut self) {
        self.entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    }

    /// Sets the value of a key: in its place, or at the end.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<Value>) {
        let Ok(value) = serde_json::value::to_raw_value(&value.into()) else {
            return;
        };
        let last = self.entries.iter().rposition(|(name, _)| same(name, key));
        if let Some(at) = last {
            self.entries[at] = (key.to_owned(), value);
            let mut index = 0..;
            self.entries
                .retain(|(name, _)| index.next() == Some(at) || !same(name, key));
        } else {
            self.entries.push((key.to_owned(), value));
        }
    }
}

impl fmt::Display for Document {
    /// Without white space.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, (key, value)) in self.entries.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}:{}", Value::from(key.as_str()), Compact(value.get()))?;
        }
        f.write_str("}")
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Document, M::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Document { entries })
    }
}

/// JSON without insignificant white space.
struct Compact<'a>(&'a str);

impl fmt::Display for Compact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut quoted, mut escaped) = (false, false);
        for c in self.0.chars() {
            if quoted || !matches!(c, ' ' | '\t' | '\n' | '\r') {
                fmt::Write::write_char(f, c)?;
            }
            quoted ^= c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
        }
        Ok(())
    }
}

fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

#[cfg(test)]
mod tests;
