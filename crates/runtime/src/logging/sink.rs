//! Where log lines are written.

use super::Routing;
use std::{
    fmt,
    io::{self, BufWriter, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// No buffer is larger, whatever is asked for.
const LARGEST_BUFFER: u64 = 2 << 30;

/// Where log lines are written, each in one piece. What cannot be written is lost: there is nobody to tell.
pub struct Sink {
    errors: Mutex<Box<dyn Write + Send>>,
    infos: Option<Mutex<Box<dyn Write + Send>>>,
}

/// Which of the two streams a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Info,
    Error,
}

impl Sink {
    /// Everything goes to one writer.
    #[must_use]
    pub fn one(writer: impl Write + Send + 'static) -> Self {
        Self {
            errors: Mutex::new(Box::new(writer)),
            infos: None,
        }
    }

    /// Errors and warnings go to one writer, the rest to another.
    #[must_use]
    pub fn two(errors: impl Write + Send + 'static, infos: impl Write + Send + 'static) -> Self {
        Self {
            errors: Mutex::new(Box::new(errors)),
            infos: Some(Mutex::new(Box::new(infos))),
        }
    }

    /// The standard streams of the process.
    pub(super) fn console(routing: &Routing) -> Self {
        if !routing.split_stream.is_on() {
            return Self::one(io::stderr());
        }
        let size = usize::try_from(routing.info_buffer.count().min(LARGEST_BUFFER)).unwrap_or(0);
        if size == 0 {
            Self::two(io::stderr(), io::stdout())
        } else {
            Self::two(io::stderr(), buffered(size, io::stdout()))
        }
    }

    pub(super) fn write(&self, stream: Stream, line: &str) {
        let _lost = self.stream(stream).write_all(line.as_bytes());
    }

    pub(super) fn flush(&self) {
        for stream in [Stream::Info, Stream::Error] {
            let _lost = self.stream(stream).flush();
        }
    }

    fn stream(&self, stream: Stream) -> MutexGuard<'_, Box<dyn Write + Send>> {
        let writer = match (stream, &self.infos) {
            (Stream::Info, Some(infos)) => infos,
            _ => &self.errors,
        };
        writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The standard output flushes at every line by itself, which a buffer in front of it avoids.
pub(super) fn buffered(size: usize, writer: impl Write + Send + 'static) -> impl Write + Send + 'static {
    BufWriter::with_capacity(size, writer)
}

impl fmt::Debug for Sink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Sink")
    }
}
