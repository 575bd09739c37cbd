//! Errors and warnings with their position.

use std::fmt;

/// A position in a document; both numbers count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A document that cannot be used, in one sentence: the position, the problem, and what to do.
///
/// It never shows the value of a string, which may be a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{position}: {message}", Prefix(.file))]
pub struct Error {
    file: String,
    position: Position,
    message: String,
}

impl Error {
    pub(crate) fn new(file: &str, position: Position, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            position,
            message: message.into(),
        }
    }

    /// The position.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The problem and what to do, without the position.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// A probable mistake that is accepted, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    file: String,
    position: Position,
    message: String,
}

impl Warning {
    pub(crate) fn new(file: &str, position: Position, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            position,
            message: message.into(),
        }
    }

    /// The position.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The problem and what to do, without the position.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}: {}", Prefix(&self.file), self.position, self.message)
    }
}

/// An edit that the dialect cannot express; the document is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// A section or key that is not a valid name.
    #[error("{name:?} cannot be a name: use letters, digits and hyphens, starting with a letter")]
    Name {
        /// The name.
        name: String,
    },
    /// A subsection that is not valid.
    #[error("a subsection needs a name without line ends and NUL")]
    Subsection,
    /// A value with a character that has no notation.
    #[error("the value of {key} has a carriage return or a NUL, which cannot be written in this file")]
    Value {
        /// Its key.
        key: String,
    },
}

/// The file's name and a colon, if it has a name.
struct Prefix<'a>(&'a str);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            file => write!(f, "{file}:"),
        }
    }
}
