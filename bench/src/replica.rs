//! A manager under test: ours, or the Go framework's.

use crate::world::World;
use anyhow::{Context, Result};
use lab::Guarded;
use std::{fs, path::Path, time::Instant};

/// Which program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Outrigger.
    Ours,
    /// The Go framework with its defaults.
    Peer,
    /// The Go framework with its concurrency and rates raised.
    PeerTuned,
}

impl Program {
    /// The column's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "outrigger",
            Self::Peer => "go",
            Self::PeerTuned => "go, tuned",
        }
    }

    fn path(self, world: &World) -> &Path {
        match self {
            Self::Ours => &world.ours,
            Self::Peer | Self::PeerTuned => &world.peer,
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Ours => &["ccm"],
            Self::Peer => &[],
            Self::PeerTuned => &[
                "--kube-api-qps=2000",
                "--kube-api-burst=4000",
                "--concurrent-node-syncs=30",
                "--concurrent-node-status-updates=30",
                "--concurrent-service-syncs=30",
            ],
        }
    }
}

/// A running manager.
pub struct Replica {
    /// As whom it talks to the API server.
    pub user: String,
    /// When it was started.
    pub started: Instant,
    process: Guarded,
}

impl Replica {
    /// Starts one, with a user of its own.
    pub fn start(world: &World, program: Program, more: &[&str]) -> Result<Self> {
        let user = lab::unique("bench");
        let kubeconfig = world
            .plane
            .kubeconfig_for(&user, &["system:masters"])
            .display()
            .to_string();
        let mut args: Vec<String> = program.flags().iter().map(ToString::to_string).collect();
        args.extend([
            "--cloud-provider=memory".to_owned(),
            format!("--cloud-config={}", world.cloud_config.display()),
            format!("--kubeconfig={kubeconfig}"),
            "--secure-port=0".to_owned(),
            "--configure-cloud-routes=false".to_owned(),
        ]);
        args.extend(more.iter().map(ToString::to_string));
        let started = Instant::now();
        let process = Guarded::spawn(world.plane.dir(), &user, program.path(world), &args)?;
        Ok(Self { user, started, process })
    }

    /// Sends a signal.
    pub fn signal(&self, signal: &str) -> Result<()> {
        self.process.signal(signal)
    }

    /// Resident memory, and how much of it is the program's own data.
    pub fn resident(&self) -> Result<String> {
        let pid = self.process.pid().context("it is gone")?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let mebibytes = |key: &str| -> Result<f64> {
            let line = status
                .lines()
                .find(|line| line.starts_with(key))
                .with_context(|| format!("no {key}"))?;
            let kib: f64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
            Ok(kib / 1024.0)
        };
        Ok(format!(
            "{:.1} MiB, {:.1} of it data",
            mebibytes("VmRSS:")?,
            mebibytes("RssAnon:")?
        ))
    }

    /// The end of what it said, and whether it still runs.
    pub fn check(&self) -> Result<()> {
        anyhow::ensure!(
            self.process.is_running(),
            "{} ended:\n{}",
            self.user,
            self.process.log_tail(10)
        );
        Ok(())
    }
}
