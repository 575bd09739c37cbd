//! Where log lines are written.

use parking_lot::{Mutex, MutexGuard};
use std::{
    fmt,
    io::{self, Write},
};

/// Writes log lines, each in one piece. A line that cannot be written is lost.
pub struct Sink {
    errors: Mutex<Box<dyn Write + Send>>,
    infos: Option<Mutex<Box<dyn Write + Send>>>,
}

/// The stream that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Info,
    Error,
}

impl Sink {
    /// Writes all lines to one writer.
    #[must_use]
    pub fn one(writer: impl Write + Send + 'static) -> Self {
        Self {
            errors: Mutex::new(Box::new(writer)),
            infos: None,
        }
    }

    /// Writes errors and warnings to one writer, and the other lines to another.
    #[must_use]
    pub fn two(errors: impl Write + Send + 'static, infos: impl Write + Send + 'static) -> Self {
        Self {
            errors: Mutex::new(Box::new(errors)),
            infos: Some(Mutex::new(Box::new(infos))),
        }
    }

    /// Writes to stderr; if `split`, errors and warnings to stderr and the other lines to stdout.
    pub(super) fn console(split: crate::flags::Switch) -> Self {
        if split.is_on() {
            Self::two(io::stderr(), io::stdout())
        } else {
            Self::one(io::stderr())
        }
    }

    pub(super) fn write(&self, stream: Stream, line: &str) {
        let _lost = self.stream(stream).write_all(line.as_bytes());
    }

    fn stream(&self, stream: Stream) -> MutexGuard<'_, Box<dyn Write + Send>> {
        match (stream, &self.infos) {
            (Stream::Info, Some(infos)) => infos.lock(),
            _ => self.errors.lock(),
        }
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Sink")
    }
}
