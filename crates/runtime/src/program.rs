//! What `main` of a long-running program does first and last: TLS, arguments, output, logs, an async runtime.

#![expect(clippy::print_stderr, reason = "it is part of a command")]

use crate::{
    flags::{Parsed, Problems},
    logging,
    serve::SetVerbosity,
};
use std::{
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};
use tracing::error;

/// The work waits for the network most of the time; more threads would only cost memory.
const THREADS: usize = 2;

/// How long a blocked thread, for example one of a credential plugin that hangs, can delay the end of the process.
const LINGER: Duration = Duration::from_secs(1);

/// Selects the TLS implementation of this process. Call it before the first client or server is created.
pub fn install_crypto() {
    // An error means that one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The command line: the path that the program was started by, and its arguments.
///
/// # Errors
/// If an argument is not UTF-8. That has been reported then.
pub fn arguments() -> Result<(String, Vec<String>), ExitCode> {
    let words: Result<Vec<String>, OsString> = std::env::args_os().map(OsString::into_string).collect();
    let mut words = words.map_err(|word| reject_argument(&word))?.into_iter();
    Ok((words.next().unwrap_or_default(), words.collect()))
}

/// The program's name: the last part of the path that it was started by.
#[must_use]
pub fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Prints the text that was requested instead of a run, for example the help.
#[must_use]
pub fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader, for example `head`, has read as much as it needs.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: cannot print: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints everything that is wrong with a command line.
#[must_use]
pub fn reject(problems: &Problems) -> ExitCode {
    for problem in problems.iter() {
        eprintln!("Error: {problem}");
    }
    ExitCode::FAILURE
}

/// Starts to log, and logs the flags. Returns the function that changes the verbosity later.
///
/// # Errors
/// If the process already has a logger. That has been reported then.
pub fn start_logging(options: &logging::Options, parsed: &Parsed) -> Result<SetVerbosity, ExitCode> {
    let handle = logging::init(options).map_err(|problem| {
        eprintln!("Error: cannot log: {problem}");
        ExitCode::FAILURE
    })?;
    logging::flags(&parsed.values);
    Ok(Arc::new(move |level: u32| {
        handle.set_verbosity(logging::Level(level));
    }))
}

/// Runs a future to its end, on a runtime of its own.
///
/// # Errors
/// If it fails, or the runtime cannot be started. That has been logged then.
pub fn block_on<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, ExitCode> {
    let ended = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(|problem| format!("cannot start: {problem}"))
        .and_then(|runtime| {
            let ended = runtime.block_on(work);
            runtime.shutdown_timeout(LINGER);
            ended
        });
    ended.map_err(|problem| {
        error!("{problem}");
        ExitCode::FAILURE
    })
}

#[expect(
    clippy::unnecessary_debug_formatting,
    reason = "bytes that cannot be printed are escaped"
)]
fn reject_argument(argument: &OsString) -> ExitCode {
    eprintln!("Error: the argument {argument:?} is not UTF-8: write it in that encoding");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc, time::Instant};

    #[test]
    fn a_thread_that_hangs_does_not_delay_the_shutdown() {
        const HANG: Duration = Duration::from_secs(30);
        let (release, never) = mpsc::channel::<()>();
        let began = Instant::now();
        let ended = block_on(async move {
            let (started, start) = tokio::sync::oneshot::channel();
            tokio::task::spawn_blocking(move || {
                let _ = started.send(());
                let _ = never.recv_timeout(HANG);
            });
            start.await.map_err(|error| error.to_string())
        });
        assert!(ended.is_ok());
        assert!(began.elapsed() < HANG / 2, "it took {:?}", began.elapsed());
        drop(release);
    }
}
