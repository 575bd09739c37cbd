//! What every long-running program here does first: logs, and a runtime.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

use runtime::{
    flags::{Parsed, Problems},
    logging,
    serve::SetVerbosity,
};
use std::{process::ExitCode, sync::Arc};
use tracing::error;

/// The work is waiting for the network; more threads would only cost memory.
const THREADS: usize = 2;

/// Prints what was asked for instead of a run.
pub fn print(text: &str) -> ExitCode {
    print!("{text}");
    ExitCode::SUCCESS
}

/// Prints everything that is wrong with a command line.
pub fn refuse(problems: &Problems) -> ExitCode {
    for problem in problems.iter() {
        eprintln!("Error: {problem}");
    }
    ExitCode::FAILURE
}

/// Begins to log, and says with which flags. Returns what sets the verbosity later.
pub fn log(options: &logging::Options, parsed: &Parsed) -> Result<SetVerbosity, ExitCode> {
    let logs = logging::init(options).map_err(|problem| {
        eprintln!("Error: cannot log: {problem}");
        ExitCode::FAILURE
    })?;
    logging::flags(&parsed.values);
    let handle = logs.handle();
    Ok(Arc::new(move |level: u32| {
        handle.set_verbosity(logging::Level(level));
        Ok(())
    }))
}

/// Runs this to its end.
pub fn block_on<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, ExitCode> {
    let ended = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(|problem| format!("cannot start: {problem}"))
        .and_then(|runtime| runtime.block_on(work));
    ended.map_err(|problem| {
        error!("{problem}");
        ExitCode::FAILURE
    })
}
