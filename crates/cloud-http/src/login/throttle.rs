//! Limits the logins of one set of credentials: one at a time, and with back-off after a refusal.
//!
//! Wrong credentials are wrong for every call. A login for each of them is a storm on the cloud, and may lock the account.

use crate::Failure;
use cloud::{Error, Result};
use std::{
    collections::VecDeque,
    hash::{BuildHasher, Hash, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Semaphore, time::Instant};
use tracing::{debug, warn};

/// How long the first refusal holds; each one after it holds twice as long as the one before.
const FIRST: Duration = Duration::from_secs(1);

/// No refusal holds longer, so that credentials that become valid in the cloud are noticed.
const LAST: Duration = Duration::from_mins(1);

/// The credentials in use, those that a user is about to change to, and some that were tried before.
const KEPT: usize = 4;

/// The throttles of a process, by credentials: a new connection with the same ones keeps its back-off.
#[derive(Default)]
pub struct LoginThrottles {
    secret: RandomState,
    kept: Mutex<VecDeque<(u64, Arc<LoginThrottle>)>>,
}

/// Limits the logins of one set of credentials.
pub struct LoginThrottle {
    turn: Semaphore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many logins failed.
    failures: u64,
    last: Option<Error>,
    refusal: Option<Refusal>,
}

/// A refusal that holds for a while.
#[derive(Clone, Copy)]
struct Refusal {
    wait: Duration,
    until: Instant,
}

impl LoginThrottles {
    /// The throttle of these credentials: of all that the cloud judges by. Only a keyed hash of it is kept.
    pub fn of(&self, credentials: impl Hash) -> Arc<LoginThrottle> {
        let key = self.secret.hash_one(credentials);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|(other, _)| *other == key);
        let throttle = known.and_then(|at| kept.remove(at)).map(|(_, throttle)| throttle);
        let throttle = throttle.unwrap_or_default();
        kept.push_front((key, Arc::clone(&throttle)));
        kept.truncate(KEPT);
        throttle
    }
}

impl Default for LoginThrottle {
    fn default() -> Self {
        Self {
            turn: Semaphore::new(1),
            state: Mutex::default(),
        }
    }
}

impl LoginThrottle {
    /// Logs in, unless a login was refused a short while ago, or another caller logs in at this time: then all get what that
    /// one gets. `is_done` returns whether its credential serves this caller, too.
    ///
    /// # Errors
    /// As `log_in`; for some time after a refusal the same error, and `log_in` is not called.
    pub async fn log_in(&self, is_done: impl Fn() -> bool, log_in: impl Future<Output = Result<()>>) -> Result<()> {
        let seen = self.state().failures;
        self.remembered(seen)?;
        let turn = self.turn.acquire().await;
        let _turn = turn.map_err(|closed| Error::unavailable("authentication", closed))?;
        if is_done() {
            return Ok(());
        }
        self.remembered(seen)?;
        log_in.await.map_err(|error| self.failed(error))?;
        let mut state = self.state();
        (state.last, state.refusal) = (None, None);
        Ok(())
    }

    /// What is known without a login: a refusal that holds, or the failure of a login that other callers began meanwhile.
    fn remembered(&self, seen: u64) -> Result<()> {
        let state = self.state();
        let now = Instant::now();
        let holds = state.refusal.filter(|refusal| now < refusal.until);
        let is_new = state.failures > seen;
        match (state.last.as_ref().filter(|_| is_new || holds.is_some()), holds) {
            (Some(error), Some(refusal)) => Err(sooner(error.clone(), refusal.until - now)),
            (Some(error), None) => Err(error.clone()),
            (None, _) => Ok(()),
        }
    }

    fn failed(&self, error: Error) -> Error {
        let mut state = self.state();
        let refusal = refusal(&error, state.refusal);
        if let (Error::Denied { .. }, Some(Refusal { wait, .. })) = (&error, refusal) {
            log(&error, wait, state.refusal);
        }
        state.refusal = refusal;
        state.failures += 1;
        state.last = Some(error.clone());
        error
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long it holds. A cloud that cannot be reached has refused nothing: the next caller tries again. One that throttles is
/// called again after the time that it gives.
fn refusal(error: &Error, before: Option<Refusal>) -> Option<Refusal> {
    let requested = Failure::of(error).and_then(Failure::retry_after);
    let (wait, hold) = match error {
        Error::Denied { .. } => {
            let wait = before.map_or(FIRST, |before| (before.wait * 2).clamp(FIRST, LAST));
            (wait, wait.max(requested.unwrap_or_default()))
        }
        Error::Throttled { retry_after, .. } => {
            let wait = before.map_or(Duration::ZERO, |before| before.wait);
            (wait, (*retry_after)?)
        }
        _ => return before,
    };
    let until = Instant::now() + hold;
    Some(Refusal { wait, until })
}

/// Warns once, and not each time that the cloud still refuses.
fn log(error: &Error, wait: Duration, before: Option<Refusal>) {
    let (error, wait) = (error.report(), wait.as_secs());
    if before.is_none() {
        warn!(
            error,
            "the cloud refuses the credentials: logins are retried with back-off until it accepts them or they change"
        );
    } else {
        debug!(error, wait, "the cloud still refuses the credentials");
    }
}

/// A part of the time that a throttled caller has to wait is over.
fn sooner(error: Error, left: Duration) -> Error {
    match error {
        Error::Throttled { call, .. } => Error::Throttled {
            call,
            retry_after: Some(left),
        },
        error => error,
    }
}

#[cfg(test)]
mod tests;
