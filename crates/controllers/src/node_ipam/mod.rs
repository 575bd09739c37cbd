//! node-ipam-controller: gives each node the addresses of its pods, out of the cluster's ranges (`RangeAllocator`).
//!
//! It runs only when it is named in `--controllers` and `--allocate-node-cidrs` is set: a cluster must never have two
//! allocators, and kube-controller-manager usually is one.

mod allocator;
mod cidr_set;
mod options;
mod reconcile;

pub use allocator::{Allocator, Taken};
pub use cidr_set::CidrSet;
pub use options::{MaskSizes, Options};
pub use reconcile::NodeIpam;

use k8s_openapi::api::core::v1::Node;
use runtime::{
    informer::{Informer, key_of},
    queue::{self, Limiter, Queue},
};
use std::{num::NonZeroUsize, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// The event source's name, as in kube-controller-manager.
pub const COMPONENT: &str = "cidrAllocator";

const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_mins(2));
const CONCURRENT: NonZeroUsize = NonZeroUsize::new(30).expect("30 is not 0");

/// The queue of the controller: whoever holds it can publish its metrics and see whether it is stuck.
#[must_use]
pub fn queue(metrics: Option<&queue::Metrics>) -> Queue<String> {
    Queue::new(
        "cidrallocator_node",
        Limiter::exponential(BACKOFF.0, BACKOFF.1),
        metrics,
    )
}

/// Allocates until cancelled; what is under way is finished.
pub async fn run(ipam: NodeIpam, nodes: Informer<Node>, queue: Queue<String>, cancel: CancellationToken) {
    // Everything that is taken must be known before the first range is given away: the handler hears of all nodes that
    // are there before the work begins.
    if cancel.run_until_cancelled(nodes.store().synced()).await.is_none() {
        return;
    }
    let ipam = Arc::new(ipam);
    nodes.on_change({
        let (queue, ipam) = (queue.clone(), ipam.clone());
        move |change| {
            if let Some(node) = ipam.heed(change) {
                queue.add(key_of(&**node));
            }
        }
    });
    let work = queue::work(queue.clone(), CONCURRENT, move |name: String| {
        let ipam = ipam.clone();
        async move { ipam.reconcile(&name).await }
    });
    let stop = async {
        cancel.cancelled().await;
        queue.stop();
    };
    tokio::join!(work, stop);
}

#[cfg(test)]
mod tests;
