//! Typed values of a section.

use crate::{
    document::{Document, Entry, Value, fold, same_name},
    error::{Error, Position},
    value,
};
use go_text::GoDuration;

/// A section with all its parts merged: for a single value the last one wins, lists are concatenated.
///
/// Every method returns `None` for a missing key. Methods that can fail do so if any occurrence of a key is malformed, also an
/// overridden one.
#[derive(Debug, Clone)]
pub struct Section<'a> {
    file: &'a str,
    subsection: Option<&'a str>,
    entries: Vec<&'a Entry>,
}

impl Document {
    /// The section of this name without a subsection; empty if there is none.
    pub fn section(&self, name: &str) -> Section<'_> {
        self.merged(name, None)
    }

    /// The sections of this name, with and without a subsection, in the order of the text.
    pub fn subsections(&self, name: &str) -> Vec<Section<'_>> {
        let mut found: Vec<Option<&str>> = Vec::new();
        for part in self.parts.iter().filter(|part| same_name(&part.name, name)) {
            if !found.contains(&part.subsection.as_deref()) {
                found.push(part.subsection.as_deref());
            }
        }
        found
            .into_iter()
            .map(|subsection| self.merged(name, subsection))
            .collect()
    }

    fn merged<'a>(&'a self, name: &str, subsection: Option<&'a str>) -> Section<'a> {
        let parts = self.parts.iter().filter(|part| part.is(name, subsection));
        Section {
            file: &self.file,
            subsection,
            entries: parts.flat_map(|part| &part.entries).collect(),
        }
    }
}

impl<'a> Section<'a> {
    /// Its subsection's name.
    pub fn subsection(&self) -> Option<&'a str> {
        self.subsection
    }

    /// Whether the key exists, with or without a value.
    pub fn has(&self, key: &str) -> bool {
        self.all(key).next().is_some()
    }

    /// The position of the key's last occurrence.
    pub fn position(&self, key: &str) -> Option<Position> {
        self.all(key).last().map(|entry| entry.position)
    }

    /// A string.
    ///
    /// # Errors
    /// If it is blank.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>, Error> {
        self.last(key, value::text)
    }

    /// A boolean: `true`, `yes`, `on`, `1`, `false`, `no`, `off`, `0` in any case; blank is true.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>, Error> {
        self.last(key, value::boolean)
    }

    /// A whole number: decimal, also with leading zeros, or `0x` and hexadecimal.
    ///
    /// # Errors
    /// If it is anything else, or does not fit.
    pub fn int(&self, key: &str) -> Result<Option<i64>, Error> {
        self.last(key, value::int)
    }

    /// A whole number without a sign.
    ///
    /// # Errors
    /// If it is anything else, or does not fit.
    pub fn uint(&self, key: &str) -> Result<Option<u64>, Error> {
        self.last(key, value::uint)
    }

    /// A duration in Go's notation, which needs a unit: `5s`, `1m30s`, `0`.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn duration(&self, key: &str) -> Result<Option<GoDuration>, Error> {
        self.last(key, value::duration)
    }

    /// A single word: what Go reads into a type that is based on string.
    ///
    /// # Errors
    /// If it is empty, or more than one word.
    pub fn word(&self, key: &str) -> Result<Option<&'a str>, Error> {
        self.last(key, value::word)
    }

    /// The values of all occurrences; a blank one removes those before it.
    pub fn list(&self, key: &str) -> Option<Vec<&'a str>> {
        let mut list = None::<Vec<&str>>;
        for entry in self.all(key) {
            let items = list.get_or_insert_default();
            match &entry.value {
                Value::Text(text) => items.push(text),
                Value::Blank => items.clear(),
            }
        }
        list
    }

    /// An error at the value of the key's last occurrence, for a problem that the caller finds.
    pub fn error(&self, key: &str, message: impl Into<String>) -> Error {
        let position = self.all(key).last().map(|entry| entry.value_position);
        Error::new(self.file, position.unwrap_or(Position { line: 1, column: 1 }), message)
    }

    fn all(&self, key: &str) -> impl Iterator<Item = &'a Entry> + use<'_, 'a> {
        let folded = fold(key);
        self.entries.iter().copied().filter(move |entry| entry.folded == folded)
    }

    fn last<T>(&self, key: &str, read: fn(&'a Entry) -> Result<T, String>) -> Result<Option<T>, Error> {
        let mut last = None;
        for entry in self.all(key) {
            let value = read(entry).map_err(|problem| Error::new(self.file, entry.value_position, problem))?;
            last = Some(value);
        }
        Ok(last)
    }
}
