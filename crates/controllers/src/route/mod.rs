//! node-route-controller: a route in the cloud to the pods of each node, and a condition on the Node that says so.
//!
//! Changes of Nodes are acted on at once; what changes behind our back is found by a look every now and then.

mod condition;
mod plan;
mod reconcile;

pub use condition::Networking;
pub use plan::{Plan, is_ours, plan};
pub use reconcile::{Metrics, Routes};

use crate::{
    nodes::{addresses::to_cloud, pod_cidrs},
    retry,
};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use runtime::{
    informer::{Change, Informer},
    queue::{self, Limiter, Next, Queue},
};
use std::{num::NonZeroUsize, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// The event source's name.
pub const COMPONENT: &str = "route_controller";

/// A burst of nodes is one look at the cloud.
const DEBOUNCE: Duration = Duration::from_millis(200);
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Where a look at everything is seldom.
const LAST_RETRY: Duration = Duration::from_mins(5);

/// How long one call of the cloud may take. One look makes up to three, for as many routes as there are: together they stay
/// below the five minutes after which a loop counts as stuck. What takes longer still gets done, for what a call has changed
/// before it was given up the next one finds in place.
pub const DEADLINE: Duration = Duration::from_secs(90);

/// How the controller is set up.
#[derive(Clone)]
pub struct Options {
    /// `--cluster-name`.
    pub cluster: String,
    /// `--cluster-cidr`: routes outside are nobody's business of ours.
    pub cluster_cidrs: Vec<IpNet>,
    /// How often to look for what changed behind our back; `None` if only changes of Nodes count.
    pub period: Option<Duration>,
    /// How long one call of the cloud may take; see [`DEADLINE`].
    pub deadline: Duration,
    /// Which nodes are ours.
    pub in_scope: Arc<dyn Fn(&Node) -> bool + Send + Sync>,
}

/// There is one piece of work: all routes.
pub type Key = ();

/// The queue of the controller: whoever holds it can publish its metrics and see whether it is stuck. One route that
/// fails must not keep the others from being looked at every `period`.
#[must_use]
pub fn queue(period: Option<Duration>, metrics: Option<&queue::Metrics>) -> Queue<Key> {
    let (first, last) = retries(period);
    Queue::new("Routes", Limiter::exponential(first, last), metrics)
}

/// How long to wait after the first failure, and at most.
fn retries(period: Option<Duration>) -> (Duration, Duration) {
    let last = period.map_or(LAST_RETRY, |period| period.min(LAST_RETRY));
    (FIRST_RETRY.min(last), last)
}

/// Keeps the routes right until cancelled; what is under way is finished.
pub async fn run(routes: Routes, nodes: Informer<Node>, queue: Queue<Key>, cancel: CancellationToken) {
    if cancel.run_until_cancelled(nodes.store().synced()).await.is_none() {
        return;
    }
    nodes.on_change({
        let (queue, in_scope) = (queue.clone(), routes.options().in_scope.clone());
        move |change| {
            if is_about(change, &*in_scope) && matters(change) {
                queue.add_after((), DEBOUNCE);
            }
        }
    });
    queue.add(());
    let routes = Arc::new(routes);
    let period = routes.options().period;
    let work = queue::work(queue.clone(), NonZeroUsize::MIN, move |()| {
        let routes = routes.clone();
        async move { next(routes.reconcile().await, period) }
    });
    let stop = async {
        cancel.cancelled().await;
        queue.stop();
    };
    tokio::join!(work, stop);
}

fn next(outcome: Result<(), cloud::Retry>, period: Option<Duration>) -> Next {
    match outcome {
        Ok(()) | Err(cloud::Retry::Never) => period.map_or(Next::Done, Next::Poll),
        Err(cloud::Retry::After(wait)) => retry::after(wait),
        Err(cloud::Retry::Backoff) => Next::Retry,
    }
}

/// Whether a change is one of these nodes: another manager looks after the routes of its own.
fn is_about(change: &Change<Node>, these: &dyn Fn(&Node) -> bool) -> bool {
    match change {
        Change::Added(node) | Change::Deleted(node) => these(node),
        Change::Updated { old, new } => these(old) || these(new),
    }
}

/// Whether a change of a Node can change a route.
fn matters(change: &Change<Node>) -> bool {
    match change {
        Change::Added(_) | Change::Deleted(_) => true,
        Change::Updated { old, new } => {
            old.metadata.uid != new.metadata.uid || pod_cidrs(old) != pod_cidrs(new) || to_cloud(old).ne(to_cloud(new))
        }
    }
}

#[cfg(test)]
mod tests;
