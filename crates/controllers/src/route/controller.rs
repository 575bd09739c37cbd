//! The run loop: one reconciliation of all routes after each change of a Node, and once a period.

use super::{Metrics, Options, reconcile::Reconciler};
use crate::{
    nodes::{Scope, addresses::to_cloud, pod_cidrs},
    requeue,
};
use cloud::{Provider, Retry};
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use runtime::{
    events::Recorder,
    health::Pulse,
    informer::{Change, Informer},
    queue::{self, Limiter, Next, Queue},
};
use std::{num::NonZeroUsize, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Changes of many Nodes at once lead to one reconciliation.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// The limits of the back-off.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));

/// There is one piece of work: all routes.
pub type Key = ();

/// What the controller needs.
pub struct Context {
    /// Writes Nodes.
    pub client: Client,
    /// All Nodes.
    pub nodes: Informer<Node>,
    /// The cloud.
    pub provider: Arc<dyn Provider>,
    /// Records events as [`super::COMPONENT`].
    pub recorder: Recorder,
    /// Created by [`queue()`].
    pub queue: Queue<Key>,
    /// Its metrics.
    pub metrics: Metrics,
    /// Reports its health.
    pub pulse: Pulse,
    /// The settings.
    pub options: Options,
}

/// The queue of the controller; a clone can publish its metrics and detect that it is stuck.
#[must_use]
pub fn queue(period: Option<Duration>, metrics: Option<&queue::Metrics>) -> Queue<Key> {
    let (first, last) = backoff(period);
    Queue::new("Routes", Limiter::exponential(first, last), metrics)
}

/// The back-off never exceeds the period: a route that fails must not delay the reconciliation of the others.
pub(super) fn backoff(period: Option<Duration>) -> (Duration, Duration) {
    let last = period.map_or(BACKOFF.1, |period| period.min(BACKOFF.1));
    (BACKOFF.0.min(last), last)
}

/// Runs until cancelled; work in progress is then finished.
pub async fn run(context: Context, cancel: CancellationToken) {
    let (nodes, queue, period) = (context.nodes.clone(), context.queue.clone(), context.options.period);
    if cancel.run_until_cancelled(nodes.store().synced()).await.is_none() {
        return;
    }
    nodes.on_change({
        let (queue, scope) = (queue.clone(), context.options.scope.clone());
        move |change| {
            if is_in_scope(change, &scope) && affects_routes(change) {
                queue.add_after((), DEBOUNCE);
            }
        }
    });
    queue.add(());
    let reconciler = Arc::new(Reconciler::new(context));
    let work = queue::work(queue.clone(), NonZeroUsize::MIN, move |()| {
        let reconciler = reconciler.clone();
        async move { next(reconciler.reconcile().await, period) }
    });
    let stop = async {
        cancel.cancelled().await;
        queue.stop();
    };
    tokio::join!(work, stop);
}

pub(super) fn next(result: Result<(), Retry>, period: Option<Duration>) -> Next {
    let next_period = period.map_or(Next::Done, Next::Poll);
    result.map_or_else(|retry| requeue::after(retry, next_period), |()| next_period)
}

/// Whether the Node was or is in scope; the others are managed by other managers.
pub(super) fn is_in_scope(change: &Change<Node>, scope: &Scope) -> bool {
    match change {
        Change::Added(node) | Change::Deleted(node) => scope.contains(node),
        Change::Updated { old, new } => scope.contains(old) || scope.contains(new),
    }
}

/// Whether a change of a Node can change a route.
pub(super) fn affects_routes(change: &Change<Node>) -> bool {
    match change {
        Change::Added(_) | Change::Deleted(_) => true,
        Change::Updated { old, new } => {
            old.metadata.uid != new.metadata.uid || pod_cidrs(old) != pod_cidrs(new) || to_cloud(old).ne(to_cloud(new))
        }
    }
}
