//! The command line of the program under test.

use super::process::{Exit, Manager};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// A command line that can still be changed.
#[must_use]
#[derive(Clone)]
pub struct Launch {
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) folder: PathBuf,
    pub(super) address: Option<SocketAddr>,
}

/// Runs the program to its end.
pub fn run(args: &[&str]) -> Exit {
    let folder = super::Folder::new(&lab::unique("run"));
    let launch = args
        .iter()
        .fold(Launch::new(folder.path()), |launch, arg| launch.arg(arg));
    launch.start().wait()
}

impl Launch {
    /// The program without arguments; its output goes to this folder.
    pub fn new(folder: &Path) -> Self {
        Self {
            program: env!("CARGO_BIN_EXE_outrigger").into(),
            args: Vec::new(),
            env: Vec::new(),
            folder: folder.to_owned(),
            address: None,
        }
    }

    /// The program by another path, for example a link.
    pub fn program(mut self, path: &Path) -> Self {
        path.clone_into(&mut self.program);
        self
    }

    /// One more argument.
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// A flag as `--name=value` or `--name`, in place of an earlier one of this name.
    pub fn flag(self, flag: &str) -> Self {
        let name = flag.split_once('=').map_or(flag, |(name, _)| name);
        self.without(name).arg(flag)
    }

    /// Without an argument or a flag, given as `--name`.
    pub fn without(mut self, name: &str) -> Self {
        let is_other = |arg: &String| arg.split_once('=').map_or(arg.as_str(), |(name, _)| name) != name;
        self.args.retain(is_other);
        self
    }

    /// With this environment variable.
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.env.push((key.to_owned(), value.to_owned()));
        self
    }

    /// With the secure port at this address.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.address = Some(address);
        self.flag(&format!("--bind-address={}", address.ip()))
            .flag(&format!("--secure-port={}", address.port()))
    }

    /// Starts it.
    pub fn start(self) -> Manager {
        Manager::spawn(&self)
    }
}
