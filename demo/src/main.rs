//! `make demo`: the product on one machine, with a real API server and a cloud.

mod clouds;
mod fixture;
mod kubelet;
mod scenario;
mod screen;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use clouds::{Aws, Cloud, Memory, Real, Simulated};
use fixture::Fixture;
use lab::ControlPlane;
use screen::Screen;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

/// Shows the product on this machine: a real API server, a cloud, three replicas of the manager.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// The cloud
    #[arg(long, value_name = "NAME", default_value = "memory")]
    cloud: CloudName,
    /// With --cloud openstack: use the real services instead of simulated ones. They are installed first if necessary
    #[arg(long)]
    real: bool,
    /// Leave everything running at the end, and print how to inspect it
    #[arg(long)]
    keep: bool,
    /// Time to wait between steps
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    pause: f32,
    /// The program `outrigger` [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    outrigger: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CloudName {
    Memory,
    Openstack,
    Aws,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    match Box::pin(run(&Options::parse())).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("outrigger-demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result<()> {
    if options.real && options.cloud != CloudName::Openstack {
        bail!("--real is for --cloud openstack");
    }
    let program = outrigger(options)?;
    prepare(options).await?;
    let screen = Screen::new(Duration::from_secs_f32(options.pause.max(0.0)));
    let plane = screen.step("a control plane", control_plane()).await?;
    let show = async |cloud: &dyn Cloud| present(options, &screen, &Fixture::new(plane, cloud, &program)?).await;
    match (options.cloud, options.real) {
        (CloudName::Memory, _) => Box::pin(show(&Memory::start().await?)).await,
        (CloudName::Aws, _) => Box::pin(show(&screen.step("a cloud", Aws::start()).await?)).await,
        (CloudName::Openstack, false) => Box::pin(show(&screen.step("a cloud", Simulated::start()).await?)).await,
        (CloudName::Openstack, true) => {
            let starting = screen.with_timeout(clouds::START);
            let services = starting.step("a cloud", clouds::services()).await?;
            Box::pin(show(&screen.step("a project", Real::new(&services)).await?)).await
        }
    }
}

/// The program that is shown.
fn outrigger(options: &Options) -> Result<PathBuf> {
    let program = match &options.outrigger {
        Some(program) => program.clone(),
        None => std::env::current_exe()
            .context("cannot find this program")?
            .with_file_name("outrigger"),
    };
    if !Path::new(&program).is_file() {
        bail!(
            "{} does not exist: build it with cargo build -p outrigger",
            program.display()
        );
    }
    Ok(program)
}

/// Builds and installs what the steps need, before the first of them. On a new machine that takes minutes, and prints its progress.
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
    let done = format!("etcd and kube-apiserver are up at {}", plane.url());
    Ok((plane, done))
}

async fn present(options: &Options, screen: &Screen, fixture: &Fixture<'_>) -> Result<()> {
    let screen = screen.with_timeout(fixture.cloud.step_timeout());
    Box::pin(scenario::run(&screen, fixture)).await?;
    if options.keep {
        Screen::print(&fixture.how_to_inspect()?);
        tokio::signal::ctrl_c().await?;
    }
    Ok(())
}
