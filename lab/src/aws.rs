//! AWS on loopback: moto's server with corrections, from `lab/aws`.
//!
//! Start with [`Aws::shared`], and give each test an [`Account`] of its own, or a [`Fixture`]: an account with a network, security group and certificate
//! as a cluster has them. Every call is recorded, its signature is verified, and [`Account::problems`] checks it against botocore's service models.

mod account;
mod calls;
mod fixture;

pub use account::{Account, Fault};
pub use calls::{Call, Mark};
pub use fixture::{Fixture, Instance, Subnet};

use crate::{
    Patience, install_crypto,
    process::{Guarded, sweep},
    python, unique,
};
use anyhow::{Context, Result, bail};
use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

/// The region of everything.
pub const REGION: &str = "us-east-1";
/// The secret of every access key.
pub const SECRET: &str = "lab-secret-access-key";

const FOLDER: &str = "outrigger-aws";
const REQUIREMENTS: &str = include_str!("../aws/requirements.lock");
const PROGRAM: [(&str, &str); 6] = [
    ("server.py", include_str!("../aws/server.py")),
    ("corrections.py", include_str!("../aws/corrections.py")),
    ("more.py", include_str!("../aws/more.py")),
    ("calls.py", include_str!("../aws/calls.py")),
    ("signatures.py", include_str!("../aws/signatures.py")),
    ("models.py", include_str!("../aws/models.py")),
];
/// The longest time for which the server may log nothing new before it listens.
const STALLED_AFTER: Duration = Duration::from_mins(2);

/// A running server. Dropping it stops it and removes its folder.
#[derive(Debug)]
pub struct Aws {
    folder: PathBuf,
    url: String,
    process: Guarded,
}

/// Installs what is not in the cache yet.
///
/// # Errors
/// As [`python::with`].
pub fn prepare() -> Result<()> {
    python().map(drop)
}

/// A Python that has moto, boto3 and botocore.
///
/// # Errors
/// As [`python::with`].
pub fn python() -> Result<PathBuf> {
    python::with("moto", REQUIREMENTS)
}

impl Aws {
    /// The server that all tests of a process share.
    ///
    /// # Panics
    /// If it cannot be started: no test can continue without it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Aws> = OnceLock::new();
        SHARED.get_or_init(|| {
            #[expect(clippy::panic, reason = "the tests that share it cannot continue")]
            Self::start().unwrap_or_else(|error| panic!("no AWS: {error:#}"))
        })
    }

    /// Starts a server of one's own, which takes seconds.
    ///
    /// # Errors
    /// If it cannot be installed or does not start.
    pub fn start() -> Result<Self> {
        install_crypto();
        sweep(&std::env::temp_dir(), FOLDER);
        let python = python()?;
        // A free port may be taken by another process before it is used.
        Self::try_start(&python).or_else(|_| Self::try_start(&python))
    }

    fn try_start(python: &Path) -> Result<Self> {
        let folder = std::env::temp_dir().join(unique(FOLDER));
        let program = folder.join("program");
        fs::create_dir_all(&program).with_context(|| format!("cannot create {}", folder.display()))?;
        for (name, text) in PROGRAM {
            fs::write(program.join(name), text)?;
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let args = [
            program.join("server.py").into_os_string(),
            port.to_string().into(),
            folder.clone().into_os_string(),
        ];
        let server = Self {
            url: format!("http://127.0.0.1:{port}"),
            process: Guarded::spawn_with_env(&folder, "moto", python, &args, &[("PYTHONDONTWRITEBYTECODE", "1")])?,
            folder,
        };
        server.wait_until_it_listens(port)?;
        Ok(server)
    }

    fn wait_until_it_listens(&self, port: u16) -> Result<()> {
        let mut patience = Patience::new(STALLED_AFTER);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = self.process.log_tail(20);
            if !self.process.is_running() || patience.is_over(&log) {
                bail!("moto does not listen:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Where every service answers.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The folder with its state and its log.
    pub fn dir(&self) -> &Path {
        &self.folder
    }

    /// An account with nothing in it but the default VPC.
    pub fn account(&self) -> Account<'_> {
        Account::new(self)
    }

    /// From now on every call of a program under test takes this much longer.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn set_delay(&self, delay: Duration) -> Result<()> {
        // A file that is half written would be read as another delay.
        let unfinished = self.folder.join("delay.unfinished");
        fs::write(&unfinished, delay.as_secs_f64().to_string())?;
        Ok(fs::rename(unfinished, self.folder.join("delay"))?)
    }

    /// Deletes everything in all accounts.
    ///
    /// # Errors
    /// If the server does not answer.
    pub async fn reset(&self) -> Result<()> {
        let url = format!("{}/moto-api/reset", self.url);
        account::http()?.post(url).send().await?.error_for_status()?;
        Ok(())
    }
}

impl Drop for Aws {
    fn drop(&mut self) {
        self.process.stop();
        // What cannot be removed is in the temporary folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
