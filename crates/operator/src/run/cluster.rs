//! The API server, and who we are to it.

use crate::{monitoring, options::Options};
use kube::Config;
use runtime::{
    client::{self, Builder, Clients, Source, explain},
    events::{self, Broadcaster, Recorder},
    fence::Fence,
    metrics::Metrics,
    version,
};
use std::path::PathBuf;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Who tells about objects, as in the original.
const COMPONENT: &str = "cloud-controller-manager-operator";

/// The API server, and who we are to it.
pub(crate) struct Cluster {
    pub(crate) clients: Clients,
    pub(crate) fence: Fence,
    pub(crate) config: Config,
    /// The namespace this runs in: that of the leases.
    pub(crate) operator_namespace: String,
    metrics: monitoring::Metrics,
    events: Broadcaster,
    telling: TaskTracker,
    end: CancellationToken,
}

/// What a part of the operator reads and writes with.
#[derive(Clone)]
pub struct Hands {
    /// Reads and watches.
    pub eyes: kube::Client,
    /// Writes, while this process leads.
    pub client: kube::Client,
    /// Tells about objects.
    pub recorder: Recorder,
    /// Counts.
    pub metrics: monitoring::Metrics,
}

impl Hands {
    /// The same, but nobody is told anything.
    pub(super) fn silent(mut self) -> Self {
        self.recorder = Recorder::silent(COMPONENT);
        self
    }
}

impl Cluster {
    pub(super) fn new(options: &Options, program: &str, metrics: &Metrics) -> Result<Self, String> {
        let config = load(&options.kubeconfig)?;
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
        let (telling, end) = (TaskTracker::new(), CancellationToken::new());
        let (broadcaster, ended) = (events.clone(), end.clone());
        telling.spawn(async move { broadcaster.run(ended).await });
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
            telling,
            end,
        })
    }

    pub(crate) fn recorder(&self) -> Recorder {
        self.events.recorder(COMPONENT)
    }

    /// Reads as anybody, writes with this client.
    pub(crate) fn hands(&self, client: kube::Client) -> Hands {
        Hands {
            eyes: self.clients.plain("informers"),
            client,
            recorder: self.recorder(),
            metrics: self.metrics.clone(),
        }
    }

    /// Writes the events that are waiting, for a few seconds at most.
    pub(super) async fn flush(&self) {
        self.end.cancel();
        self.telling.close();
        self.telling.wait().await;
    }
}

/// The flag, then `KUBECONFIG`, then the way of a pod, then the file of a person at a desk.
fn load(flag: &str) -> Result<Config, String> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".kube/config"));
    let kubeconfig = Some(PathBuf::from(flag))
        .filter(|path| !path.as_os_str().is_empty())
        .or_else(|| variable("KUBECONFIG").map(PathBuf::from))
        .or_else(|| match variable("KUBERNETES_SERVICE_HOST") {
            Some(_) => None,
            None => home().filter(|path| path.exists()),
        });
    let source = Source {
        kubeconfig,
        master: None,
    };
    source
        .load()
        .map_err(|error| runtime::logging::chain(&error).to_string())
}
