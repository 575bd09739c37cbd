//! The time of a fake cloud.

use jiff::{SignedDuration, Timestamp};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// A wall clock that runs with tokio's clock, so that it stops while a test pauses that one, and that can be advanced.
#[derive(Debug)]
pub(crate) struct Clock {
    wall: Timestamp,
    began: Instant,
    advanced: Mutex<Duration>,
}

/// A moment, on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// The time of day.
    pub wall: Timestamp,
    /// The same moment, to compare with deadlines.
    pub instant: Instant,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            wall: Timestamp::now(),
            began: Instant::now(),
            advanced: Mutex::default(),
        }
    }
}

impl Clock {
    pub(crate) fn now(&self) -> Now {
        let passed = SignedDuration::try_from(self.age()).unwrap_or(SignedDuration::MAX);
        Now {
            wall: self.wall.saturating_add(passed).unwrap_or(Timestamp::MAX),
            instant: Instant::now() + self.advanced(),
        }
    }

    pub(crate) fn age(&self) -> Duration {
        self.began.elapsed() + self.advanced()
    }

    pub(crate) fn advance(&self, by: Duration) {
        *self.advanced.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }

    /// When a moment of this clock comes on tokio's clock.
    pub(crate) fn timer(&self, at: Instant) -> Instant {
        at.checked_sub(self.advanced()).unwrap_or_else(Instant::now)
    }

    fn advanced(&self) -> Duration {
        *self.advanced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
