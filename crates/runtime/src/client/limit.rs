//! Limits of requests to the API server.

use crate::queue::Bucket;
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// The default maximum of concurrent requests of a process. More are not faster, but each needs a connection with its buffers, and
/// the server throttles clients with too many requests.
const IN_FLIGHT: usize = 16;
/// The defaults of `--kube-api-qps` and `--kube-api-burst`, for when only one of them is given.
const QPS: f64 = 20.0;
const BURST: u32 = 30;
/// The values that client-go uses for 0.
const ZERO_QPS: f64 = 5.0;
const ZERO_BURST: u32 = 10;

/// A limit of requests to the API server. Watches are never limited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// The maximum of concurrent requests of all clients.
    InFlight(usize),
    /// A rate with a burst for each client, as in client-go.
    Rate {
        /// `--kube-api-qps`
        qps: f64,
        /// `--kube-api-burst`
        burst: u32,
    },
    /// No limit.
    Unlimited,
}

impl Limit {
    /// The limit of `--kube-api-qps` and `--kube-api-burst`, `None` if a flag is not given. As in client-go, a negative rate means no
    /// limit and 0 a default.
    #[must_use]
    pub fn from_flags(qps: Option<f64>, burst: Option<u32>) -> Self {
        match (qps, burst) {
            (None, None) => Self::InFlight(IN_FLIGHT),
            (Some(qps), _) if qps < 0.0 => Self::Unlimited,
            (qps, burst) => Self::Rate {
                qps: match qps {
                    None => QPS,
                    Some(qps) if qps > 0.0 => qps,
                    Some(_) => ZERO_QPS,
                },
                burst: match burst {
                    None => BURST,
                    Some(0) => ZERO_BURST,
                    Some(burst) => burst,
                },
            },
        }
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self::from_flags(None, None)
    }
}

/// The part of the limit that all clients of a process share.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    limit: Limit,
    slots: Arc<Semaphore>,
}

impl Shared {
    pub(super) fn new(limit: Limit) -> Self {
        let slots = match limit {
            Limit::InFlight(slots) => slots.clamp(1, Semaphore::MAX_PERMITS),
            Limit::Rate { .. } | Limit::Unlimited => 1,
        };
        Self {
            limit,
            slots: Arc::new(Semaphore::new(slots)),
        }
    }

    /// The gate of one client.
    pub(super) fn gate(&self) -> Gate {
        match self.limit {
            Limit::InFlight(_) => Gate::Slots(self.slots.clone()),
            Limit::Rate { qps, burst } => Gate::Rate(Mutex::new(Bucket::new(qps, burst))),
            Limit::Unlimited => Gate::Open,
        }
    }
}

/// The gate of a client, where requests wait.
#[derive(Debug)]
pub(super) enum Gate {
    Open,
    Slots(Arc<Semaphore>),
    Rate(Mutex<Bucket>),
}

/// A slot of the limit, until it is dropped.
#[derive(Debug)]
pub(super) struct Pass(#[expect(dead_code, reason = "held for its drop")] Option<OwnedSemaphorePermit>);

impl Gate {
    /// Waits for the limit, and returns the waiting time, if there is a limit.
    pub(super) async fn enter(&self) -> (Pass, Option<Duration>) {
        let asked = Instant::now();
        match self {
            Self::Open => (Pass(None), None),
            Self::Slots(slots) => {
                // The semaphore is never closed, so this cannot fail.
                let slot = slots.clone().acquire_owned().await.ok();
                (Pass(slot), Some(asked.elapsed()))
            }
            Self::Rate(bucket) => {
                let wait = bucket.lock().reserve(asked);
                tokio::time::sleep(wait).await;
                if wait > Duration::from_secs(1) {
                    tracing::info!(?wait, "waited before a request because of --kube-api-qps");
                }
                (Pass(None), Some(wait))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::nothing_given(None, None, Limit::InFlight(16))]
    #[case::both(Some(50.0), Some(100), Limit::Rate { qps: 50.0, burst: 100 })]
    #[case::only_qps(Some(50.0), None, Limit::Rate { qps: 50.0, burst: 30 })]
    #[case::only_burst(None, Some(5), Limit::Rate { qps: 20.0, burst: 5 })]
    #[case::no_rate(Some(0.0), None, Limit::Rate { qps: 5.0, burst: 30 })]
    #[case::no_burst(Some(50.0), Some(0), Limit::Rate { qps: 50.0, burst: 10 })]
    #[case::neither(Some(0.0), Some(0), Limit::Rate { qps: 5.0, burst: 10 })]
    #[case::negative(Some(-1.0), Some(5), Limit::Unlimited)]
    fn is_parsed_from_the_flags(#[case] qps: Option<f64>, #[case] burst: Option<u32>, #[case] limit: Limit) {
        assert_eq!(Limit::from_flags(qps, burst), limit);
    }

    #[tokio::test(start_paused = true)]
    async fn rate_is_each_clients_own() {
        let shared = Shared::new(Limit::Rate { qps: 1.0, burst: 2 });
        let (one, other) = (shared.gate(), shared.gate());
        for (gate, seconds) in [(&one, 0), (&one, 0), (&other, 0), (&one, 1)] {
            assert_eq!(gate.enter().await.1, Some(Duration::from_secs(seconds)));
        }
    }

    #[tokio::test]
    async fn slots_are_shared_and_released() {
        let shared = Shared::new(Limit::InFlight(1));
        let (one, other) = (shared.gate(), shared.gate());
        let (pass, _) = one.enter().await;
        assert!(
            tokio::time::timeout(Duration::from_millis(10), other.enter())
                .await
                .is_err()
        );
        drop(pass);
        other.enter().await;
    }
}
