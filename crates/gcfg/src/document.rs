//! A document: its parts in the order of the text.

use crate::{
    error::{Error, Position, Warning},
    scan,
};
use std::{fmt, ops::Range};

/// A parsed text of the dialect.
///
/// It keeps the whole text, so that it can be changed without touching the rest. Its `Debug` shows no values: they may
/// be passwords.
#[derive(Clone)]
pub struct Document {
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) parts: Vec<Part>,
    pub(crate) warnings: Vec<Warning>,
}

/// A section header and its entries. The same section may have several parts.
#[derive(Debug, Clone)]
pub struct Part {
    pub(crate) name: String,
    pub(crate) subsection: Option<String>,
    pub(crate) position: Position,
    pub(crate) entries: Vec<Entry>,
    /// The header's line, with its line end.
    pub(crate) line: Range<usize>,
}

/// A key and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    pub(crate) key: String,
    pub(crate) folded: String,
    pub(crate) value: Value,
    pub(crate) position: Position,
    pub(crate) value_position: Position,
    pub(crate) spans: Spans,
}

/// The position of an entry in the text, in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Spans {
    /// The whole line (or lines), with its line end.
    pub(crate) line: Range<usize>,
    /// The key.
    pub(crate) key: Range<usize>,
    /// The value as written, with its quotes; empty for a blank one, at the end of the key.
    pub(crate) value: Range<usize>,
}

/// The value of an entry.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// Neither `=` nor a value: true for a boolean, a reset for a list, and invalid for all other types.
    Blank,
    /// A text, perhaps empty.
    Text(String),
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blank => "Blank",
            Self::Text(_) => "Text(..)",
        })
    }
}

impl Document {
    /// Parses a text.
    ///
    /// # Errors
    /// If the text is not of the dialect.
    pub fn parse(text: &str) -> Result<Self, Error> {
        scan::document("", text)
    }

    /// Parses the content of a file, whose name is part of errors and warnings. A byte order mark is skipped.
    ///
    /// # Errors
    /// If the content is not of the dialect, or not UTF-8.
    pub fn parse_file(file: &str, content: &[u8]) -> Result<Self, Error> {
        match str::from_utf8(content) {
            Ok(text) => scan::document(file, text),
            Err(error) => Err(scan::not_utf8(file, content, error.valid_up_to())),
        }
    }

    /// The name given to [`Document::parse_file`], or empty.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Every section header with its entries, in the order of the text.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Warnings about probable mistakes: a comment that starts directly after a value.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("file", &self.file)
            .field("parts", &self.parts)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Part {
    /// The section's name as written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The subsection's name, if it has one; its case matters.
    pub fn subsection(&self) -> Option<&str> {
        self.subsection.as_deref()
    }

    /// The position of the name.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The entries, in the order of the text.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn is(&self, name: &str, subsection: Option<&str>) -> bool {
        same_name(&self.name, name) && self.subsection.as_deref() == subsection
    }
}

impl Entry {
    /// The key as written.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The key in the one form that all its spellings share.
    pub fn folded(&self) -> &str {
        &self.folded
    }

    /// The value of an entry.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The position of the key.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The position of the value, or of the key if it has none.
    pub fn value_position(&self) -> Position {
        self.value_position
    }
}

/// Whether two names of sections or keys are equal, ignoring case.
pub fn same_name(a: &str, b: &str) -> bool {
    a == b || fold(a) == fold(b)
}

/// Lower case, and the two other letters that Go counts as equal to ASCII ones: the long s and the Kelvin sign.
pub(crate) fn fold(name: &str) -> String {
    let plain = name.chars().map(|c| match c {
        'ſ' => 's',
        '\u{212a}' => 'k',
        other => other,
    });
    plain.flat_map(char::to_lowercase).collect()
}
