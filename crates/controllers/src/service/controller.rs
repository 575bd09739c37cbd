//! The run loop: watches Services and Nodes, queues keys, and reconciles them until cancelled.

use super::{
    events::ServiceEvents,
    hosts::{Gatherer, Hosts, Relevance},
    metrics::Metrics,
    not_ready::not_ready,
    options::{Classes, Options},
    reconcile::Reconciler,
    spec::predicates,
    state::ServiceStates,
    write::Writer,
};
use cloud::Provider;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::Client;
use runtime::{
    events::Recorder,
    health::Pulse,
    informer::{Change, Informer, key_of},
    queue::{self, Limiter, Next, Queue, work},
};
use std::{num::NonZeroUsize, sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// As in the Go framework: per Service 5 s·2ⁿ up to 5 min.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(5), Duration::from_mins(5));

/// What the controller needs.
pub struct Context {
    /// Writes Services while this process is the leader.
    pub client: Client,
    /// The Services; keep them with [`super::trim`].
    pub services: Informer<Service>,
    /// The Nodes.
    pub nodes: Informer<Node>,
    /// The cloud.
    pub provider: Arc<dyn Provider>,
    /// Records events as [`super::COMPONENT`].
    pub events: Recorder,
    /// `workqueue_*`.
    pub queues: Option<queue::Metrics>,
    /// `service_controller_*`.
    pub metrics: Metrics,
    /// Reports its health.
    pub pulse: Pulse,
    /// Changes with the cloud's settings; then every load balancer is reconciled.
    pub reloads: Option<watch::Receiver<u64>>,
    /// The settings.
    pub options: Options,
}

/// The cloud has no load balancers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cloud provider does not support external load balancers")]
pub struct NotSupported;

/// The service controller. Clones share it.
#[derive(Clone)]
pub struct Controller(Arc<Inner>);

struct Inner {
    reconciler: Reconciler,
    client: Client,
    services: Informer<Service>,
    nodes: Informer<Node>,
    service_queue: Queue<String>,
    node_queue: Queue<()>,
    gatherer: Gatherer,
    reloads: Option<watch::Receiver<u64>>,
}

impl Controller {
    /// Creates the controller; it does nothing before [`Controller::run`].
    ///
    /// # Errors
    /// If the cloud has no load balancers.
    pub fn new(context: Context) -> Result<Self, NotSupported> {
        let Context {
            client,
            services,
            nodes,
            provider,
            events,
            queues,
            metrics,
            pulse,
            reloads,
            options,
        } = context;
        provider.load_balancers().ok_or(NotSupported)?;
        Ok(Self(Arc::new(Inner {
            service_queue: Queue::new("service", Limiter::exponential(BACKOFF.0, BACKOFF.1), queues.as_ref()),
            node_queue: Queue::new("node", Limiter::exponential(BACKOFF.0, BACKOFF.1), queues.as_ref()),
            gatherer: Gatherer::new(options.debounce),
            reconciler: Reconciler {
                services: services.store(),
                hosts: Hosts::new(nodes.store(), options.scope.clone()),
                writer: Writer::new(client.clone()),
                events: ServiceEvents::new(events, provider.event_source()),
                provider,
                metrics,
                pulse,
                options,
                states: ServiceStates::default(),
            },
            client,
            services,
            nodes,
            reloads,
        })))
    }

    /// Runs until cancelled; calls in progress are then finished. Drop the future to abandon them.
    pub async fn run(&self, cancel: CancellationToken) {
        self.watch();
        let (services, nodes) = (self.0.services.store(), self.0.nodes.store());
        let synced = async { tokio::join!(services.synced(), nodes.synced()) };
        if cancel.run_until_cancelled(synced).await.is_none() {
            return;
        }
        info!("started service controller");
        let stop = async {
            cancel.cancelled().await;
            self.0.service_queue.stop();
            self.0.node_queue.stop();
        };
        let gather = cancel.run_until_cancelled(self.gather_forever());
        let follow = cancel.run_until_cancelled(self.follow_reloads());
        let resync = cancel.run_until_cancelled(self.resync_forever());
        let sweep = cancel.run_until_cancelled(self.0.reconciler.sweep_forever(&self.0.client));
        tokio::join!(
            self.work_on_services(&cancel),
            self.work_on_nodes(),
            gather,
            follow,
            resync,
            sweep,
            stop
        );
        info!("stopped service controller");
    }

    /// For how long no key was finished.
    #[must_use]
    pub fn stillness(&self) -> Duration {
        self.0.service_queue.stillness().max(self.0.node_queue.stillness())
    }

    /// Publishes the metrics that depend on the time; to be called before they are read.
    pub fn refresh_metrics(&self) {
        self.0.service_queue.refresh_metrics();
        self.0.node_queue.refresh_metrics();
        let Reconciler { metrics, options, .. } = &self.0.reconciler;
        metrics.show_not_ready(&not_ready(&self.0.services.store().list(), &options.classes));
    }

    fn watch(&self) {
        let inner = self.0.clone();
        self.0.services.on_change(move |change| inner.handle_service(change));
        let inner = self.0.clone();
        self.0.nodes.on_change(move |change| {
            if inner.reconciler.hosts.handle(change) == Relevance::Now {
                inner.gatherer.changed();
            }
        });
    }

    async fn work_on_services(&self, cancel: &CancellationToken) {
        let (inner, cancel) = (self.0.clone(), cancel.clone());
        let limit = inner.reconciler.options.workers();
        work(self.0.service_queue.clone(), limit, move |key: String| {
            let (inner, cancel) = (inner.clone(), cancel.clone());
            async move {
                // After a stop, queued keys are left to the next leader.
                if cancel.is_cancelled() {
                    Next::Done
                } else {
                    inner.reconciler.reconcile(&key).await
                }
            }
        })
        .await;
    }

    async fn work_on_nodes(&self) {
        let inner = self.0.clone();
        work(self.0.node_queue.clone(), NonZeroUsize::MIN, move |()| {
            let inner = inner.clone();
            async move {
                inner.reconciler.fan_out(&inner.service_queue);
                Next::Done
            }
        })
        .await;
    }

    /// New settings of the cloud may require changes of load balancers, or allow those that were rejected.
    async fn follow_reloads(&self) {
        let Some(mut reloads) = self.0.reloads.clone() else {
            return;
        };
        reloads.mark_unchanged();
        while reloads.changed().await.is_ok() {
            for key in self.0.reconciler.states.settings_changed() {
                self.0.service_queue.add(key);
            }
        }
    }

    /// Repairs what others changed in the cloud, if that is requested. The calls are spread over the period.
    async fn resync_forever(&self) {
        let Some(period) = self.0.reconciler.options.resync else {
            return;
        };
        loop {
            tokio::time::sleep(period).await;
            let keys = self.0.reconciler.states.resync();
            let count = u32::try_from(keys.len().max(1)).unwrap_or(u32::MAX);
            for (index, key) in (0..count).zip(keys) {
                self.0.service_queue.add_after(key, period / count * index);
            }
        }
    }

    async fn gather_forever(&self) {
        loop {
            self.0.gatherer.gathered().await;
            self.0.node_queue.add(());
        }
    }
}

impl Inner {
    fn handle_service(&self, change: &Change<Service>) {
        let (Change::Added(service) | Change::Updated { new: service, .. } | Change::Deleted(service)) = change;
        let key = key_of(&**service);
        if let Change::Updated { new, .. } = change {
            self.reconciler
                .states
                .cached(&key, new, &self.reconciler.options.classes);
        }
        if concerns(change, &self.reconciler.options.classes) || self.leaves_work(change, &key) {
            self.service_queue.add(key);
        }
    }

    /// Whether there is work left for a Service that does not exist any more.
    fn leaves_work(&self, change: &Change<Service>, key: &str) -> bool {
        match change {
            Change::Added(_) => false,
            Change::Updated { old, new } => old.metadata.uid != new.metadata.uid,
            Change::Deleted(_) => self.reconciler.states.gone(key),
        }
    }
}

/// Whether a Service has to be reconciled because of this change.
#[must_use]
pub fn concerns(change: &Change<Service>, classes: &Classes) -> bool {
    match change {
        Change::Added(service) => predicates::wants(service, classes) || predicates::needs_cleanup(service, classes),
        Change::Updated { old, new } => {
            predicates::needs_update(old, new, classes)
                || (predicates::needs_cleanup(new, classes) && predicates::is_changed(old, new))
        }
        Change::Deleted(_) => false,
    }
}
