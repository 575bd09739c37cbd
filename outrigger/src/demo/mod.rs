//! `outrigger demo`: the main job on one machine, with a real API server and a cloud of its own.

#![expect(clippy::print_stderr, reason = "it is a command")]

mod clouds;
mod kubelet;
mod screen;
mod stage;
mod story;

use anyhow::{Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command};
use clouds::{Cloud, Memory, Real, Sim};
use lab::ControlPlane;
use screen::Screen;
use stage::Stage;
use std::{process::ExitCode, time::Duration};

/// How the demo is to be shown.
#[derive(Debug, Clone)]
pub struct Options {
    cloud: String,
    real: bool,
    keep: bool,
    pause: Duration,
}

impl From<&ArgMatches> for Options {
    fn from(matches: &ArgMatches) -> Self {
        let pause = matches.get_one::<f32>("pause").copied().unwrap_or_default();
        Self {
            cloud: matches.get_one("cloud").cloned().unwrap_or_default(),
            real: matches.get_flag("real"),
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
    let cloud = Arg::new("cloud")
        .long("cloud")
        .value_name("NAME")
        .value_parser(["memory", "openstack"])
        .default_value("memory")
        .help("The cloud to show it on");
    Command::new("demo")
        .about("Show the whole thing on this machine: a real API server, a cloud of its own, three replicas")
        .arg(cloud)
        .arg(switch(
            "real",
            "With --cloud openstack: on its real services, which are installed first if need be, instead of simulated ones",
        ))
        .arg(switch(
            "keep",
            "Leave it running at the end, and say how to look around",
        ))
        .arg(pause)
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
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

async fn show(options: &Options) -> Result<()> {
    if options.real && options.cloud != "openstack" {
        bail!("--real is for --cloud openstack");
    }
    prepare(options).await?;
    let screen = Screen::new(options.pause);
    let plane = screen.step("a control plane", control_plane()).await?;
    match (options.cloud.as_str(), options.real) {
        ("openstack", false) => {
            let cloud = screen.step("a cloud", Sim::start()).await?;
            play(options, &screen, plane, &cloud).await
        }
        ("openstack", true) => {
            let starting = screen.with_patience(clouds::START);
            let services = starting.step("a cloud", clouds::services()).await?;
            let cloud = screen.step("a project", Real::new(&services)).await?;
            play(options, &screen, plane, &cloud).await
        }
        _ => play(options, &screen, plane, &Memory::start().await?).await,
    }
}

/// Builds and installs what the steps need, before the first of them: on a fresh machine that takes as long as it takes, and
/// it says by itself what it is at.
async fn prepare(options: &Options) -> Result<()> {
    let mut programs = vec!["etcd", "kube-apiserver"];
    if options.keep {
        programs.push("kubectl");
    }
    let real = options.real;
    tokio::task::spawn_blocking(move || {
        lab::assets::prepare(&programs)?;
        if real { clouds::install() } else { Ok(()) }
    })
    .await?
}

async fn control_plane() -> Result<(ControlPlane, String)> {
    let plane = tokio::task::spawn_blocking(ControlPlane::start).await??;
    let said = format!("etcd and kube-apiserver are up at {}", plane.url());
    Ok((plane, said))
}

async fn play(options: &Options, screen: &Screen, plane: ControlPlane, cloud: &dyn Cloud) -> Result<()> {
    let stage = Stage::set(plane, cloud)?;
    story::tell(&screen.with_patience(cloud.patience()), &stage).await?;
    if options.keep {
        Screen::say(&stage.how_to_look_around()?);
        tokio::signal::ctrl_c().await?;
    }
    Ok(())
}
