//! The cloud node controller: tells a new Node what the cloud knows about its machine, and keeps telling.
//!
//! [`plan`](mod@plan) decides, and is pure. New Nodes are taken from the queue as many as there are, and are asked about in one
//! call; each costs two patches: addresses first, then provider ID and labels together with the removal of the taint.
//! A slow loop asks about all other Nodes once a period and writes only what changed.

mod diagnosis;
mod metrics;
pub mod plan;
mod refresh;
mod stuck;
mod sync;
mod write;

pub use metrics::Metrics;
pub use plan::Labels;
pub use stuck::Stuck;

use crate::nodes::Scope;
use cloud::Provider;
use diagnosis::Diagnosis;
use k8s_openapi::api::core::v1::Node;
use runtime::health::Pulse;
use runtime::{
    events::Recorder,
    informer::{Informer, Store},
    queue::{self, Limiter, Queue},
};
use std::{
    collections::{BTreeMap, HashMap},
    num::NonZeroUsize,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use write::Writer;

/// Who says so, in events.
pub const COMPONENT: &str = "cloud-node-controller";

/// How the controller behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which Nodes are ours.
    pub scope: Scope,
    /// `--node-status-update-frequency`: how long to wait between two looks at all Nodes.
    pub status_period: Duration,
    /// What becomes of labels once a Node is initialised.
    pub labels: Labels,
    /// How many Nodes are written to at a time while they are initialised.
    pub syncs: NonZeroUsize,
    /// How many Nodes are written to at a time while they are updated.
    pub status_updates: NonZeroUsize,
    /// How many new Nodes one call asks about.
    pub batch: NonZeroUsize,
    /// How many such calls, and what follows from their answers, may be under way.
    pub batches: NonZeroUsize,
    /// How many other Nodes one call asks about.
    pub status_batch: NonZeroUsize,
    /// How long a cloud may take to answer.
    pub deadline: Duration,
    /// When a cloud that asked to be asked later is asked again.
    pub poll: Duration,
    /// How long a Node may be in trouble before an event and a condition say so.
    pub patience: Duration,
}

impl Options {
    /// So many Nodes are initialised at a time, and not more: `--concurrent-node-syncs`.
    #[must_use]
    pub fn syncs(self, count: NonZeroUsize) -> Self {
        Self {
            syncs: count,
            batch: count,
            batches: NonZeroUsize::MIN,
            ..self
        }
    }

    /// So many Nodes are updated at a time, and not more: `--concurrent-node-status-updates`.
    #[must_use]
    pub fn status_updates(self, count: NonZeroUsize) -> Self {
        Self {
            status_updates: count,
            status_batch: count,
            ..self
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            status_period: Duration::from_mins(5),
            labels: Labels::Follow,
            syncs: const { NonZeroUsize::new(32).unwrap() },
            status_updates: const { NonZeroUsize::new(8).unwrap() },
            batch: const { NonZeroUsize::new(1000).unwrap() },
            batches: const { NonZeroUsize::new(4).unwrap() },
            status_batch: const { NonZeroUsize::new(500).unwrap() },
            deadline: Duration::from_mins(1),
            poll: Duration::from_secs(10),
            patience: Duration::from_secs(5),
        }
    }
}

/// What the controller works with.
pub struct Context {
    /// To write to Nodes with.
    pub client: kube::Client,
    /// All Nodes.
    pub nodes: Informer<Node>,
    /// The cloud.
    pub provider: Arc<dyn Provider>,
    /// Takes events.
    pub recorder: Recorder,
    /// The Nodes to be looked at; made by [`queue()`].
    pub queue: Queue<String>,
    /// Its metrics.
    pub metrics: Metrics,
    /// The pulse of the initialisation of new Nodes.
    pub sync_pulse: Pulse,
    /// The pulse of the periodic look at all others.
    pub status_pulse: Pulse,
    /// How it behaves.
    pub options: Options,
}

/// The queue of the controller: whoever holds it can publish its metrics and see whether it is stuck.
///
/// Nodes that failed together are tried again together, in one call, so there is no limit over all of them.
#[must_use]
pub fn queue(metrics: Option<&queue::Metrics>) -> Queue<String> {
    Queue::new(
        "Nodes",
        Limiter::exponential(Duration::from_millis(100), Duration::from_mins(1)),
        metrics,
    )
}

/// Runs until cancelled; what is under way then is finished. To wait for the Nodes is no work that could be stuck: why they
/// cannot be listed the informer says, and a restart would not help.
pub async fn run(ctx: Context, cancel: CancellationToken) {
    let nodes = ctx.nodes.store();
    let controller = Arc::new(Controller::new(ctx));
    controller.listen();
    if cancel.run_until_cancelled(nodes.synced()).await.is_none() {
        return;
    }
    tokio::join!(
        controller.clone().sync_until(cancel.clone()),
        controller.refresh_until(cancel)
    );
}

struct Controller {
    informer: Informer<Node>,
    nodes: Store<Node>,
    provider: Arc<dyn Provider>,
    recorder: Recorder,
    queue: Queue<String>,
    metrics: Metrics,
    sync_pulse: Pulse,
    status_pulse: Pulse,
    options: Options,
    writer: Writer,
    status_writer: Writer,
    diagnosis: Diagnosis,
    /// The labels of its own that the cloud last said, by the UID of the Node.
    said: Mutex<HashMap<String, BTreeMap<String, String>>>,
}

impl Controller {
    fn new(ctx: Context) -> Self {
        let Context {
            client,
            nodes: informer,
            provider,
            recorder,
            queue,
            metrics,
            sync_pulse,
            status_pulse,
            options,
        } = ctx;
        let nodes = informer.store();
        let writer = Writer::new(client.clone(), nodes.clone(), options.syncs);
        let status_writer = Writer::new(client.clone(), nodes.clone(), options.status_updates);
        let diagnosis = Diagnosis::new(recorder.clone(), client, options.patience);
        let said = Mutex::default();
        Self {
            informer,
            nodes,
            provider,
            recorder,
            queue,
            metrics,
            sync_pulse,
            status_pulse,
            options,
            writer,
            status_writer,
            diagnosis,
            said,
        }
    }
}

#[cfg(test)]
mod tests;
