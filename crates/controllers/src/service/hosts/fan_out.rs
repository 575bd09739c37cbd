//! From Nodes to load balancers: changes are gathered, and only Services with other hosts are queued.

use crate::service::{metrics::HostChange, options::Debounce, reconcile::Reconciler};
use runtime::queue::Queue;
use std::sync::Arc;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};
use tracing::{debug, info};

/// Gathers changes that come in bursts.
#[derive(Debug)]
pub(in crate::service) struct Gatherer {
    changed: Notify,
    debounce: Debounce,
}

impl Gatherer {
    pub(in crate::service) fn new(debounce: Debounce) -> Self {
        Self {
            changed: Notify::new(),
            debounce,
        }
    }

    /// Something changed.
    pub(in crate::service) fn changed(&self) {
        self.changed.notify_one();
    }

    /// Waits for a change, and then for the end of the burst.
    pub(in crate::service) async fn gathered(&self) {
        self.changed.notified().await;
        let latest = Instant::now() + self.debounce.max;
        loop {
            let quiet = latest.min(Instant::now() + self.debounce.window);
            if timeout_at(quiet, self.changed.notified()).await.is_err() || Instant::now() >= latest {
                return;
            }
        }
    }
}

impl Reconciler {
    /// Queues the Services whose load balancers have other hosts. This costs one comparison per Service.
    pub(in crate::service) fn fan_out(&self, queue: &Queue<String>) {
        let change = Arc::new(HostChange::start(&self.metrics));
        let hosts = self.hosts.current();
        let outdated = self.states.outdated(hosts.fingerprint(), &change);
        if outdated.is_empty() {
            return debug!(hosts = hosts.hosts().len(), "all load balancers have the current hosts");
        }
        info!(
            hosts = hosts.hosts().len(),
            services = outdated.len(),
            "updating the hosts of load balancers"
        );
        for key in outdated {
            queue.add(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    /// When `count` changes at intervals of `every` ms are gathered.
    async fn gathered(every: u32, count: u32) -> u128 {
        let gatherer = Gatherer::new(Debounce {
            window: 500 * MS,
            max: 5000 * MS,
        });
        let started = Instant::now();
        let touches = async {
            for _ in 0..count {
                gatherer.changed();
                tokio::time::sleep(every * MS).await;
            }
        };
        let wait = async {
            gatherer.gathered().await;
            started.elapsed().as_millis()
        };
        tokio::join!(touches, wait).1
    }

    #[tokio::test(start_paused = true)]
    async fn one_change_waits_for_the_window() {
        assert_eq!(gathered(100, 1).await, 500);
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_gathered_until_it_ends() {
        assert_eq!(gathered(100, 10).await, 1400);
    }

    #[tokio::test(start_paused = true)]
    async fn an_endless_burst_is_limited() {
        assert_eq!(gathered(100, 1000).await, 5000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_before_the_wait_is_not_lost() {
        let gatherer = Gatherer::new(Debounce::default());
        gatherer.changed();
        gatherer.gathered().await;
        gatherer.changed();
        gatherer.gathered().await;
    }
}
