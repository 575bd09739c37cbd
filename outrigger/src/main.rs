//! The binary: a few lines a subcommand. It also answers to the names of the programs it replaces.

mod ccm;
mod command;
mod demo;
mod launcher;
mod operator;
mod process;
mod providers;
mod reference;

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::install_crypto();
    let mut args = std::env::args();
    let program = args.next().unwrap_or_default();
    let args: Vec<String> = args.collect();
    let name = program.rsplit('/').next().unwrap_or_default();
    if launcher::is_shell(name) {
        return launcher::run(name, &args);
    }
    if let Some(code) = operator::by_name(name, &args) {
        return code;
    }
    if name.ends_with("cloud-controller-manager") {
        return ccm::run(name, args);
    }
    command::run(args)
}
