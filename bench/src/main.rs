//! Side by side with the Go framework, in one run: the same API server, the same cloud.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]
#![allow(clippy::cast_precision_loss, reason = "numbers are rounded for people anyway")]

mod audit;
mod aws;
mod bare;
mod burst;
mod fixture;
mod memory_fixture;
mod openstack;
mod openstack_real;
mod operator;
mod replica;
mod scenarios;
mod table;

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use memory_fixture::MemoryFixture;
use std::{path::PathBuf, process::ExitCode};
use table::Table;

/// Measures, and prints a table of ratios.
#[derive(Parser)]
struct Args {
    /// How many nodes.
    #[arg(long, default_value_t = 1000)]
    nodes: usize,
    /// How many Services.
    #[arg(long, default_value_t = 500)]
    services: usize,
    /// How long an idle manager is watched, in seconds.
    #[arg(long, default_value_t = 60)]
    idle: u64,
    /// The binary that is measured; by default the one beside this program.
    #[arg(long)]
    outrigger: Option<PathBuf>,
    /// Measure only this.
    #[arg(long)]
    only: Option<What>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Fresh nodes are initialised.
    Initialise,
    /// The leader stops and a standby takes over.
    HandOver,
    /// A process starts.
    Start,
    /// Nothing changes, and then one node joins.
    Idle,
    /// The provider for `OpenStack` beside occm, on the simulated cloud.
    Openstack,
    /// Of that, only many Services at once.
    Burst,
    /// Fresh nodes and many Services on the real services.
    OpenstackReal,
    /// Of that, only many Services at once.
    BurstReal,
    /// The provider for AWS beside aws-cloud-controller-manager, on the simulated cloud.
    Aws,
    /// The operator.
    Operator,
}

impl What {
    /// Whether it is measured on the memory cloud.
    fn is_framework(self) -> bool {
        match self {
            Self::Initialise | Self::HandOver | Self::Start | Self::Idle => true,
            Self::Openstack | Self::Burst | Self::OpenstackReal | Self::BurstReal | Self::Aws | Self::Operator => false,
        }
    }
}

fn main() -> ExitCode {
    lab::install_crypto();
    let args = Args::parse();
    let done = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(run(&args)));
    if let Err(error) = done {
        eprintln!("bench: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

async fn run(args: &Args) -> Result<()> {
    let wanted = |what| args.only.is_none_or(|only| only == what);
    let mut broken = Vec::new();
    if args.only.is_none_or(What::is_framework) {
        broken.extend(framework(args, wanted).await?.into_broken());
    }
    if wanted(What::Openstack) || wanted(What::Burst) {
        let mut table = Table::new();
        openstack::measure(args, &mut table).await?;
        println!("\nOpenStack\n\n{table}");
        broken.extend(table.into_broken());
    }
    if wanted(What::OpenstackReal) || wanted(What::BurstReal) {
        let mut table = Table::new();
        openstack_real::measure(args, &mut table).await?;
        println!("\nOpenStack, the real services\n\n{table}");
        broken.extend(table.into_broken());
    }
    if wanted(What::Aws) {
        let mut table = Table::new();
        aws::measure(args, &mut table).await?;
        println!("\nAWS\n\n{table}");
        broken.extend(table.into_broken());
    }
    if wanted(What::Operator) {
        let mut table = Table::new();
        operator::measure(args.outrigger.as_deref(), args.idle, &mut table).await?;
        println!("\nOperator\n\n{table}");
        broken.extend(table.into_broken());
    }
    ensure!(broken.is_empty(), "not as promised:\n  {}", broken.join("\n  "));
    Ok(())
}

async fn framework(args: &Args, wanted: impl Fn(What) -> bool) -> Result<Table> {
    let fixture = MemoryFixture::start(args.outrigger.as_deref()).await?;
    let mut table = Table::new();
    if wanted(What::Initialise) {
        scenarios::initialise(&fixture, args.nodes, &mut table).await?;
    }
    if wanted(What::HandOver) {
        scenarios::hand_over(&fixture, &mut table).await?;
    }
    if wanted(What::Start) {
        scenarios::start(&fixture, &mut table).await?;
    }
    if wanted(What::Idle) {
        scenarios::idle(args, &mut table).await?;
    }
    scenarios::size(&fixture, &mut table)?;
    println!("\n{table}");
    Ok(table)
}
