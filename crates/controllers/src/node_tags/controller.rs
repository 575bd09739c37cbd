//! The run loop: gathers Nodes into batches.

use super::plan::{self, Key};
use crate::nodes::Scope;
use cloud::{NodeTags, Provider};
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use runtime::{
    health::Pulse,
    informer::{Change, Informer},
    queue::{self, Bucket, Limiter, Queue},
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

/// Nodes that are added together are tagged together: how long the first one waits for the others.
const GATHER: Duration = Duration::from_millis(100);

/// What the controller needs.
pub struct Context {
    /// The cloud.
    pub provider: Arc<dyn Provider>,
    /// The Nodes of this manager.
    pub scope: Scope,
    /// Writes the label.
    pub client: Client,
    /// All Nodes.
    pub nodes: Informer<Node>,
    /// Created by [`queue()`].
    pub queue: Queue<Key>,
    /// Reports its health.
    pub pulse: Pulse,
}

/// The queue of the controller; a clone can publish its metrics and detect that it is stuck.
#[must_use]
pub fn queue(metrics: Option<&queue::Metrics>) -> Queue<Key> {
    let limiter = Limiter::exponential(Duration::from_millis(5), Duration::from_secs(1000));
    Queue::new("Tags", limiter, metrics)
}

/// Runs until cancelled; work in progress is then finished.
pub async fn run(context: Context, cancel: CancellationToken) {
    let Some(pace) = context.provider.node_tags().map(NodeTags::pace) else {
        return;
    };
    let context = Arc::new(context);
    context.listen(pace.rate.map(|(per_second, burst)| Bucket::new(per_second, burst)));
    let mut running = JoinSet::new();
    let next = || context.queue.gather_batch(pace.batch.get(), GATHER);
    while let Some(claims) = cancel.run_until_cancelled(next()).await.flatten() {
        let context = Arc::clone(&context);
        running.spawn(async move { context.batch(claims).await });
        while running.len() >= pace.workers.get() {
            running.join_next().await;
        }
    }
    context.queue.stop();
    while running.join_next().await.is_some() {}
}

impl Context {
    fn listen(self: &Arc<Self>, bucket: Option<Bucket>) {
        let this = Arc::downgrade(self);
        let bucket = bucket.map(Mutex::new);
        self.nodes.on_change(move |change| {
            let Some(this) = this.upgrade() else { return };
            let Some(key) = this.work(change) else { return };
            let wait = bucket.as_ref().map(|bucket| {
                let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
                bucket.reserve(Instant::now())
            });
            this.queue.add_after(key, wait.unwrap_or_default());
        });
    }

    fn work(&self, change: &Change<Node>) -> Option<Key> {
        let tags = self.provider.node_tags()?;
        plan::work(change, tags.label()).filter(|_| {
            let (Change::Added(node) | Change::Deleted(node) | Change::Updated { new: node, .. }) = change;
            self.scope.contains(node)
        })
    }
}
