//! How long calls take.

use std::time::Duration;

/// How long every call takes; nothing by default.
///
/// ```
/// use fakecloud::Latency;
/// use std::time::Duration;
///
/// let busy = Latency::fixed(Duration::from_millis(20)).growing(Duration::from_millis(5));
/// assert_eq!(busy.of(1), Duration::from_millis(20));
/// assert_eq!(busy.of(11), Duration::from_millis(70));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Latency {
    fixed: Duration,
    growing: Duration,
}

impl Latency {
    /// The same for every call.
    pub const fn fixed(latency: Duration) -> Self {
        Self {
            fixed: latency,
            growing: Duration::ZERO,
        }
    }

    /// Grows by this much for every other call that is in flight when a call arrives: the cloud then performs at most one call
    /// in this time, however many callers there are.
    #[must_use]
    pub const fn growing(mut self, by: Duration) -> Self {
        self.growing = by;
        self
    }

    /// The latency of a call that arrives while this many calls, itself included, are in flight.
    pub fn of(&self, in_flight: usize) -> Duration {
        let others = u32::try_from(in_flight.saturating_sub(1)).unwrap_or(u32::MAX);
        self.fixed + self.growing.saturating_mul(others)
    }
}

impl From<Duration> for Latency {
    fn from(latency: Duration) -> Self {
        Self::fixed(latency)
    }
}
