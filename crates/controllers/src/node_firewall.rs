//! A cloud firewall in front of the nodes that is closed but for the ports of Services.
//!
//! Changes of Services are acted on at once; what another program changed is repaired every [`PERIOD`].

use crate::{
    retry,
    service::{hosts::HostSet, predicates, spec},
};
use cloud::{BadRanges, Exposed, Exposure, Provider, Retry};
use k8s_openapi::api::core::v1::Service;
use runtime::{
    health::Pulse,
    informer::{Change, Informer, Store},
    queue::{self, Limiter, Next, Queue},
};
use std::{num::NonZeroUsize, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// How often to look for what another program changed.
pub const PERIOD: Duration = Duration::from_mins(5);

/// A burst of Services is one change of the firewall.
const DEBOUNCE: Duration = Duration::from_millis(200);
const RETRIES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));
/// How long one sync may take.
const DEADLINE: Duration = Duration::from_mins(1);

/// There is one piece of work: the firewall.
pub type Key = ();

/// The queue of the controller.
#[must_use]
pub fn queue(metrics: Option<&queue::Metrics>) -> Queue<Key> {
    Queue::new("firewall", Limiter::exponential(RETRIES.0, RETRIES.1), metrics)
}

/// What the controller works with.
pub struct Context {
    /// The cloud.
    pub provider: Arc<dyn Provider>,
    /// All Services.
    pub services: Informer<Service>,
    /// `--cluster-name`.
    pub cluster: String,
    /// Hears how it goes.
    pub pulse: Pulse,
}

/// Keeps the firewall right until cancelled; what is under way is finished.
pub async fn run(context: Context, queue: Queue<Key>, cancel: CancellationToken) {
    if cancel
        .run_until_cancelled(context.services.store().synced())
        .await
        .is_none()
    {
        return;
    }
    context.services.on_change({
        let queue = queue.clone();
        move |change| {
            if matters(change) {
                queue.add_after((), DEBOUNCE);
            }
        }
    });
    queue.add(());
    let context = Arc::new(context);
    let work = queue::work(queue.clone(), NonZeroUsize::MIN, move |()| {
        let context = Arc::clone(&context);
        async move { context.sync().await }
    });
    let stop = async {
        cancel.cancelled().await;
        queue.stop();
    };
    tokio::join!(work, stop);
}

impl Context {
    async fn sync(&self) -> Next {
        let Some(firewall) = self.provider.node_firewall() else {
            return Next::Done;
        };
        let services = exposed(&self.services.store(), &self.cluster);
        self.pulse.begin();
        let answer = match tokio::time::timeout(DEADLINE, firewall.open(&services)).await {
            Ok(answer) => answer,
            Err(elapsed) => Err(cloud::Error::unavailable("open the firewall of the nodes", elapsed)),
        };
        next(answer, &self.pulse)
    }
}

/// When to look again.
fn next(answer: cloud::Result<()>, pulse: &Pulse) -> Next {
    let Err(error) = answer else {
        pulse.success();
        return Next::Poll(PERIOD);
    };
    warn!(error = error.report(), "cannot open the firewall of the nodes");
    pulse.failure(error.report());
    match error.retry() {
        Retry::Never => Next::Poll(PERIOD),
        Retry::After(wait) => retry::after(wait),
        Retry::Backoff => Next::Retry,
    }
}

/// The Services that are reachable from outside. One that cannot be understood is left out: its ports stay closed.
fn exposed(services: &Store<Service>, cluster: &str) -> Vec<Exposed> {
    let expose = |service: Arc<Service>| {
        let exposure = exposure(&service)?;
        let spec = spec::of(&service, &HostSet::of(&[], |_| true), cluster, BadRanges::Refuse).ok()?;
        Some(Exposed { exposure, spec })
    };
    services.list().into_iter().filter_map(expose).collect()
}

fn exposure(service: &Service) -> Option<Exposure> {
    let kind = service.spec.as_ref().and_then(|spec| spec.type_.as_deref());
    match kind {
        _ if predicates::is_deleted(service) => None,
        Some("NodePort") => Some(Exposure::NodePort),
        Some("LoadBalancer") => Some(Exposure::LoadBalancer),
        _ => None,
    }
}

/// Whether a change can change the firewall.
fn matters(change: &Change<Service>) -> bool {
    match change {
        Change::Added(service) | Change::Deleted(service) => exposure(service).is_some(),
        Change::Updated { old, new } => {
            let differs = old.spec != new.spec || old.metadata.annotations != new.metadata.annotations;
            exposure(old) != exposure(new) || (exposure(new).is_some() && differs)
        }
    }
}

#[cfg(test)]
mod tests;
