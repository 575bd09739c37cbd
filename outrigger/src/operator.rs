//! `outrigger operator`: installs, configures, upgrades and removes the cloud controller manager.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

use crate::process;
use ::operator::{
    injector,
    options::{Invocation, Options, Role},
    render,
    run::{self, Ended, Program},
};
use clap::Command;
use std::process::ExitCode;

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
        Ok(Invocation::Print(text)) => process::print(&text),
        Ok(Invocation::Run(options)) => start(name, *options),
        Err(problems) => process::refuse(&problems),
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
    let verbosity = match process::log(&options.logging, &options.parsed) {
        Ok(verbosity) => verbosity,
        Err(code) => return code,
    };
    let program = Program {
        name: name.split(' ').next().unwrap_or(name),
        verbosity,
    };
    // As kubectl diff: 1 for differences, more for errors.
    let trouble = options.dry_run.is_on().then(|| ExitCode::from(2));
    match process::block_on(run::run(options, program)) {
        Ok(Ended::Stopped) => ExitCode::SUCCESS,
        Ok(Ended::Differences) => ExitCode::FAILURE,
        Err(code) => trouble.unwrap_or(code),
    }
}

fn inject(name: &str, args: &[String]) -> ExitCode {
    match injector::main(args.iter().cloned()) {
        Ok(Some(text)) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Ok(None) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{name}: {problem}");
            ExitCode::FAILURE
        }
    }
}
