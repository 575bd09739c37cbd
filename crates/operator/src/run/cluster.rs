//! The API server, and the credentials for it.

use crate::{
    clients::{self, COMPONENT},
    monitoring,
    options::Options,
};
use kube::Config;
use runtime::{
    client::{self, Builder, Clients, Origin, explain},
    events::{self, Broadcaster, Recorder},
    fence::Fence,
    metrics::Metrics,
    version,
};
use std::path::Path;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The API server, and the credentials for it.
pub(crate) struct Cluster {
    pub(crate) clients: Clients,
    pub(crate) fence: Fence,
    pub(crate) config: Config,
    /// The operator's own namespace, and that of the leases.
    pub(crate) operator_namespace: String,
    metrics: monitoring::Metrics,
    events: Broadcaster,
    broadcasting: TaskTracker,
    end: CancellationToken,
}

impl Cluster {
    pub(super) fn new(options: &Options, program: &str, metrics: &Metrics) -> Result<Self, String> {
        let exists = |path: &Path| path.exists();
        let origin = Origin::choose(&options.kubeconfig, |name| std::env::var_os(name), exists);
        let config = origin.and_then(Origin::load).map_err(|error| error.to_string())?;
        let fence = if options.election.elect.is_on() {
            Fence::closed()
        } else {
            Fence::open()
        };
        let failed = |error: prometheus::Error| format!("cannot register metrics: {error}");
        let requests = client::Metrics::register(metrics.registry()).map_err(failed)?;
        let clients = Builder::new(config.clone())
            .binary(program, version::Info::current())
            .fence(fence.clone())
            .metrics(requests)
            .build()
            .map_err(|error| format!("cannot use the credentials: {}", explain(&error)))?;
        let counted = events::Metrics::register(metrics.registry()).map_err(failed)?;
        let events = Broadcaster::new(clients.plain("events"), Some(counted));
        let (broadcasting, end) = (TaskTracker::new(), CancellationToken::new());
        let (broadcaster, ended) = (events.clone(), end.clone());
        broadcasting.spawn(async move { broadcaster.run(ended).await });
        let given = &options.election.resource_namespace;
        let operator_namespace = if given.is_empty() {
            &config.default_namespace
        } else {
            given
        }
        .clone();
        Ok(Self {
            clients,
            fence,
            config,
            operator_namespace,
            metrics: monitoring::Metrics::register(metrics.registry()).map_err(failed)?,
            events,
            broadcasting,
            end,
        })
    }

    pub(crate) fn recorder(&self) -> Recorder {
        self.events.recorder(COMPONENT)
    }

    /// The clients of a part of the operator that writes with this one.
    pub(crate) fn clients(&self, write: kube::Client) -> clients::Clients {
        clients::Clients {
            read: self.clients.plain("informers"),
            write,
            recorder: self.recorder(),
            metrics: self.metrics.clone(),
        }
    }

    /// Writes the pending events, for a few seconds at most.
    pub(super) async fn flush(&self) {
        self.end.cancel();
        self.broadcasting.close();
        self.broadcasting.wait().await;
    }
}
