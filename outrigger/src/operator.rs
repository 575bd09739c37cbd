//! `outrigger operator`: installs, configures, upgrades and removes the cloud controller manager.

#![expect(clippy::print_stderr, reason = "it is a command")]

use crate::providers;
use ::operator::{
    injector,
    options::{Because, Invocation, Options, Refused, Role},
    render,
    run::{self, Ended, Program},
};
use clap::Command;
use runtime::{logging, program};
use std::process::ExitCode;

/// What the original ends with when it fails: that of Go's log library.
const INJECTOR_FAILED: u8 = 255;
/// What the originals end with when a flag cannot be read: that of Go's flag library.
const WRONG_SYNTAX: u8 = 2;

/// Runs the program of this name, if it is one of the operator's; the first misses a word, as the original does.
pub fn by_name(name: &str, args: &[String]) -> Option<ExitCode> {
    Some(match name {
        "cluster-controller-manager-operator" | "cluster-cloud-controller-manager-operator" => {
            run(name, Role::Operator, args.to_vec())
        }
        "config-sync-controllers" => run(name, Role::ConfigSync, args.to_vec()),
        "azure-config-credentials-injector" => inject(name, args),
        _ => return None,
    })
}

/// Runs the operator with these flags, started under this name.
pub fn run(name: &str, role: Role, args: Vec<String>) -> ExitCode {
    match Options::parse(name, role, args) {
        Ok(Invocation::Print(text)) => program::print(&text),
        Ok(Invocation::Run(options)) => start(name, *options),
        Err(Refused { problems, because }) => {
            let code = program::reject(&problems);
            match because {
                Because::Syntax => ExitCode::from(WRONG_SYNTAX),
                Because::Values => code,
            }
        }
    }
}

/// The subcommand with all its flags, for completions and the man page.
pub fn command() -> Command {
    let mut options = Options::new(Role::Operator);
    options
        .set("operator")
        .command()
        .about("Installs, configures, upgrades and removes the cloud controller manager")
}

/// The subcommand `render`, likewise.
pub fn render_command() -> Command {
    let mut options = render::Flags::default();
    options
        .set("render")
        .command()
        .about("Writes the static Pods that a machine runs while it starts a cluster")
}

/// All flags of the operator, as a page of Markdown.
pub fn reference() -> String {
    Options::new(Role::Operator).set("operator").reference()
}

fn start(name: &str, options: Options) -> ExitCode {
    let verbosity = match program::start_logging(&options.logging, &options.parsed) {
        Ok(verbosity) => verbosity,
        Err(code) => return code,
    };
    let around = Program {
        name: name.split(' ').next().unwrap_or(name),
        providers: providers::for_operator().into(),
        flags: manager_flags().into(),
        verbosity,
    };
    // As kubectl diff: 1 for differences, more for errors.
    let trouble = options.dry_run.is_on().then(|| ExitCode::from(2));
    match program::block_on(run::run(options, around)) {
        Ok(Ended::Stopped) => ExitCode::SUCCESS,
        Ok(Ended::Differences) => ExitCode::FAILURE,
        Err(code) => trouble.unwrap_or(code),
    }
}

/// The flags of `outrigger ccm`, without dashes.
fn manager_flags() -> Vec<String> {
    let command = manager::program::command(&providers::registrations(), "ccm");
    let flags = command.get_arguments().filter_map(clap::Arg::get_long);
    flags.map(str::to_owned).collect()
}

fn inject(name: &str, args: &[String]) -> ExitCode {
    let fail = |problem: String| {
        eprintln!("{name}: {problem}");
        ExitCode::from(INJECTOR_FAILED)
    };
    let flags = match injector::Flags::parse(args.iter().cloned()) {
        Ok(injector::Invocation::Print(text)) => return program::print(&text),
        Ok(injector::Invocation::Run(flags)) => flags,
        Err(problems) => return fail(problems.to_string()),
    };
    if let Err(problem) = logging::init(&flags.logging) {
        return fail(format!("cannot log: {problem}"));
    }
    injector::run(&flags).map_or_else(fail, |()| ExitCode::SUCCESS)
}
