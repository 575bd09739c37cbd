//! `lab prepare` builds the programs of the lab; `lab exec -- COMMAND` runs a command beside a control plane that its
//! tests share.

#![allow(clippy::print_stderr, reason = "it is a command")]

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::process::{Command, ExitCode};

#[derive(Parser)]
#[command(about = "Real systems on loopback to test and demonstrate against")]
struct Args {
    #[command(subcommand)]
    command: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Build what is not in the cache yet, so that no test waits for it.
    Prepare,
    /// Run a command with `OUTRIGGER_LAB` set to a running control plane, and stop that afterwards.
    Exec {
        /// The command and its arguments.
        #[arg(trailing_var_arg = true, required = true)]
        command: Vec<String>,
    },
}

fn main() -> Result<ExitCode> {
    match Args::parse().command {
        Verb::Prepare => {
            lab::assets::prepare(&["etcd", "kube-apiserver", "kubectl"])?;
            lab::peer::program()?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Exec { command } => exec(&command),
    }
}

fn exec(command: &[String]) -> Result<ExitCode> {
    let plane = lab::ControlPlane::start()?;
    let status = Command::new(&command[0])
        .args(&command[1..])
        .env("OUTRIGGER_LAB", plane.dir())
        .status()
        .with_context(|| format!("cannot run {}", command[0]))?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
