//! Where one set of credentials asks Keystone for tokens: one at a time, and not again at once after a no.
//!
//! Wrong credentials are wrong for every call. Asking anew for each of them is a storm on Keystone, and where
//! `lockout_failure_attempts` is set it locks the account, also for those who know the password.

use super::keystone;
use crate::config::{Global, Identity};
use cloud::{Error, Result};
use cloud_http::Failure;
use secrecy::ExposeSecret;
use std::{
    collections::VecDeque,
    hash::{BuildHasher, Hash, Hasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Semaphore, time::Instant};
use tracing::{debug, warn};

/// For so long the first no holds; each one after it twice as long as the one before.
const FIRST: Duration = Duration::from_secs(1);

/// No longer than this, so that a password that is put right in Keystone is noticed by itself.
const LAST: Duration = Duration::from_mins(1);

/// The credentials in use, those that somebody tries to go over to, and some that he tried before.
const KEPT: usize = 4;

/// The desks of a process, by credentials: a connection that is made anew with the same ones is not asked anew.
pub struct Desks {
    secret: RandomState,
    kept: Mutex<VecDeque<(u64, Arc<Desk>)>>,
}

/// Where one set of credentials logs in.
pub struct Desk {
    turn: Semaphore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How often there was no token.
    failures: u64,
    last: Option<Error>,
    refusal: Option<Refusal>,
}

/// A no that holds for a while.
#[derive(Clone, Copy)]
struct Refusal {
    wait: Duration,
    until: Instant,
}

impl Default for Desks {
    fn default() -> Self {
        Self {
            secret: RandomState::new(),
            kept: Mutex::default(),
        }
    }
}

impl Desks {
    /// The desk of these credentials.
    pub fn of(&self, global: &Global) -> Arc<Desk> {
        let Some(key) = self.fingerprint(global) else {
            return Arc::default();
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|(other, _)| *other == key);
        let desk = known.and_then(|at| kept.remove(at)).map(|(_, desk)| desk);
        let desk = desk.unwrap_or_default();
        kept.push_front((key, Arc::clone(&desk)));
        kept.truncate(KEPT);
        desk
    }

    /// Of all that Keystone judges by; keyed, so that it tells nothing of a password. There is none for what is not
    /// even sent.
    fn fingerprint(&self, global: &Global) -> Option<u64> {
        let mut hasher = self.secret.build_hasher();
        global.auth_url.hash(&mut hasher);
        keystone::body(global).ok()?.to_string().hash(&mut hasher);
        if let Some(Identity { certificate, key }) = &global.tls.identity {
            certificate.hash(&mut hasher);
            key.expose_secret().hash(&mut hasher);
        }
        Some(hasher.finish())
    }
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            turn: Semaphore::new(1),
            state: Mutex::default(),
        }
    }
}

impl Desk {
    /// Logs in, unless that was refused a short while ago, or somebody else does it at this moment: then all get what that
    /// one gets. `is_done` says that he got a token which serves the caller, too.
    ///
    /// # Errors
    /// As `ask`; for some time after a refusal the same again, and `ask` is not called.
    pub async fn log_in(&self, is_done: impl Fn() -> bool, ask: impl Future<Output = Result<()>>) -> Result<()> {
        let seen = self.state().failures;
        self.remembered(seen)?;
        let turn = self.turn.acquire().await;
        let _turn = turn.map_err(|closed| Error::unavailable("authentication", closed))?;
        if is_done() {
            return Ok(());
        }
        self.remembered(seen)?;
        let asked = ask.await;
        asked.map_err(|error| self.failed(error))?;
        let mut state = self.state();
        (state.last, state.refusal) = (None, None);
        Ok(())
    }

    /// What is known without asking: a refusal that holds, or what became of a login that others began meanwhile.
    fn remembered(&self, seen: u64) -> Result<()> {
        let state = self.state();
        let now = Instant::now();
        let holds = state.refusal.filter(|refusal| now < refusal.until);
        let is_news = state.failures > seen;
        match (state.last.as_ref().filter(|_| is_news || holds.is_some()), holds) {
            (Some(error), Some(refusal)) => Err(sooner(error.clone(), refusal.until - now)),
            (Some(error), None) => Err(error.clone()),
            (None, _) => Ok(()),
        }
    }

    fn failed(&self, error: Error) -> Error {
        let mut state = self.state();
        let refusal = refusal(&error, state.refusal);
        if let (Error::Denied { .. }, Some(Refusal { wait, .. })) = (&error, refusal) {
            tell(&error, wait, state.refusal);
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

/// How long it is to hold. A Keystone that cannot be reached has refused nobody: that is asked again, and so is one that
/// wants to be left alone, after that time.
fn refusal(error: &Error, before: Option<Refusal>) -> Option<Refusal> {
    let asked_for = Failure::of(error).and_then(Failure::retry_after);
    let (wait, hold) = match error {
        Error::Denied { .. } => {
            let wait = before.map_or(FIRST, |before| (before.wait * 2).clamp(FIRST, LAST));
            (wait, wait.max(asked_for.unwrap_or_default()))
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

/// Once, and not for each time that it is still so.
fn tell(error: &Error, wait: Duration, before: Option<Refusal>) {
    let (error, wait) = (error.report(), wait.as_secs());
    if before.is_none() {
        warn!(
            error,
            "keystone refuses the credentials: until it accepts them or there are others, it is asked once in a while"
        );
    } else {
        debug!(error, wait, "keystone still refuses the credentials");
    }
}

/// Some of the time that a throttled caller has to wait is over.
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
