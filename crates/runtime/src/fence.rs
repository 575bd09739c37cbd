//! A fence that blocks the writes of a replica unless it is certainly the leader.

use parking_lot::Mutex;
use std::{sync::Arc, time::Instant};

/// This replica may not write, because it may have lost its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this replica is not the leader any more")]
pub struct Fenced;

/// Whether this replica may write now. Clones share it.
///
/// It is checked directly before every write. So a replica that was suspended for longer than its lease does not write when it
/// resumes, even before it notices the loss.
#[derive(Debug, Clone)]
pub struct Fence(Arc<Mutex<State>>);

#[derive(Debug, Clone, Copy)]
enum State {
    /// No leader election: always open.
    Open,
    /// Open until then.
    Until(Instant),
    Closed,
    /// Closed, and never open before.
    Unopened,
}

impl Fence {
    /// A fence that is always open: there is no leader election.
    #[must_use]
    pub fn open() -> Self {
        Self(Arc::new(Mutex::new(State::Open)))
    }

    /// A fence that is closed until a lease is held.
    #[must_use]
    pub fn closed() -> Self {
        Self(Arc::new(Mutex::new(State::Unopened)))
    }

    /// Opens it until the deadline; each renewal of the lease extends it.
    pub fn allow_until(&self, deadline: Instant) {
        self.set(State::Until(deadline));
    }

    /// Closes it.
    pub fn close(&self) {
        if self.was_opened() {
            self.set(State::Closed);
        }
    }

    /// Whether a write is allowed now.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self) -> Result<(), Fenced> {
        match *self.0.lock() {
            State::Open => Ok(()),
            State::Until(deadline) if Instant::now() < deadline => Ok(()),
            State::Until(_) | State::Closed | State::Unopened => Err(Fenced),
        }
    }

    /// Whether it was ever opened: a lease was held once, or there is no leader election.
    #[must_use]
    pub fn was_opened(&self) -> bool {
        !matches!(*self.0.lock(), State::Unopened)
    }

    fn set(&self, state: State) {
        *self.0.lock() = state;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn opens_and_closes() {
        assert_eq!(Fence::open().check(), Ok(()));
        let fence = Fence::closed();
        assert_eq!(fence.check(), Err(Fenced));
        assert!(!fence.was_opened());
        fence.allow_until(Instant::now() + Duration::from_mins(1));
        assert_eq!(fence.clone().check(), Ok(()));
        fence.close();
        assert_eq!(fence.check(), Err(Fenced));
        assert!(fence.was_opened());
    }

    #[test]
    fn closes_by_itself_when_the_lease_is_not_renewed() {
        let fence = Fence::closed();
        fence.allow_until(Instant::now());
        assert_eq!(fence.check(), Err(Fenced));
    }
}
