//! The run loop: watches Nodes, and queues those without pod CIDRs.

use super::{Options, reconcile::Reconciler};
use crate::nodes::Scope;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use runtime::{
    events::Recorder,
    health::Pulse,
    informer::{Informer, key_of},
    queue::{self, Limiter, Queue},
};
use std::{num::NonZeroUsize, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// The limits of the back-off.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_mins(2));
const CONCURRENCY: NonZeroUsize = NonZeroUsize::new(30).expect("30 is not 0");

/// What the controller needs.
pub struct Context {
    /// Writes Nodes.
    pub client: Client,
    /// All Nodes.
    pub nodes: Informer<Node>,
    /// Records events as [`super::COMPONENT`].
    pub recorder: Recorder,
    /// Created by [`queue()`].
    pub queue: Queue<String>,
    /// The Nodes that this manager manages.
    pub scope: Scope,
    /// Reports its health.
    pub pulse: Pulse,
    /// The settings.
    pub options: Options,
}

/// The queue of the controller; a clone can publish its metrics and detect that it is stuck.
#[must_use]
pub fn queue(metrics: Option<&queue::Metrics>) -> Queue<String> {
    Queue::new(
        "cidrallocator_node",
        Limiter::exponential(BACKOFF.0, BACKOFF.1),
        metrics,
    )
}

/// Runs until cancelled; work in progress is then finished.
pub async fn run(context: Context, cancel: CancellationToken) {
    let (nodes, queue) = (context.nodes.clone(), context.queue.clone());
    // All CIDRs in use must be recorded before the first one is assigned. The handler is called for all existing Nodes
    // before `work` starts.
    if cancel.run_until_cancelled(nodes.store().synced()).await.is_none() {
        return;
    }
    let reconciler = Arc::new(Reconciler::new(context));
    nodes.on_change({
        let (queue, reconciler) = (queue.clone(), reconciler.clone());
        move |change| {
            if let Some(node) = reconciler.handle(change) {
                queue.add(key_of(&**node));
            }
        }
    });
    let work = queue::work(queue.clone(), CONCURRENCY, move |name: String| {
        let reconciler = reconciler.clone();
        async move { reconciler.reconcile(&name).await }
    });
    let stop = async {
        cancel.cancelled().await;
        queue.stop();
    };
    tokio::join!(work, stop);
}
