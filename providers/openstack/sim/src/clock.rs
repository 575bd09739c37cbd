//! The time of day, moved by tokio's clock, so that a paused test can wait for a token to expire.

use jiff::{SignedDuration, Timestamp};
use std::time::Duration;
use tokio::time::Instant;

/// A wall clock that stands still when tokio's does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    wall: Timestamp,
    began: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            wall: Timestamp::now(),
            began: Instant::now(),
        }
    }

    /// The time of day.
    pub(crate) fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.age()).unwrap_or(SignedDuration::MAX);
        self.wall.saturating_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// How long it has run.
    pub(crate) fn age(&self) -> Duration {
        self.began.elapsed()
    }
}

/// `2026-11-16T02:14:53Z`: Nova, Neutron.
pub(crate) fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `2026-11-16T02:14:53.000000Z`: Keystone.
pub(crate) fn micros(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// `2026-11-16T02:14:53`: Octavia.
pub(crate) fn bare(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S").to_string()
}
