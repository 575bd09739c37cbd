//! The shared state of the running manager.

use super::Program;
use crate::{Options, config::CloudControllerManagerConfiguration, config::GROUP};
use cloud::{ClusterMark, Gate};
use runtime::{
    client::{self, Clients, Limit, Source},
    configz::Configz,
    events::{self, Broadcaster},
    fence::Fence,
    flags::Switch,
    health::Checks,
    lease,
    metrics::{Metrics, Register},
    queue,
    version::Info,
};
use std::{path::Path, sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{info, warn};

/// The arguments of a provider's constructor.
pub struct Provide<'a> {
    /// `--cloud-provider`
    pub name: &'a str,
    /// `--cloud-config`; empty if there is none.
    pub config: &'a str,
    /// `--allow-untagged-cloud`
    pub allow_untagged_cloud: Switch,
    /// Checked before every write to the cloud.
    pub gate: Gate,
    /// The registry of its metrics.
    pub registry: &'a prometheus::Registry,
}

impl<'a> Provide<'a> {
    /// The file of `--cloud-config`, if it is set.
    #[must_use]
    pub fn config_file(&self) -> Option<&'a Path> {
        Some(self.config).filter(|path| !path.is_empty()).map(Path::new)
    }
}

/// The fences of the two locks; without migration the second one is never used.
#[derive(Debug, Clone)]
pub(crate) struct Fences {
    pub(crate) main: Fence,
    pub(crate) migration: Fence,
}

/// The shared state of the manager.
pub(crate) struct Process {
    pub(crate) options: Options,
    pub(crate) provider: Arc<dyn cloud::Provider>,
    pub(crate) fences: Fences,
    /// Clients whose writes are behind the main fence, and those behind the migration fence.
    pub(crate) clients: Clients,
    pub(crate) migrating_clients: Option<Clients>,
    /// Counts the requests of all clients.
    pub(crate) request_metrics: client::Metrics,
    /// Records the events of the leader election; controllers have their own recorders.
    pub(crate) events: Broadcaster,
    pub(crate) event_metrics: events::Metrics,
    pub(crate) metrics: Metrics,
    pub(crate) queues: queue::Metrics,
    pub(crate) leases: lease::Metrics,
    pub(crate) running: prometheus::IntGaugeVec,
    pub(crate) checks: Checks,
    pub(crate) configz: Configz,
    /// The number of changes of the configuration of the cloud that took effect.
    pub(crate) reloaded: watch::Sender<u64>,
    writing_events: TaskTracker,
    end_of_events: CancellationToken,
}

impl Process {
    /// Creates the shared state; sends no request to the cluster or the cloud yet.
    pub(super) fn start(options: Options, program: &Program<'_>) -> Result<Self, String> {
        let failed = |error: prometheus::Error| format!("cannot register metrics: {error}");
        let version = Info::current();
        info!(version = %version, provider = options.generic.cloud.provider, "starting {}", program.name);
        let metrics = Metrics::of_component(&version).map_err(failed)?;
        let registry = metrics.registry();
        let fences = fences(&options);
        let builder = || -> Result<client::Builder, String> { builder(&options, program.name, fences.main.clone()) };
        let request_metrics = client::Metrics::register(registry).map_err(failed)?;
        let bad_credentials = |error: kube::Error| format!("cannot use the credentials: {}", client::explain(&error));
        let clients = builder()?
            .metrics(request_metrics.clone())
            .build()
            .map_err(bad_credentials)?;
        let migrating = |_| {
            builder()?
                .fence(fences.migration.clone())
                .metrics(request_metrics.clone())
                .build()
                .map_err(bad_credentials)
        };
        let migrating_clients = options.migration.as_ref().map(migrating).transpose()?;
        let provider = provider(&options, program, gate(&fences, options.migration.is_some()), registry)?;
        let event_metrics = events::Metrics::register(registry).map_err(failed)?;
        let events = Broadcaster::new(clients.plain("event-broadcaster"), Some(event_metrics.clone()));
        let configz = Configz::default();
        configz
            .set(GROUP, &CloudControllerManagerConfiguration::new(&options))
            .map_err(|error| format!("cannot show the configuration: {error}"))?;
        let running = running(registry).map_err(failed)?;
        let process = Self {
            checks: Checks::new(metrics.slis().clone()),
            queues: queue::Metrics::register(registry).map_err(failed)?,
            leases: lease::Metrics::register(registry).map_err(failed)?,
            running,
            provider,
            fences,
            clients,
            migrating_clients,
            request_metrics,
            events,
            event_metrics,
            configz,
            reloaded: watch::Sender::new(0),
            options,
            writing_events: TaskTracker::new(),
            end_of_events: CancellationToken::new(),
            metrics,
        };
        let (events, end) = (process.events.clone(), process.end_of_events.clone());
        process.writing_events.spawn(async move { events.run(end).await });
        Ok(process)
    }

    /// Writes the waiting events, for a few seconds at most.
    pub(super) async fn flush(&self) {
        self.end_of_events.cancel();
        self.writing_events.close();
        self.writing_events.wait().await;
    }

    /// `--shutdown-grace-period`
    pub(super) fn grace(&self) -> Duration {
        self.options.outrigger.shutdown_grace_period.std()
    }
}

fn fences(options: &Options) -> Fences {
    let fence = || {
        if options.generic.leader_election.elect.is_on() {
            Fence::closed()
        } else {
            Fence::open()
        }
    };
    Fences {
        main: fence(),
        migration: fence(),
    }
}

/// A cloud write needs the main lock, and the migration lock, too, once that is used.
fn gate(fences: &Fences, migrates: bool) -> Gate {
    let fences = fences.clone();
    Arc::new(move || {
        let migration = if migrates && fences.migration.was_opened() {
            fences.migration.check()
        } else {
            Ok(())
        };
        fences.main.check().and(migration).map_err(|_| cloud::Error::NotLeader)
    })
}

fn builder(options: &Options, program: &str, fence: Fence) -> Result<client::Builder, String> {
    let given = |path: &String| Some(path.clone()).filter(|path| !path.is_empty());
    let source = Source {
        kubeconfig: given(&options.misc.kubeconfig).map(Into::into),
        master: given(&options.misc.master),
    };
    let config = source
        .load()
        .map_err(|error| runtime::logging::chain(&error).to_string())?;
    let connection = &options.generic.client;
    let burst = connection.burst.given().and_then(|burst| u32::try_from(burst).ok());
    let limit = Limit::from_flags(connection.qps.given().map(f64::from), burst);
    let identity = if options.generic.cloud.use_service_account_credentials.is_on() {
        client::Identity::ServiceAccounts {
            namespace: "kube-system".to_owned(),
        }
    } else {
        client::Identity::Process
    };
    Ok(client::Builder::new(config)
        .binary(program, Info::current())
        .limit(limit)
        .identity(identity)
        .fence(fence))
}

fn provider(
    options: &Options,
    program: &Program<'_>,
    gate: Gate,
    registry: &prometheus::Registry,
) -> Result<Arc<dyn cloud::Provider>, String> {
    let cloud = &options.generic.cloud;
    let provider = program.setup.provider(&Provide {
        name: &cloud.provider,
        config: &cloud.config,
        allow_untagged_cloud: cloud.allow_untagged_cloud,
        gate,
        registry,
    })?;
    if provider.cluster_mark() == ClusterMark::Absent {
        let missing =
            "no cluster ID was found in the cloud: a cluster ID is required for this cloud to function properly";
        if !cloud.allow_untagged_cloud.is_on() {
            return Err(format!(
                "{missing}; tag the instances of the cluster, or set --allow-untagged-cloud"
            ));
        }
        warn!("{missing}");
    }
    Ok(provider)
}

pub(super) fn running(registry: &dyn Register) -> prometheus::Result<prometheus::IntGaugeVec> {
    let help = "Indicates where instances of a controller are currently running";
    let opts = prometheus::Opts::new("running_managed_controllers", help);
    registry.add(prometheus::IntGaugeVec::new(opts, &["manager", "name"]))
}
