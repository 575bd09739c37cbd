//! How much may be asked of the API server.

use crate::queue::Bucket;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// The most requests of a process under way at a time when the user says nothing. More do not make it faster, but each
/// costs a connection with its buffers, and the server throttles who asks too much.
const IN_FLIGHT: usize = 16;
/// The defaults of `--kube-api-qps` and `--kube-api-burst`, for when only one of them is given.
const QPS: f64 = 20.0;
const BURST: u32 = 30;
/// What client-go takes for a 0.
const ZERO_QPS: f64 = 5.0;
const ZERO_BURST: u32 = 10;

/// How much may be asked of the API server. Watches are never limited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// This many requests under way at a time, over all clients.
    InFlight(usize),
    /// So many a second after a burst, each client by itself, as client-go does it.
    Rate {
        /// `--kube-api-qps`
        qps: f64,
        /// `--kube-api-burst`
        burst: u32,
    },
    /// Without limit.
    Unlimited,
}

impl Limit {
    /// What the user asked for with `--kube-api-qps` and `--kube-api-burst`, `None` if a flag was not given. A negative
    /// rate means no limit and 0 a default, as in client-go.
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

/// What all clients of a process share of their limit.
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

/// What a request waits at.
#[derive(Debug)]
pub(super) enum Gate {
    Open,
    Slots(Arc<Semaphore>),
    Rate(Mutex<Bucket>),
}

/// The right to have a request under way, until it is dropped.
#[derive(Debug)]
pub(super) struct Pass(#[expect(dead_code, reason = "held for its drop")] Option<OwnedSemaphorePermit>);

impl Gate {
    /// Waits for its turn, and says how long that took if there was something to wait for.
    pub(super) async fn enter(&self) -> (Pass, Option<Duration>) {
        let asked = Instant::now();
        match self {
            Self::Open => (Pass(None), None),
            Self::Slots(slots) => {
                // Nobody closes the semaphore, so this cannot fail.
                let slot = slots.clone().acquire_owned().await.ok();
                (Pass(slot), Some(asked.elapsed()))
            }
            Self::Rate(bucket) => {
                let wait = bucket.lock().unwrap_or_else(PoisonError::into_inner).reserve(asked);
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
    fn is_what_the_flags_say(#[case] qps: Option<f64>, #[case] burst: Option<u32>, #[case] limit: Limit) {
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
    async fn slots_are_shared_and_come_back() {
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
