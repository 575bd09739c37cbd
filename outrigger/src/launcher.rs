//! `/bin/bash -c SCRIPT` in an image without a shell.
//!
//! The manifests of cloud controller managers start everything by a small script: it sets variables, sources a file if that is
//! there, and runs one program. That family of scripts is read here ([`script`]), worked out without running anything ([`plan`]),
//! and ends in the program itself, which takes the place of this process. Whatever else a shell can do is refused with a sentence.

#![expect(clippy::print_stderr, reason = "it stands for a command")]

mod plan;
mod script;
#[cfg(test)]
mod tests;
mod words;

use plan::{Files, Plan};
use script::Options;
use std::{
    collections::BTreeMap,
    fmt, fs,
    io::{self, ErrorKind},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitCode},
};

/// The exit codes of shells, by which people know what happened.
const NOT_UNDERSTOOD: u8 = 2;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Why a script does not end in a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    file: Option<String>,
    /// Zero if it is not in a script.
    line: usize,
    text: String,
    code: u8,
}

impl Problem {
    fn new(line: usize, text: impl Into<String>) -> Self {
        Self {
            file: None,
            line,
            text: text.into(),
            code: NOT_UNDERSTOOD,
        }
    }

    fn code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    fn in_file(self, file: &str) -> Self {
        Self {
            file: Some(file.to_owned()),
            ..self
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.text)
    }
}

/// Whether a program of this name is a shell, for which we stand in.
pub fn is_shell(name: &str) -> bool {
    matches!(name, "bash" | "sh")
}

/// Does what the shell would have done with these arguments. It comes back only if it could not.
pub fn run(shell: &str, args: &[String]) -> ExitCode {
    let said = |text: &dyn fmt::Display| eprintln!("{shell}: {text}");
    let planned = invocation(args).and_then(|(options, script)| {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect::<BTreeMap<_, _>>();
        plan::plan(script, options, environment, &Disk)
    });
    match planned {
        Ok(plan) => {
            for warning in &plan.warnings {
                said(warning);
            }
            let (problem, code) = exec(&plan);
            said(&problem);
            ExitCode::from(code)
        }
        Err(problem) => {
            said(&problem);
            ExitCode::from(problem.code)
        }
    }
}

/// The options and the script of `-c`; what follows them are parameters, which these scripts do not use.
fn invocation(args: &[String]) -> Result<(Options, &str), Problem> {
    let mut options = Options::default();
    let mut rest = args;
    while let Some((first, after)) = rest.split_first() {
        let Some(letters) = first.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty()) else {
            break;
        };
        let is_command = first.starts_with('-') && letters.contains('c');
        let others = first.replacen('c', "", usize::from(is_command));
        let mut given = vec![others.clone()];
        rest = after;
        if let Some((name, after)) = others.ends_with('o').then(|| rest.split_first()).flatten() {
            given.push(name.clone());
            rest = after;
        }
        if others.len() > 1 {
            options.change(&given).map_err(|text| Problem::new(0, text))?;
        }
        if is_command {
            let missing = || Problem::new(0, "-c needs a script");
            return rest
                .first()
                .map(|script| (options, script.as_str()))
                .ok_or_else(missing);
        }
    }
    Err(Problem::new(
        0,
        "this image has no shell: only -c and a script that sets variables, sources a file and runs one program",
    ))
}

/// Becomes the program; comes back only with the reason why not.
fn exec(plan: &Plan) -> (String, u8) {
    let error = Command::new(&plan.program).args(&plan.args).envs(&plan.env).exec();
    let program = &plan.program;
    match error.kind() {
        ErrorKind::NotFound => (format!("{program}: not found: this image does not have it"), NOT_FOUND),
        _ => (format!("{program}: cannot be run: {error}"), NOT_EXECUTABLE),
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
