//! Who leads, and whether this replica's own renewals go well: for logs and health.

use super::Params;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How long after the end of its lease a leader that neither renews nor stops counts as stuck.
const TOLERANCE: Duration = Duration::from_secs(20);

/// This replica believes to lead, but its lease ran out long ago: it is stuck.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed election to renew leadership on lease {0}")]
pub struct Stuck(String);

/// What is known about one election at this moment. Clones share it.
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

    /// Who holds the lease, as far as this replica knows; empty if nobody or not known.
    #[must_use]
    pub fn leader(&self) -> String {
        self.state().leader.clone()
    }

    /// Why the lease cannot be read or written at the moment, if so: one sentence, which names verb and resource when
    /// permissions are missing.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.state().problem.clone()
    }

    /// The health check `leaderElection`: a standby is always healthy.
    ///
    /// # Errors
    /// If this replica believes to lead and has not renewed for the length of the lease and 20 s more.
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

    /// Says it once for every change.
    pub(super) fn saw_leader(&self, leader: &str) {
        let before = std::mem::replace(&mut self.state().leader, leader.into());
        if before != leader && !leader.is_empty() {
            tracing::info!(lease = self.0.lease, leader, "new leader elected");
        }
    }

    /// Says it once, until there is another or none.
    pub(super) fn failed(&self, problem: String) {
        let mut state = self.state();
        if state.problem.as_ref() == Some(&problem) {
            tracing::debug!(lease = self.0.lease, problem, "cannot use the lease; trying again");
        } else {
            tracing::warn!(lease = self.0.lease, problem, "cannot use the lease; trying again");
            state.problem = Some(problem);
        }
    }

    pub(super) fn worked(&self) {
        self.state().problem = None;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
