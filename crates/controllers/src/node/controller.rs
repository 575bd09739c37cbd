//! The run loop: watches Nodes, queues those that need work, and reconciles them in batches.

use super::{Metrics, Options, reconcile::Reconciler};
use crate::nodes::{labels, taints};
use cloud::Provider;
use k8s_openapi::api::core::v1::Node;
use runtime::{
    events::Recorder,
    health::Pulse,
    informer::{Change, Informer, key_of},
    queue::{self, Limiter, Queue},
};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long the first Node of a batch waits for others that are created at the same time.
const GATHER: Duration = Duration::from_millis(20);

/// While a batch is in progress, new Nodes are gathered for the next one; that one starts after this time at the latest.
const OVERTAKE: Duration = Duration::from_millis(500);

/// What the controller needs.
pub struct Context {
    /// Writes Nodes.
    pub client: kube::Client,
    /// All Nodes.
    pub nodes: Informer<Node>,
    /// The cloud.
    pub provider: Arc<dyn Provider>,
    /// Records events as [`super::COMPONENT`].
    pub recorder: Recorder,
    /// The Nodes that need work; created by [`queue()`].
    pub queue: Queue<String>,
    /// Its metrics.
    pub metrics: Metrics,
    /// Reports the health of the initialization of new Nodes.
    pub sync_pulse: Pulse,
    /// Reports the health of the refresh of all others.
    pub status_pulse: Pulse,
    /// The settings.
    pub options: Options,
}

/// The queue of the controller; a clone can publish its metrics and detect that it is stuck.
///
/// Nodes that failed together are retried together, in one call, so there is no overall rate limit.
#[must_use]
pub fn queue(metrics: Option<&queue::Metrics>) -> Queue<String> {
    Queue::new(
        "Nodes",
        Limiter::exponential(Duration::from_millis(100), Duration::from_mins(1)),
        metrics,
    )
}

/// Runs until cancelled; work in progress is then finished.
///
/// The wait for the first list of Nodes does not count as work that is stuck: the informer reports why it fails, and a
/// restart would not help.
pub async fn run(context: Context, cancel: CancellationToken) {
    let informer = context.nodes.clone();
    let reconciler = Arc::new(Reconciler::new(context));
    let weak = Arc::downgrade(&reconciler);
    informer.on_change(move |change| {
        if let Some(reconciler) = weak.upgrade() {
            reconciler.handle(change);
        }
    });
    if cancel.run_until_cancelled(informer.store().synced()).await.is_none() {
        return;
    }
    tokio::join!(
        reconciler.clone().reconcile_until(cancel.clone()),
        reconciler.refresh_until(cancel)
    );
}

impl Reconciler {
    /// Queues a Node that needs work.
    pub(super) fn handle(&self, change: &Change<Node>) {
        // After a gap in the watch, a Node that was deleted and created again is reported as updated.
        if let Change::Updated { old, new } = change
            && old.metadata.uid != new.metadata.uid
        {
            self.forget(old);
        }
        match change {
            Change::Added(node) if self.needs_work(node) => self.queue.add(key_of(&**node)),
            Change::Updated { old, new } if self.needs_work(new) => {
                if !self.needs_work(old) || differs(old, new) {
                    self.queue.add(key_of(&**new));
                }
            }
            Change::Added(_) | Change::Updated { .. } => {}
            Change::Deleted(node) => self.forget(node),
        }
    }

    pub(super) fn needs_work(&self, node: &Node) -> bool {
        self.options.scope.contains(node) && (taints::is_uninitialized(node) || !labels::aliases(node).is_empty())
    }

    /// Reconciles the Nodes in the queue until cancelled, and then finishes the batches in progress.
    async fn reconcile_until(self: Arc<Self>, cancel: CancellationToken) {
        let mut running = JoinSet::new();
        let next = || self.queue.gather_batch(self.options.batch.get(), GATHER);
        while let Some(claims) = cancel.run_until_cancelled(next()).await.flatten() {
            let this = self.clone();
            running.spawn(async move { this.reconcile(claims).await });
            let _ = tokio::time::timeout(OVERTAKE, running.join_next()).await;
            while running.len() >= self.options.batches.get() {
                running.join_next().await;
            }
        }
        self.queue.stop();
        while running.join_next().await.is_some() {}
    }

    fn forget(&self, node: &Node) {
        let key = key_of(node);
        self.queue.forget(&key);
        self.sync_pulse.over(&key);
        self.reporter.resolved(node);
        self.reported_labels.forget(node);
    }
}

/// Whether something changed that the cloud's answer, or the plan, depends on.
pub(super) fn differs(old: &Node, new: &Node) -> bool {
    let uuid = |node: &Node| {
        let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
        info.map(|info| info.system_uuid.clone())
    };
    let (a, b) = (&old.metadata, &new.metadata);
    a.uid != b.uid
        || a.labels != b.labels
        || a.annotations != b.annotations
        || old.spec != new.spec
        || uuid(old) != uuid(new)
}
