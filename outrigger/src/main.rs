//! The program `outrigger`: a few lines a subcommand. It also runs under the names of the programs that it replaces.

mod command;
mod credential_provider;
mod diagnose;
mod launcher;
mod migrate;
mod operator;
mod probe;
mod providers;
mod reference;

use runtime::program;
use std::process::ExitCode;

fn main() -> ExitCode {
    program::install_crypto();
    let (program, args) = match program::arguments() {
        Ok(words) => words,
        Err(code) => return code,
    };
    if let Some(code) = by_name(&program, &args) {
        return code;
    }
    // The images of other managers have no entrypoint: their manifests name the program as the first argument. With our image,
    // which has an entrypoint, that argument arrives here.
    if let Some(code) = args.split_first().and_then(|(program, args)| by_name(program, args)) {
        return code;
    }
    command::run(args)
}

/// Runs the program that this path names, if it is one that `outrigger` replaces.
fn by_name(path: &str, args: &[String]) -> Option<ExitCode> {
    let name = program::name(path);
    if launcher::is_shell(name) {
        return Some(launcher::run(name, args));
    }
    let registered = providers::registrations();
    let is_registered = registered.iter().any(|provider| provider.programs.contains(&name));
    if is_registered || name.ends_with("cloud-controller-manager") {
        return Some(manager::program::run(&registered, name, args.to_vec()));
    }
    operator::by_name(name, args).or_else(|| credential_provider::by_name(name, args))
}
