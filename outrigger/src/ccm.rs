//! `outrigger ccm`: the cloud controller manager.

use crate::{process, providers};
use clap::Command;
use manager::{Options, Program, options::Invocation};
use runtime::{flags::Problems, logging};
use std::process::ExitCode;

/// Runs the manager with these flags, started under this name.
pub fn run(name: &str, args: Vec<String>) -> ExitCode {
    let mut flags = providers::Flags::default();
    match Options::parse(name, args, flags.sections(), around) {
        Ok(Invocation::Print(text)) => process::print(&text),
        Ok(Invocation::Run(options)) => start(name, *options, &flags),
        Err(problems) => process::refuse(&problems),
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

/// What is wrong with the provider, the files and the addresses that the flags name.
fn around(options: &Options) -> Problems {
    let mut problems = Problems::default();
    let provider = options.generic.cloud.provider.trim();
    if !provider.is_empty() {
        problems.check(providers::known(provider));
    }
    problems.append(manager::validate::named(options));
    problems
}

fn start(name: &str, options: Options, flags: &providers::Flags) -> ExitCode {
    // Kept to the end: what is waiting is written then.
    let (_logs, verbosity) = match process::log(&options.logging, &options.parsed) {
        Ok(logging) => logging,
        Err(code) => return code,
    };
    logging::warnings(&options.parsed.warnings, &options.generic.feature_gates);
    let program = Program {
        name: name.split(' ').next().unwrap_or(name),
        provide: &|ask| providers::provider(ask, flags),
        verbosity,
    };
    match process::block_on(manager::run(options, program)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}
