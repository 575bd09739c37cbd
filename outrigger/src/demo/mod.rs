//! `outrigger demo`: the main job on one machine, with a real API server and the memory cloud.

#![expect(clippy::print_stderr, reason = "it is a command")]

mod kubelet;
mod screen;
mod stage;
mod story;

use crate::command::switch;
use clap::{Arg, ArgMatches, Command};
use screen::Screen;
use stage::Stage;
use std::{process::ExitCode, time::Duration};

/// How the demo is to be shown.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    keep: bool,
    pause: Duration,
}

impl From<&ArgMatches> for Options {
    fn from(matches: &ArgMatches) -> Self {
        let pause = matches.get_one::<f32>("pause").copied().unwrap_or_default();
        Self {
            keep: matches.get_flag("keep"),
            pause: Duration::from_secs_f32(pause.max(0.0)),
        }
    }
}

/// The subcommand, for help and completions.
pub fn command() -> Command {
    let pause = Arg::new("pause")
        .long("pause")
        .value_name("SECONDS")
        .value_parser(clap::value_parser!(f32))
        .default_value("2")
        .help("How long to wait between steps, so that a person can follow");
    Command::new("demo")
        .about("Show the whole thing on this machine: a real API server, the memory cloud, three replicas")
        .arg(switch(
            "keep",
            "Leave it running at the end, and say how to look around",
        ))
        .arg(pause)
}

/// Shows the demo; a wrong outcome is an error.
pub fn main(options: &Options) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("outrigger demo: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(show(options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("outrigger demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn show(options: &Options) -> anyhow::Result<()> {
    let screen = Screen::new(options.pause);
    let stage = screen
        .step("a control plane", async {
            let stage = Stage::set().await?;
            let said = format!("etcd and kube-apiserver are up at {}", stage.plane.url());
            Ok((stage, said))
        })
        .await?;
    story::tell(&screen, &stage).await?;
    if options.keep {
        Screen::say(&stage.how_to_look_around()?);
        tokio::signal::ctrl_c().await?;
    }
    Ok(())
}
