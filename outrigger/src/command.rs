//! `outrigger <subcommand>`.

#![expect(clippy::print_stderr, reason = "it is a command")]

use crate::{
    credential_provider,
    diagnose::{check, cleanup, why},
    migrate, operator, probe, providers, reference,
};
use ::operator::{options::Role, render};
use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use runtime::program;
use std::process::ExitCode;

/// The flags of the program itself: others are the manager's.
const OWN_FLAGS: [&str; 4] = ["--help", "-h", "--version", "-V"];

/// Runs the subcommand that the arguments name.
pub fn run(args: Vec<String>) -> ExitCode {
    // Flags of these subcommands are parsed as in Go, not by clap.
    match args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("ccm", rest)) => {
            return manager::program::run(&providers::registrations(), "outrigger ccm", rest.to_vec());
        }
        Some(("check", rest)) => return check::run(rest.to_vec()),
        Some(("operator", rest)) => return operator::run("outrigger operator", Role::Operator, rest.to_vec()),
        Some(("render", rest)) => return render::main("outrigger render", rest.to_vec()),
        // The entrypoint of some Go programs' images is the manager: their manifests have its flags only, for example those of
        // aws-cloud-controller-manager.
        Some((first, _)) if first.starts_with('-') && !OWN_FLAGS.contains(&first) => {
            return manager::program::run(&providers::registrations(), "outrigger ccm", args);
        }
        _ => {}
    }
    let all = std::iter::once("outrigger".to_owned()).chain(args);
    let matches = match command().try_get_matches_from(all) {
        Ok(matches) => matches,
        Err(error) => return show(&error),
    };
    match matches.subcommand() {
        Some(("cleanup", matches)) => cleanup::run(matches),
        Some(("completion", matches)) => completion(matches),
        Some(("credential-provider", matches)) => credential_provider::run(matches),
        Some(("man", _)) => man(),
        Some(("migrate", matches)) => migrate::run(matches),
        Some(("probe", matches)) => probe::run(matches),
        Some(("reference", matches)) => document(matches.get_one("name")),
        Some(("why", matches)) => why::run(matches),
        Some(("version", _)) => program::print(&format!("Outrigger {}\n", runtime::version::Info::current())),
        _ => ExitCode::FAILURE,
    }
}

/// Prints the message of clap about a command line.
pub fn show(error: &clap::Error) -> ExitCode {
    // If this cannot be printed, no other message can.
    let _ = error.print();
    if error.use_stderr() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn command() -> Command {
    let shell = Arg::new("shell")
        .required(true)
        .value_parser(value_parser!(Shell))
        .help("For this shell");
    Command::new("outrigger")
        .about("Runs a Kubernetes cloud controller manager, or the operator that installs it")
        .version(runtime::version::Info::current().to_string())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(manager())
        .subcommand(operator::command())
        .subcommand(operator::render_command())
        .subcommand(migrate::command())
        .subcommand(credential_provider::command())
        .subcommand(Command::new("completion").about("Print shell completions").arg(shell))
        .subcommand(probe::command())
        .subcommand(Command::new("man").about("Print the man page"))
        .subcommand(
            Command::new("reference")
                .about("Print a generated document, or the names and files of all of them")
                .arg(Arg::new("name"))
                .hide(true),
        )
        .subcommand(Command::new("version").about("Print the version"))
        .subcommand(check::command())
        .subcommand(cleanup::command())
        .subcommand(why::command())
}

fn manager() -> Command {
    manager::program::command(&providers::registrations(), "ccm")
        .about("The cloud controller manager; the same flags as every other")
}

/// Prints the generated document of this name, or the list of them: a name and a file in each line.
fn document(name: Option<&String>) -> ExitCode {
    let documents = reference::documents().unwrap_or_default();
    let Some(name) = name else {
        let lines = documents.iter().map(|known| format!("{} {}\n", known.name, known.path));
        return program::print(&lines.collect::<String>());
    };
    if let Some(found) = documents.iter().find(|known| known.name == *name) {
        return program::print(&found.text);
    }
    eprintln!("Error: no document {name:?}: `outrigger reference` lists them");
    ExitCode::FAILURE
}

fn completion(matches: &ArgMatches) -> ExitCode {
    let Some(shell) = matches.get_one::<Shell>("shell") else {
        return ExitCode::FAILURE;
    };
    let mut text = Vec::new();
    clap_complete::generate(*shell, &mut command(), "outrigger", &mut text);
    program::print(&String::from_utf8_lossy(&text))
}

fn man() -> ExitCode {
    let command = command();
    let pages =
        std::iter::once(command.clone()).chain(command.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned());
    let mut text = Vec::new();
    for page in pages {
        if let Err(error) = clap_mangen::Man::new(page).render(&mut text) {
            eprintln!("outrigger man: cannot print: {error}");
            return ExitCode::FAILURE;
        }
    }
    program::print(&String::from_utf8_lossy(&text))
}
