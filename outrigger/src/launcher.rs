//! `/bin/bash -c SCRIPT` in an image without a shell.
//!
//! The manifests of `OpenShift` start every container with a script of one form: it exports all variables, sources a file if that exists, and
//! executes one program. A script of this form is interpreted here ([`script`]), and the program replaces this process. Everything else that
//! a shell can do is rejected.

#![expect(clippy::print_stderr, reason = "it stands for a command")]

mod script;
#[cfg(test)]
mod tests;
mod words;

use script::{Files, Program};
use std::{
    fmt, fs,
    io::{self, ErrorKind},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitCode},
};

/// The exit codes of shells.
const NOT_SUPPORTED: u8 = 2;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Why a script does not start a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    text: String,
    code: u8,
}

impl Problem {
    fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            code: NOT_SUPPORTED,
        }
    }

    fn at(line: usize, text: impl fmt::Display) -> Self {
        Self::new(format!("line {line}: {text}"))
    }

    fn code(self, code: u8) -> Self {
        Self { code, ..self }
    }
}

/// Whether this is the name of a shell.
pub fn is_shell(name: &str) -> bool {
    matches!(name, "bash" | "sh")
}

/// Runs the script of these arguments. Returns only if that failed.
pub fn run(shell: &str, args: &[String]) -> ExitCode {
    let report = |text: &str| eprintln!("{shell}: {text}");
    let program = match args {
        // Parameters may follow, which these scripts do not use.
        [option, script, ..] if option == "-c" => script::interpret(script, &Disk),
        _ => Err(Problem::new(format!("only -c SCRIPT is supported: {}", script::FORM))),
    };
    let problem = program.map_or_else(
        |problem| problem,
        |program| {
            program.warnings.iter().for_each(|warning| report(warning));
            exec(&program)
        },
    );
    report(&problem.text);
    ExitCode::from(problem.code)
}

/// Replaces this process by the program. Returns only if that failed.
fn exec(program: &Program) -> Problem {
    let Program { path, args, env, .. } = program;
    let error = Command::new(path).args(args).envs(env).exec();
    match error.kind() {
        ErrorKind::NotFound => Problem::new(format!("{path}: not found: this image does not have it")).code(NOT_FOUND),
        _ => Problem::new(format!("{path}: cannot be run: {error}")).code(NOT_EXECUTABLE),
    }
}

/// The files of this machine.
struct Disk;

impl Files for Disk {
    fn is_file(&self, path: &str) -> bool {
        Path::new(path).is_file()
    }

    fn read(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(path)
    }
}
