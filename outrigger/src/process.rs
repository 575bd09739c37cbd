//! What every long-running program here does first: logs, and a runtime.

#![expect(clippy::print_stderr, reason = "it is a command")]

use runtime::{
    flags::{Parsed, Problems},
    logging::{self, Logs},
    serve::SetVerbosity,
};
use std::{
    ffi::OsStr,
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};
use tracing::error;

/// The work is waiting for the network; more threads would only cost memory.
const THREADS: usize = 2;

/// How long a thread that is blocked, for example by a credential plugin that hangs, can hold up the end.
const LINGER: Duration = Duration::from_secs(1);

/// Prints what was asked for instead of a run.
pub fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        // Who reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: cannot print: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Says that an argument is not text.
#[expect(clippy::unnecessary_debug_formatting, reason = "what cannot be shown is escaped")]
pub fn refuse_argument(argument: &OsStr) -> ExitCode {
    eprintln!("Error: the argument {argument:?} is not UTF-8: write it in that encoding");
    ExitCode::FAILURE
}

/// Prints everything that is wrong with a command line.
pub fn refuse(problems: &Problems) -> ExitCode {
    for problem in problems.iter() {
        eprintln!("Error: {problem}");
    }
    ExitCode::FAILURE
}

/// Begins to log, and says with which flags. Returns the logs, to be kept to the end, and what sets the verbosity later.
pub fn log(options: &logging::Options, parsed: &Parsed) -> Result<(Logs, SetVerbosity), ExitCode> {
    let logs = logging::init(options).map_err(|problem| {
        eprintln!("Error: cannot log: {problem}");
        ExitCode::FAILURE
    })?;
    logging::flags(&parsed.values);
    let handle = logs.handle();
    let verbosity: SetVerbosity = Arc::new(move |level: u32| {
        handle.set_verbosity(logging::Level(level));
        Ok(())
    });
    Ok((logs, verbosity))
}

/// Runs this to its end.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc, time::Instant};

    #[test]
    fn a_thread_that_hangs_does_not_hold_up_the_end() {
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
