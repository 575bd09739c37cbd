//! Configuration and credentials that are watched while the process runs.
//!
//! A [`LiveConfig`] reads the file of `--cloud-config`, and the files, Secrets and other objects that it names. A change takes effect only after the cloud has accepted the new credentials, and only if they lead to the same project as before.

mod current;
mod sources;
#[cfg(test)]
mod tests;

pub use current::Current;
pub use sources::{Disk, File, Files, Reader, Sources};

use async_trait::async_trait;
use cloud::{Error, Live, LiveData, LiveSource, Result};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tracing::warn;

/// A cloud whose configuration can change.
#[async_trait]
pub trait Configured: Send + Sync + 'static {
    /// Its configuration.
    type Config: Send;
    /// A configuration in use, with its client and what was learned through it.
    type Connection: Send + Sync + 'static;

    /// Reads the configuration. `warnings` gets what the user should correct, a sentence each, also if it fails.
    ///
    /// # Errors
    /// If it cannot be used.
    fn load(&self, sources: &Sources<'_>, warnings: &mut Vec<String>) -> Result<Loaded<Self::Config>>;

    /// Makes a connection without a call to the cloud.
    ///
    /// # Errors
    /// If certificates or keys cannot be used.
    fn connect(&self, config: Self::Config) -> Result<Self::Connection>;

    /// Authenticates, and checks that the connection can replace the running one: [`another`] is the error if it leads to another
    /// project. Returns what the user should know about the configuration.
    ///
    /// # Errors
    /// Why it cannot be used; the running connection then stays in use.
    async fn verify(&self, new: &Self::Connection, running: &Self::Connection) -> Result<Vec<String>>;

    /// Waits until the cloud refuses the credentials, see [`Live::refused`].
    async fn refused(&self, connection: &Self::Connection);

    /// Ends what the cloud keeps for the connection, see [`Live::close`].
    async fn close(&self, connection: &Self::Connection) {
        let _ = connection;
    }
}

/// A configuration that was read.
pub struct Loaded<C> {
    /// The configuration.
    pub config: C,
    /// The files that it was read from, besides that of `--cloud-config`.
    pub files: Vec<PathBuf>,
    /// The objects in the cluster that it names. The credentials may be missing until their data is given.
    pub sources: Vec<LiveSource>,
}

/// The configuration of a cloud, and the connection in use.
pub struct LiveConfig<C: Configured> {
    cloud: C,
    current: Current<C::Connection>,
    source: Source,
}

/// Where the configuration comes from.
enum Source {
    /// It was given, and does not change by itself.
    Given,
    /// It is read from files and objects in the cluster.
    Watched { file: Option<PathBuf>, state: Mutex<State> },
}

/// What is known of the configuration that was read last.
#[derive(Default)]
struct State {
    files: Vec<PathBuf>,
    sources: Vec<LiveSource>,
    warnings: Vec<String>,
}

impl<C: Configured> LiveConfig<C> {
    /// A configuration that does not change by itself. Makes no call to the cloud.
    ///
    /// # Errors
    /// As [`Configured::connect`].
    pub fn given(cloud: C, config: C::Config) -> Result<Self> {
        Ok(Self {
            current: Current::new(cloud.connect(config)?),
            cloud,
            source: Source::Given,
        })
    }

    /// Reads the configuration from the file of `--cloud-config`. Makes no call to the cloud.
    ///
    /// # Errors
    /// As [`Configured::load`] and [`Configured::connect`]; [`Error::Invalid`] if the file cannot be read.
    pub fn watched(cloud: C, file: Option<&Path>) -> Result<Self> {
        let mut state = State::default();
        let config = state.read(&cloud, file, &LiveData::default())?;
        Ok(Self {
            current: Current::new(cloud.connect(config)?),
            cloud,
            source: Source::Watched {
                file: file.map(Path::to_owned),
                state: Mutex::new(state),
            },
        })
    }

    /// The connection in use.
    pub fn current(&self) -> &Current<C::Connection> {
        &self.current
    }

    /// What watches the sources, if they are watched: the answer of [`cloud::Provider::live`].
    pub fn live(&self) -> Option<&dyn Live> {
        match self.source {
            Source::Given => None,
            Source::Watched { .. } => Some(self),
        }
    }

    /// Replaces the configuration, if the cloud accepts it; operations that began before end with the old one. Returns what the
    /// user should know about it.
    ///
    /// # Errors
    /// As [`Configured::connect`] and [`Configured::verify`]; the old one then stays in use.
    pub async fn replace(&self, config: C::Config) -> Result<Vec<String>> {
        let connection = self.cloud.connect(config)?;
        let warnings = self.cloud.verify(&connection, &self.current.load()).await?;
        self.current.replace(connection);
        Ok(warnings)
    }

    /// Waits until the cloud refuses the credentials in use.
    pub async fn refused(&self) {
        self.cloud.refused(&self.current.load()).await;
    }
}

#[async_trait]
impl<C: Configured> Live for LiveConfig<C> {
    fn sources(&self) -> Vec<LiveSource> {
        let state = self.source.state();
        state.map(|state| state.sources.clone()).unwrap_or_default()
    }

    fn files(&self) -> Vec<PathBuf> {
        let Source::Watched { file, state } = &self.source else {
            return Vec::new();
        };
        let mut files = lock(state).files.clone();
        files.extend(file.clone());
        files
    }

    async fn reload(&self, data: &LiveData) -> Result<Vec<String>> {
        let config = match &self.source {
            Source::Given => return Ok(Vec::new()),
            Source::Watched { file, state } => {
                let mut state = lock(state);
                let before = state.sources.clone();
                let config = state.read(&self.cloud, file.as_deref(), data)?;
                // The data of other sources was not given; the caller reads them and comes again.
                (state.sources == before).then_some(config)
            }
        };
        match config {
            Some(config) => self.replace(config).await,
            None => Ok(Vec::new()),
        }
    }

    async fn refused(&self) {
        LiveConfig::refused(self).await;
    }

    async fn close(&self) {
        self.cloud.close(&self.current.load()).await;
    }
}

impl Source {
    fn state(&self) -> Option<MutexGuard<'_, State>> {
        match self {
            Self::Given => None,
            Self::Watched { state, .. } => Some(lock(state)),
        }
    }
}

impl State {
    /// Reads the configuration, and logs each warning once, also if it cannot be used: a warning may say why.
    fn read<C: Configured>(&mut self, cloud: &C, file: Option<&Path>, data: &LiveData) -> Result<C::Config> {
        let name = file.map(|path| path.display().to_string());
        let content = file.map(fs::read).transpose();
        let content = content.map_err(|error| {
            let name = name.clone().unwrap_or_default();
            Error::invalid("--cloud-config", format!("cannot read {name}: {error}"))
        })?;
        let file = name.as_deref().zip(content.as_deref());
        let sources = Sources {
            file: file.map(|(name, content)| File { name, content }),
            data,
            files: &Disk,
        };
        let mut warnings = Vec::new();
        let loaded = cloud.load(&sources, &mut warnings);
        for warning in warnings.iter().filter(|warning| !self.warnings.contains(warning)) {
            warn!("{warning}");
        }
        self.warnings = warnings;
        let Loaded { config, files, sources } = loaded?;
        (self.files, self.sources) = (files, sources);
        Ok(config)
    }
}

/// The error of a configuration that leads to another project, region or account: what Services have in the running one does not
/// exist there, and would be created a second time, with other addresses.
pub fn another(what: &str, running: Option<&str>, new: Option<&str>) -> Error {
    let named = |name: Option<&str>| name.map_or_else(|| format!("no {what}"), |name| format!("{what} {name}"));
    let (new, running) = (named(new), named(running));
    Error::invalid(
        what,
        format!(
            "this configuration is for {new}, and the running one is for {running}; restart the manager if you mean it"
        ),
    )
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
