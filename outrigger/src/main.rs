//! The binary: a few lines a subcommand. It also answers to the names of the programs it replaces.

mod ccm;
mod command;
mod demo;
mod launcher;
mod operator;
mod process;
mod providers;
mod reference;

use std::{ffi::OsString, process::ExitCode};

fn main() -> ExitCode {
    lab::install_crypto();
    let words: Result<Vec<String>, OsString> = std::env::args_os().map(OsString::into_string).collect();
    let mut words = match words {
        Ok(words) => words.into_iter(),
        Err(word) => return process::refuse_argument(&word),
    };
    let program = words.next().unwrap_or_default();
    let args: Vec<String> = words.collect();
    if let Some(code) = by_name(&program, &args) {
        return code;
    }
    // The images of other managers have no entrypoint: their manifests write the program before its flags, among the
    // arguments. Where only the image is swapped, that comes to us.
    if let Some(code) = args.split_first().and_then(|(program, args)| by_name(program, args)) {
        return code;
    }
    command::run(args)
}

/// Runs the program that this path names, if it is one for which we stand in.
fn by_name(program: &str, args: &[String]) -> Option<ExitCode> {
    let name = program.rsplit('/').next().unwrap_or_default();
    if launcher::is_shell(name) {
        return Some(launcher::run(name, args));
    }
    if name.ends_with("cloud-controller-manager") {
        return Some(ccm::run(name, args.to_vec()));
    }
    operator::by_name(name, args)
}
