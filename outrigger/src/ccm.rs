//! `outrigger ccm`: the cloud controller manager.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

use crate::providers;
use clap::Command;
use manager::{Options, Program, options::Invocation};
use runtime::logging;
use std::{process::ExitCode, sync::Arc};
use tracing::error;

/// The work is waiting for the network; more threads would only cost memory.
const THREADS: usize = 2;

/// Runs the manager with these flags, started under this name.
pub fn run(name: &str, args: Vec<String>) -> ExitCode {
    let mut flags = providers::Flags::default();
    match Options::parse(name, args, flags.sections()) {
        Ok(Invocation::Print(text)) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Ok(Invocation::Run(options)) => start(name, *options, &flags),
        Err(problems) => {
            for problem in problems.iter() {
                eprintln!("Error: {problem}");
            }
            ExitCode::FAILURE
        }
    }
}

/// The subcommand with all its flags, for completions and the man page.
pub fn command() -> Command {
    let (mut options, mut flags) = (Options::default(), providers::Flags::default());
    options
        .set("ccm", flags.sections())
        .command()
        .about("The cloud controller manager; the same flags as every other")
}

/// All its flags, as a page of Markdown.
pub fn reference() -> String {
    manager::options::reference(providers::Flags::default().sections())
}

fn start(name: &str, options: Options, flags: &providers::Flags) -> ExitCode {
    let logs = match logging::init(&options.logging) {
        Ok(logs) => logs,
        Err(problem) => {
            eprintln!("Error: cannot log: {problem}");
            return ExitCode::FAILURE;
        }
    };
    logging::warnings(&options.parsed.warnings, &options.generic.feature_gates);
    logging::flags(&options.parsed.values);
    let handle = logs.handle();
    let verbosity = Arc::new(move |level: u32| {
        handle.set_verbosity(logging::Level(level));
        Ok(())
    });
    let program = Program {
        name: name.split(' ').next().unwrap_or(name),
        provide: &|ask| providers::provider(ask, flags),
        verbosity,
    };
    let ended = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(|problem| format!("cannot start: {problem}"))
        .and_then(|runtime| runtime.block_on(manager::run(options, program)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            error!("{problem}");
            ExitCode::FAILURE
        }
    }
}
