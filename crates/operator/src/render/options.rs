//! The options of `outrigger render`.

use super::Problem;
use runtime::{
    flags::{Problems, Section, Set, Show, Switch, Version},
    version,
};
use std::path::PathBuf;

const ABOUT: &str = "Writes what the machine that starts a cluster needs: a static Pod that initialises the first nodes, and\n\
                     the cloud's configuration. Nothing is written if anything is wrong.";

/// The options of `outrigger render`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The destination.
    pub dest_dir: PathBuf,
    /// The Infrastructure.
    pub infrastructure: PathBuf,
    /// The `ConfigMap` with the images.
    pub images: PathBuf,
    /// The `ConfigMap` with the cloud configuration, if there is one.
    pub cloud_config: Option<PathBuf>,
}

/// What a command line requests.
#[derive(Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Run with these options.
    Run(Options),
    /// Print this and exit with 0.
    Print(String),
}

/// The values of the flags.
#[derive(Default)]
pub struct Written {
    dest_dir: String,
    infrastructure: String,
    images: String,
    cloud_config: String,
    help: Switch,
    version: Version,
}

impl Options {
    /// Parses a command line (without the program's name).
    ///
    /// # Errors
    /// All problems of the command line.
    pub fn parse(program: &str, args: Vec<String>) -> Result<Invocation, Problems> {
        let mut written = Written::default();
        let set = written.set(program);
        let help = set.help(Show::for_stdout());
        set.parse(args)?;
        match written.version {
            _ if written.help.is_on() => Ok(Invocation::Print(help)),
            Version::Print => Ok(Invocation::Print(format!("Outrigger {}\n", version::Info::current()))),
            Version::Raw => Ok(Invocation::Print(format!("{:?}\n", version::Info::current()))),
            Version::Run => written.checked().map(Invocation::Run),
        }
    }
}

impl Written {
    /// All flags, borrowed from their values.
    pub fn set(&mut self, program: &str) -> Set<'_> {
        let section = Section::new("render")
            .flag("dest-dir", &mut self.dest_dir, "The folder to write to. Required.")
            .flag(
                "cluster-infrastructure-file",
                &mut self.infrastructure,
                "A manifest of the Infrastructure. Required.",
            )
            .flag(
                "images-file",
                &mut self.images,
                "A manifest of the ConfigMap with the key images.json. Required.",
            )
            .flag(
                "cloud-config-file",
                &mut self.cloud_config,
                "A manifest of the ConfigMap with the cloud's configuration; read if the Infrastructure refers to one.",
            );
        let global = Section::new("global")
            .short('h', "help", &mut self.help, "Show all flags.")
            .flag("version", &mut self.version, "Print the version and quit.");
        Set::new(program, ABOUT, vec![section, global])
    }

    fn checked(self) -> Result<Options, Problems> {
        let required = [
            ("dest-dir", &self.dest_dir),
            ("cluster-infrastructure-file", &self.infrastructure),
            ("images-file", &self.images),
        ];
        let missing = required.into_iter().filter(|(_, value)| value.is_empty());
        let problems: Problems = missing.map(|(flag, _)| format!("--{flag} is required")).collect();
        problems.or(Options {
            dest_dir: self.dest_dir.into(),
            infrastructure: self.infrastructure.into(),
            images: self.images.into(),
            cloud_config: Some(self.cloud_config).filter(|path| !path.is_empty()).map(Into::into),
        })
    }
}

impl From<Problems> for Problem {
    fn from(problems: Problems) -> Self {
        Self::Flag(problems.to_string())
    }
}
