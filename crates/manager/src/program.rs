//! The cloud controller manager as a program: from a command line to an exit code.

use crate::{
    Options, Program, Registration,
    options::{self, Invocation},
    registration::{self, Setup, Setups},
    validate,
};
use clap::Command;
use runtime::{
    flags::{Problems, Section},
    logging, program,
};
use std::process::ExitCode;

/// Runs a cloud controller manager for one cloud: the whole `main` of its program.
///
/// The program has every flag of the Go framework, the provider's own, leader election, the secure port with health and metrics,
/// logs, and a clean stop on a signal.
#[must_use]
pub fn main(provider: Registration) -> ExitCode {
    program::install_crypto();
    match program::arguments() {
        Ok((path, args)) => run(&[provider], program::name(&path), args),
        Err(code) => code,
    }
}

/// Runs the manager of the program `name` with these arguments, for the cloud that they select.
#[must_use]
pub fn run(registered: &[Registration], name: &str, args: Vec<String>) -> ExitCode {
    match parse(registered, name, args, Vec::new()) {
        Ok(Task::Print(text)) => program::print(&text),
        Ok(Task::Run(options, setup)) => start(name, *options, setup.as_ref()),
        Err(problems) => program::reject(&problems),
    }
}

/// The command `name` with all its flags, for shell completions and the manual page.
#[must_use]
pub fn command(registered: &[Registration], name: &str) -> Command {
    Options::default()
        .set(name, Setups::new(registered).sections())
        .command()
}

/// All flags, as a page of Markdown.
#[must_use]
pub fn reference(registered: &[Registration]) -> String {
    options::reference(Setups::new(registered).sections())
}

/// What a command line asks for.
pub enum Task {
    /// A manager with these options for this cloud.
    Run(Box<Options>, Box<dyn Setup>),
    /// Print this text.
    Print(String),
}

/// Parses a command line of a manager, for a command that has the flags of a manager and `own` ones.
///
/// # Errors
/// All problems, at once.
pub fn parse(
    registered: &[Registration],
    name: &str,
    args: Vec<String>,
    own: Vec<Section<'_>>,
) -> Result<Task, Problems> {
    let mut setups = Setups::new(registered);
    let around = |options: &Options| {
        let mut problems = registration::check(registered, options);
        problems.append(validate::named(options));
        problems
    };
    let defaults = registration::defaults(registered, name, &args);
    let sections = setups.sections().into_iter().chain(own).collect();
    let options = match defaults.parse_over(name, args, sections, around)? {
        Invocation::Print(text) => return Ok(Task::Print(text)),
        Invocation::Run(options) => options,
    };
    let setup = setups.take(options.generic.cloud.provider.trim());
    let setup = setup.ok_or_else(|| Problems::one("no cloud provider is selected"))?;
    Ok(Task::Run(options, setup))
}

fn start(name: &str, options: Options, setup: &dyn Setup) -> ExitCode {
    let verbosity = match program::start_logging(&options.logging, &options.parsed) {
        Ok(verbosity) => verbosity,
        Err(code) => return code,
    };
    logging::warnings(&options.parsed.warnings, &options.generic.feature_gates);
    let program = Program {
        name: name.split(' ').next().unwrap_or(name),
        setup,
        verbosity,
    };
    match program::block_on(crate::run::run(options, program)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}

#[cfg(test)]
mod tests;
