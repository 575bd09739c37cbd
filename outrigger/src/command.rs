//! `outrigger <subcommand>`.

#![expect(clippy::print_stderr, reason = "it is a command")]

use crate::{ccm, demo, operator, process, reference};
use ::operator::{options::Role, render};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use std::process::ExitCode;

/// Runs what the arguments ask for.
pub fn run(args: Vec<String>) -> ExitCode {
    // These flags are Go's: clap never sees them.
    match args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("ccm", rest)) => return ccm::run("outrigger ccm", rest.to_vec()),
        Some(("operator", rest)) => return operator::run("outrigger operator", Role::Operator, rest.to_vec()),
        Some(("render", rest)) => return render::main("outrigger render", rest.to_vec()),
        _ => {}
    }
    let all = std::iter::once("outrigger".to_owned()).chain(args);
    let matches = match command().try_get_matches_from(all) {
        Ok(matches) => matches,
        Err(error) => return show(&error),
    };
    match matches.subcommand() {
        Some(("demo", matches)) => demo::main(&demo::Options::from(matches)),
        Some(("completion", matches)) => completion(matches),
        Some(("man", _)) => man(),
        Some(("reference", matches)) => {
            let name = matches.get_one::<String>("page").map(String::as_str);
            process::print(&name.and_then(reference::page).unwrap_or_default())
        }
        Some(("version", _)) => process::print(&format!("Outrigger {}\n", runtime::version::Info::current())),
        _ => ExitCode::FAILURE,
    }
}

fn show(error: &clap::Error) -> ExitCode {
    // Nothing is left to be said where even this cannot be printed.
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
        .about("Takes a Kubernetes cluster's cloud code out of the tree")
        .version(runtime::version::Info::current().to_string())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(ccm::command())
        .subcommand(operator::command())
        .subcommand(operator::render_command())
        .subcommand(demo::command())
        .subcommand(Command::new("completion").about("Print shell completions").arg(shell))
        .subcommand(Command::new("man").about("Print the man page"))
        .subcommand(
            Command::new("reference")
                .about("Print a page of the reference, in Markdown")
                .arg(Arg::new("page").required(true).value_parser(reference::PAGES))
                .hide(true),
        )
        .subcommand(Command::new("version").about("Print the version"))
}

fn completion(matches: &ArgMatches) -> ExitCode {
    let Some(shell) = matches.get_one::<Shell>("shell") else {
        return ExitCode::FAILURE;
    };
    let mut text = Vec::new();
    clap_complete::generate(*shell, &mut command(), "outrigger", &mut text);
    process::print(&String::from_utf8_lossy(&text))
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
    process::print(&String::from_utf8_lossy(&text))
}

/// A flag that is on or off.
pub fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}
