//! `outrigger check`: whether a manager with these flags could do its work.

use super::finish;
use crate::providers;
use ::diagnose::check::{self, Report};
use clap::Command;
use manager::program::{self as manager_program, Task};
use runtime::{
    flags::{Problems, Section},
    program,
};
use std::process::ExitCode;

const NAME: &str = "outrigger check";
const ABOUT: &str = "Tries everything that a manager with these flags needs: flags, API server, permissions, configuration and credentials of \
                     the cloud, a machine for each node, load balancers and routes. It changes nothing. Exit code: 0 if the manager could do \
                     its work, 1 if a check failed, 2 if the checks could not be made. All other flags are those of the manager:";

/// A check failed.
const FAILED: u8 = 1;

/// The formats of the report.
const FORMATS: [&str; 2] = ["table", "json"];

/// The subcommand, for completions and the manual page.
pub fn command() -> Command {
    let about = "Try everything that a manager with these flags needs, and change nothing";
    manager_program::command(&providers::registrations(), "check").about(about)
}

/// Checks, and prints the report.
pub fn run(args: Vec<String>) -> ExitCode {
    let mut output = FORMATS[0].to_owned();
    let help = "The format of the report: table or json.";
    let own = vec![Section::new("check").short('o', "output", &mut output, help)];
    let task = manager_program::parse(&providers::registrations(), NAME, args, own);
    if !FORMATS.contains(&output.as_str()) {
        let problem = format!("--output={output} is not a format: write table or json");
        // Nothing was checked.
        let _ = program::reject(&Problems::one(problem));
        return ExitCode::from(super::TROUBLE);
    }
    match task {
        Ok(Task::Print(help)) => program::print(&format!("{ABOUT}\n\n{help}")),
        Ok(Task::Run(options, setup)) => finish("check", async {
            let report = check::run(&options, setup.as_ref()).await;
            print(&report, &output)
        }),
        Err(problems) => {
            let report = Report::invalid_flags(problems.iter());
            finish("check", async { print(&report, &output) })
        }
    }
}

fn print(report: &Report, output: &str) -> Result<(String, u8), String> {
    let text = match output {
        "json" => report.json().map_err(|error| error.to_string())?,
        _ => report.table(),
    };
    let code = if report.has_failed() { FAILED } else { 0 };
    Ok((text, code))
}
