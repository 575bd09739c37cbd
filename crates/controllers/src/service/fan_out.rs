//! From nodes to load balancers: changes are gathered, and only those Services hear of them whose hosts differ.

use super::{metrics::Pass, options::Debounce, reconcile::Reconciler};
use runtime::queue::Queue;
use std::sync::Arc;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};
use tracing::{debug, info};

/// Gathers changes that come in bursts.
#[derive(Debug)]
pub(super) struct Gatherer {
    touched: Notify,
    debounce: Debounce,
}

impl Gatherer {
    pub(super) fn new(debounce: Debounce) -> Self {
        Self {
            touched: Notify::new(),
            debounce,
        }
    }

    /// Something changed.
    pub(super) fn touch(&self) {
        self.touched.notify_one();
    }

    /// Waits for a change, and then until it has been quiet for a while, but not for ever.
    pub(super) async fn gathered(&self) {
        self.touched.notified().await;
        let latest = Instant::now() + self.debounce.max;
        loop {
            let quiet = latest.min(Instant::now() + self.debounce.window);
            if timeout_at(quiet, self.touched.notified()).await.is_err() || Instant::now() >= latest {
                return;
            }
        }
    }
}

impl Reconciler {
    /// Queues the Services whose load balancers have other hosts than these. Costs one comparison a Service.
    pub(super) fn fan_out(&self, queue: &Queue<String>) {
        let pass = Arc::new(Pass::start(&self.metrics));
        let hosts = self.hosts.current();
        let outdated = self.ledger.outdated(hosts.fingerprint(), &pass);
        if outdated.is_empty() {
            return debug!(hosts = hosts.hosts().len(), "all load balancers have these hosts");
        }
        info!(
            hosts = hosts.hosts().len(),
            services = outdated.len(),
            "load balancers get new hosts"
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

    /// When a change that comes every `every` ms, `count` times, is heard of.
    async fn heard(every: u32, count: u32) -> u128 {
        let gatherer = Gatherer::new(Debounce {
            window: 500 * MS,
            max: 5000 * MS,
        });
        let started = Instant::now();
        let touches = async {
            for _ in 0..count {
                gatherer.touch();
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
    async fn one_change_is_heard_after_the_window() {
        assert_eq!(heard(100, 1).await, 500);
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_heard_once_it_is_over() {
        assert_eq!(heard(100, 10).await, 1400);
    }

    #[tokio::test(start_paused = true)]
    async fn an_endless_burst_is_heard_in_time() {
        assert_eq!(heard(100, 1000).await, 5000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_while_nobody_waits_is_not_lost() {
        let gatherer = Gatherer::new(Debounce::default());
        gatherer.touch();
        gatherer.gathered().await;
        gatherer.touch();
        gatherer.gathered().await;
    }
}
