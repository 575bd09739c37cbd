//! A manager under test: ours, or the Go framework's.

use crate::{fixture::Fixture, table::Table};
use anyhow::{Context, Result};
use lab::Guarded;
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// After this time all work has ended, and idle connections are closed.
const REST: Duration = Duration::from_secs(40);

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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ours, Self::Peer, Self::PeerTuned];

    /// The column's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "outrigger",
            Self::Peer => "go",
            Self::PeerTuned => "go, tuned",
        }
    }

    fn path(self, fixture: &Fixture) -> &Path {
        match self {
            Self::Ours => &fixture.ours,
            Self::Peer | Self::PeerTuned => &fixture.peer,
        }
    }

    fn flags(self, fixture: &Fixture) -> Vec<&'static str> {
        match self {
            Self::Ours => vec!["ccm"],
            Self::Peer => Vec::new(),
            Self::PeerTuned => [&TUNED[..], fixture.tuned].concat(),
        }
    }
}

/// With these the Go programs are as fast as they can be.
const TUNED: [&str; 4] = [
    "--kube-api-qps=2000",
    "--kube-api-burst=4000",
    "--concurrent-node-syncs=30",
    "--concurrent-service-syncs=30",
];

/// A running manager.
pub struct Replica {
    /// Its user at the API server.
    pub user: String,
    /// When it was started.
    pub started: Instant,
    process: Guarded,
}

impl Replica {
    /// Starts one, with a user of its own.
    pub fn start(fixture: &Fixture, program: Program, more: &[&str]) -> Result<Self> {
        let user = lab::unique("bench");
        let kubeconfig = fixture
            .plane
            .kubeconfig_for(&user, &["system:masters"])
            .display()
            .to_string();
        let mut args: Vec<String> = program.flags(fixture).into_iter().map(str::to_owned).collect();
        args.extend([
            format!("--cloud-provider={}", fixture.provider),
            format!("--cloud-config={}", fixture.cloud_config.display()),
            format!("--kubeconfig={kubeconfig}"),
            "--secure-port=0".to_owned(),
            "--configure-cloud-routes=false".to_owned(),
        ]);
        args.extend(more.iter().map(ToString::to_string));
        let started = Instant::now();
        let (folder, path) = (fixture.plane.dir(), program.path(fixture));
        let process = Guarded::spawn_with_env(folder, &user, path, &args, &fixture.variables)?;
        Ok(Self { user, started, process })
    }

    /// Sends a signal.
    pub fn signal(&self, signal: &str) -> Result<()> {
        self.process.signal(signal)
    }

    /// Resident memory, and how much of it is the program's own data.
    pub fn resident(&self) -> Result<String> {
        resident(&self.process)
    }

    /// Resident memory in MiB.
    pub fn resident_mebibytes(&self) -> Result<f64> {
        let text = self.resident()?;
        let number = text.split(' ').next().unwrap_or_default();
        number.parse().with_context(|| format!("no number in {text}"))
    }

    /// Writes down the resident memory right after the work, and at rest.
    pub async fn put_resident(&self, program: Program, table: &mut Table) -> Result<()> {
        table.put("… resident memory afterwards", program, self.resident()?);
        tokio::time::sleep(REST).await;
        let what = format!("… resident memory {} s later", REST.as_secs());
        table.put(&what, program, self.resident()?);
        Ok(())
    }

    /// The end of its log, and whether it still runs.
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

/// Resident memory of a process, and how much of it is the program's own data.
pub fn resident(process: &Guarded) -> Result<String> {
    let pid = process.pid().context("it is gone")?;
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
