//! A provider that follows its configuration: the file of `--cloud-config`, the files and the Secret that it names.

use crate::{
    api::{Service, Surroundings, session::user_agent},
    config::{self, Disk, Environment, File, Loaded, Sources},
    metrics::Metrics,
    provider::Provider,
};
use async_trait::async_trait;
use cloud::{Error, Gate, Instances, LiveData, LiveSource, LoadBalancers, ObjectRef, Result, Routes, SecretData};
use prometheus::Registry;
use std::{
    error::Error as _,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tracing::warn;

/// What the program around the provider brings along.
pub struct Start<'a> {
    /// `--cloud-config`
    pub file: Option<&'a Path>,
    /// `--user-agent`, in the order given.
    pub user_agents: &'a [String],
    /// Whether we may write.
    pub gate: Gate,
    /// Where everything is counted.
    pub registry: &'a Registry,
}

/// The provider, made from the file of `--cloud-config`. Nothing is asked of the cloud yet.
///
/// # Errors
/// One sentence: what is wrong with the configuration, and where.
pub fn provider(start: Start<'_>) -> Result<Arc<dyn cloud::Provider>, String> {
    let counted = |error: prometheus::Error| format!("cannot register metrics: {error}");
    let metrics = Metrics::register_all(start.registry).map_err(counted)?;
    let surroundings = Surroundings {
        gate: start.gate,
        metrics,
        user_agent: user_agent(start.user_agents),
    };
    let source = Source {
        file: start.file.map(Path::to_owned),
        environment: Environment::of_process(),
        told: Mutex::default(),
    };
    let loaded = source.read(None).map_err(|error| error.report())?;
    let state = State::of(&loaded);
    Ok(Arc::new(Follower {
        provider: Provider::new(loaded.config, surroundings).map_err(|error| error.report())?,
        octavia: AtomicBool::new(true),
        source,
        state: Mutex::new(state),
    }))
}

/// Where the configuration is.
struct Source {
    file: Option<PathBuf>,
    environment: Environment,
    /// What was said about the configuration that was read last.
    told: Mutex<Vec<String>>,
}

impl Source {
    /// Reads it, and says at once what is strange about it: that may be why it does not work.
    fn read(&self, secret: Option<&SecretData>) -> Result<Loaded> {
        let name = self.file.as_deref().map(|path| path.display().to_string());
        let content = self.file.as_deref().map(fs::read).transpose();
        let content = content.map_err(|error| {
            let name = name.clone().unwrap_or_default();
            Error::invalid("--cloud-config", format!("cannot read {name}: {error}"))
        })?;
        let secret = secret.map(|data| config::Secret { data: data.clone() });
        let file = name.as_deref().zip(content.as_deref());
        let loaded = config::load(&Sources {
            file: file.map(|(name, content)| File { name, content }),
            secret: secret.as_ref(),
            environment: &self.environment,
            files: &Disk,
        });
        self.tell(match &loaded {
            Ok(loaded) => &loaded.warnings,
            Err(error) => error.warnings(),
        });
        loaded.map_err(|error| {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            Error::invalid("--cloud-config", format!("{error}{cause}"))
        })
    }

    /// Says what was not said the last time.
    fn tell(&self, warnings: &[String]) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in warnings.iter().filter(|warning| !told.contains(warning)) {
            warn!("{warning}");
        }
        warnings.clone_into(&mut told);
    }
}

/// What the configuration that was read last refers to.
struct State {
    files: Vec<PathBuf>,
    secret: Option<ObjectRef>,
}

impl State {
    fn of(loaded: &Loaded) -> Self {
        let secret = loaded.config.secret.as_ref();
        Self {
            files: loaded.files.clone(),
            secret: secret.map(|secret| ObjectRef::new(&secret.namespace, &secret.name)),
        }
    }
}

struct Follower {
    provider: Provider,
    /// Whether the catalog has load balancers.
    octavia: AtomicBool,
    source: Source,
    state: Mutex<State>,
}

impl Follower {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A cloud without Octavia is no reason to leave its nodes alone.
    async fn look_for_octavia(&self, wanted: bool) -> Result<Option<String>> {
        let missing = match self.provider.check(Service::LoadBalancer).await {
            Err(error @ Error::Invalid { .. }) => Some(error),
            other => other.map(|()| None)?,
        };
        self.octavia.store(missing.is_none(), Ordering::Relaxed);
        Ok(missing.filter(|_| wanted).map(|error| {
            format!(
                "there will be no load balancers: {}; set enabled=false in [LoadBalancer] if that is as it should be",
                error.report()
            )
        }))
    }
}

#[async_trait]
impl cloud::Live for Follower {
    fn sources(&self) -> Vec<LiveSource> {
        self.state()
            .secret
            .clone()
            .map(LiveSource::Secret)
            .into_iter()
            .collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = self.state().files.clone();
        files.extend(self.source.file.clone());
        files
    }

    async fn reload(&self, data: &LiveData) -> Result<Vec<String>> {
        let named = self.state().secret.clone();
        let loaded = self.source.read(named.and_then(|named| data.secrets.get(&named)))?;
        let state = State::of(&loaded);
        let another = state.secret != self.state().secret;
        *self.state() = state;
        if another {
            // Its credentials are in a Secret that was not given.
            return Ok(Vec::new());
        }
        let wanted = loaded.config.load_balancer.enabled;
        self.provider.reconfigure(loaded.config).await?;
        Ok(self.look_for_octavia(wanted).await?.into_iter().collect())
    }

    async fn refused(&self) {
        self.provider.refused().await;
    }
}

impl cloud::Provider for Follower {
    fn name(&self) -> &'static str {
        self.provider.name()
    }

    fn instances(&self) -> &dyn Instances {
        self.provider.instances()
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        let there = self.octavia.load(Ordering::Relaxed);
        self.provider.load_balancers().filter(|_| there)
    }

    fn routes(&self) -> Option<&dyn Routes> {
        self.provider.routes()
    }

    fn live(&self) -> Option<&dyn cloud::Live> {
        Some(self)
    }

    fn event_source(&self) -> &'static str {
        "cloud-provider-openstack"
    }
}
