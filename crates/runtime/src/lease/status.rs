//! The current leader, and the result of this replica's renewals: for logs and health checks.

use super::Params;
use parking_lot::{Mutex, MutexGuard};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// How long after the end of its lease a leader that neither renews nor stops counts as stuck.
const TOLERANCE: Duration = Duration::from_secs(20);

/// This replica acts as leader, but its lease expired long ago: it is stuck.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed election to renew leadership on lease {0}")]
pub struct Stuck(String);

/// The status of one election. Clones share it.
#[derive(Debug, Clone)]
pub struct Status(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: String,
    /// As it is logged.
    lease: String,
    lease_duration: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    leader: String,
    /// Set while this replica leads.
    renewed: Option<Instant>,
    problem: Option<String>,
}

impl Status {
    pub(super) fn new(params: &Params) -> Self {
        let (name, lease, lease_duration) = (params.name.clone(), params.to_string(), params.lease_duration);
        Self(Arc::new(Inner {
            name,
            lease,
            lease_duration,
            state: Mutex::default(),
        }))
    }

    /// The holder of the lease; empty if it is free or unknown.
    #[must_use]
    pub fn leader(&self) -> String {
        self.state().leader.clone()
    }

    /// Why the lease cannot be read or written, if so: one sentence, which names verb and resource if permissions are missing.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.state().problem.clone()
    }

    /// The health check `leaderElection`: a standby is always healthy.
    ///
    /// # Errors
    /// If this replica acts as leader and has not renewed for the lease duration plus 20 s.
    pub fn check(&self) -> Result<(), Stuck> {
        match self.state().renewed {
            Some(renewed) if renewed.elapsed() > self.0.lease_duration + TOLERANCE => Err(Stuck(self.0.name.clone())),
            _ => Ok(()),
        }
    }

    pub(super) fn renewed(&self, at: Instant) {
        self.state().renewed = Some(at);
    }

    pub(super) fn not_leading(&self) {
        self.state().renewed = None;
    }

    /// Logs every change once.
    pub(super) fn observed_leader(&self, leader: &str) {
        let before = std::mem::replace(&mut self.state().leader, leader.into());
        if before != leader && !leader.is_empty() {
            tracing::info!(lease = self.0.lease, leader, "new leader elected");
        }
    }

    /// Logs every new problem once.
    pub(super) fn failed(&self, problem: String) {
        let mut state = self.state();
        if state.problem.as_ref() == Some(&problem) {
            tracing::debug!(lease = self.0.lease, problem, "cannot use the lease; retrying");
        } else {
            tracing::warn!(lease = self.0.lease, problem, "cannot use the lease; retrying");
            state.problem = Some(problem);
        }
    }

    pub(super) fn worked(&self) {
        self.state().problem = None;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}
