//! The error of a configuration.

use std::{error, fmt, io};

/// A configuration that cannot be used, in one sentence: where, what is wrong, and what to do.
///
/// It never shows a secret.
#[derive(Debug)]
pub struct Error {
    message: String,
    source: Option<io::Error>,
    warnings: Vec<String>,
}

impl Error {
    /// The warnings, a sentence each: they often explain the error.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(super) fn beside(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
            warnings: Vec::new(),
        }
    }

    pub(super) fn unreadable(message: impl Into<String>, source: io::Error) -> Self {
        Self {
            message: message.into(),
            source: Some(source),
            warnings: Vec::new(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

impl From<gcfg::Error> for Error {
    fn from(error: gcfg::Error) -> Self {
        Self::new(error.to_string())
    }
}
