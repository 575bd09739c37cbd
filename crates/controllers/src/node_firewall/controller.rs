//! The run loop: one reconciliation of the firewall after each change of a Service, and once a period.

use super::spec;
use cloud::Provider;
use k8s_openapi::api::core::v1::Service;
use runtime::{
    health::Pulse,
    informer::Informer,
    queue::{self, Limiter, Queue},
};
use std::{num::NonZeroUsize, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// The period of the reconciliation.
pub const PERIOD: Duration = Duration::from_mins(5);

/// Changes of many Services at once lead to one reconciliation.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// The limits of the back-off.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));

/// There is one piece of work: the firewall.
pub type Key = ();

/// What the controller needs.
pub struct Context {
    /// The cloud.
    pub provider: Arc<dyn Provider>,
    /// All Services.
    pub services: Informer<Service>,
    /// Created by [`queue()`].
    pub queue: Queue<Key>,
    /// `--cluster-name`.
    pub cluster: String,
    /// Reports its health.
    pub pulse: Pulse,
}

/// The queue of the controller; a clone can publish its metrics and detect that it is stuck.
#[must_use]
pub fn queue(metrics: Option<&queue::Metrics>) -> Queue<Key> {
    Queue::new("firewall", Limiter::exponential(BACKOFF.0, BACKOFF.1), metrics)
}

/// Runs until cancelled; work in progress is then finished.
pub async fn run(context: Context, cancel: CancellationToken) {
    let (services, queue) = (context.services.clone(), context.queue.clone());
    if cancel.run_until_cancelled(services.store().synced()).await.is_none() {
        return;
    }
    services.on_change({
        let queue = queue.clone();
        move |change| {
            if spec::affects_firewall(change) {
                queue.add_after((), DEBOUNCE);
            }
        }
    });
    queue.add(());
    let context = Arc::new(context);
    let work = queue::work(queue.clone(), NonZeroUsize::MIN, move |()| {
        let context = Arc::clone(&context);
        async move { context.reconcile().await }
    });
    let stop = async {
        cancel.cancelled().await;
        queue.stop();
    };
    tokio::join!(work, stop);
}
