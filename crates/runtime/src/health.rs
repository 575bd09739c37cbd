//! Health: named checks behind `/healthz`, `/livez` and `/readyz`, and the pulse of control loops.

mod pulse;
mod report;

pub use pulse::Pulse;
pub use report::{Query, Report};

use crate::metrics::{Outcome, Slis};
use parking_lot::RwLock;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// The endpoints of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// A failure means that the process should be restarted: `/healthz`, `/livez` and `/readyz`.
    Live,
    /// A failure means that the process cannot work now: `/readyz` only.
    Ready,
}

/// A health endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// `/healthz`.
    Healthz,
    /// `/livez`.
    Livez,
    /// `/readyz`.
    Readyz,
}

impl Endpoint {
    /// Its name, which is also its path without the slash.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthz => "healthz",
            Self::Livez => "livez",
            Self::Readyz => "readyz",
        }
    }

    fn covers(self, scope: Scope) -> bool {
        self == Self::Readyz || scope == Scope::Live
    }
}

/// The checks of a process. Clones share them; checks may be added at any time.
#[derive(Clone)]
pub struct Checks(Arc<Inner>);

struct Inner {
    checks: RwLock<Arc<[Arc<Check>]>>,
    slis: Slis,
}

/// A named check.
struct Check {
    name: String,
    scope: Scope,
    run: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
    failing: AtomicBool,
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.all().iter().map(|check| &check.name))
            .finish()
    }
}

impl Checks {
    /// No checks yet, which is healthy. Results are counted in `slis`.
    #[must_use]
    pub fn new(slis: Slis) -> Self {
        Self(Arc::new(Inner {
            checks: RwLock::new(Arc::new([])),
            slis,
        }))
    }

    /// Adds a check, or replaces the check of the same name. It returns the reason of a failure, and must not block.
    ///
    /// The reason is logged and shown at `/healthz/<name>` only, which requires authorization.
    pub fn add(&self, name: &str, scope: Scope, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        let check = Arc::new(Check {
            name: name.to_owned(),
            scope,
            run: Box::new(check),
            failing: AtomicBool::default(),
        });
        let mut checks = self.0.checks.write();
        let mut changed = checks.to_vec();
        match changed.iter_mut().find(|known| known.name == name) {
            Some(known) => *known = check,
            None => changed.push(check),
        }
        *checks = changed.into();
    }

    /// Runs all checks of an endpoint that are not excluded.
    pub fn report(&self, endpoint: Endpoint, query: &Query) -> Report {
        let checks = self.of(endpoint);
        let lines: Vec<_> = checks.iter().map(|check| self.line(check, endpoint, query)).collect();
        report::all(endpoint.name(), &lines, query)
    }

    /// Runs one check of an endpoint; `None` if it does not exist.
    pub fn report_one(&self, endpoint: Endpoint, name: &str) -> Option<Report> {
        let checks = self.of(endpoint);
        let check = checks.iter().find(|check| check.name == name)?;
        Some(report::one(check.run()))
    }

    /// A copy, so that no lock is held while the checks run.
    fn all(&self) -> Arc<[Arc<Check>]> {
        self.0.checks.read().clone()
    }

    fn of(&self, endpoint: Endpoint) -> Vec<Arc<Check>> {
        let checks: Vec<_> = self
            .all()
            .iter()
            .filter(|check| endpoint.covers(check.scope))
            .cloned()
            .collect();
        if checks.is_empty() {
            vec![Arc::new(Check::ping())]
        } else {
            checks
        }
    }

    fn line(&self, check: &Check, endpoint: Endpoint, query: &Query) -> report::Line {
        let result = if query.excludes(&check.name) {
            report::Outcome::Excluded
        } else if check.run().is_ok() {
            self.0.slis.observe(&check.name, endpoint.name(), Outcome::Success);
            report::Outcome::Ok
        } else {
            self.0.slis.observe(&check.name, endpoint.name(), Outcome::Error);
            report::Outcome::Failed
        };
        report::Line {
            name: check.name.clone(),
            outcome: result,
        }
    }
}

impl Check {
    fn ping() -> Self {
        Self {
            name: "ping".into(),
            scope: Scope::Live,
            run: Box::new(|| Ok(())),
            failing: AtomicBool::default(),
        }
    }

    /// Runs it, and logs a change of its result.
    fn run(&self) -> Result<(), String> {
        let result = (self.run)();
        let failed_before = self.failing.swap(result.is_err(), Ordering::Relaxed);
        match &result {
            Err(reason) if !failed_before => tracing::warn!(check = self.name, reason, "health check failed"),
            Err(reason) => tracing::debug!(check = self.name, reason, "health check still fails"),
            Ok(()) if failed_before => tracing::info!(check = self.name, "health check passes again"),
            Ok(()) => {}
        }
        result
    }
}

#[cfg(test)]
mod tests;
