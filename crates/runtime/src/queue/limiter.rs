//! Back-off of keys that failed.

use std::{collections::HashMap, hash::Hash, time::Duration};
use tokio::time::Instant;

/// Decides how long a key waits before a retry.
#[derive(Debug)]
pub struct Limiter<K> {
    base: Duration,
    max: Duration,
    failures: HashMap<K, u32>,
}

impl<K: Eq + Hash + Clone> Limiter<K> {
    /// Per key `base`·2ⁿ up to `max`.
    #[must_use]
    pub fn exponential(base: Duration, max: Duration) -> Self {
        Self {
            base,
            max,
            failures: HashMap::new(),
        }
    }

    /// Counts a failure of the key, and returns how long it waits.
    pub fn when(&mut self, key: &K) -> Duration {
        let failures = self.failures.entry(key.clone()).or_insert(0);
        let wait = backoff(self.base, self.max, *failures);
        *failures = failures.saturating_add(1);
        wait
    }

    /// Resets the failures of the key.
    pub fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// The number of failures of the key since the last reset.
    pub fn failures(&self, key: &K) -> u32 {
        self.failures.get(key).copied().unwrap_or(0)
    }
}

fn backoff(base: Duration, max: Duration, failures: u32) -> Duration {
    1_u32
        .checked_shl(failures)
        .and_then(|factor| base.checked_mul(factor))
        .map_or(max, |wait| wait.min(max))
}

/// A token bucket with reservations: every further reservation waits longer.
#[derive(Debug)]
pub struct Bucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    last: Option<Instant>,
}

impl Bucket {
    /// A full bucket of `burst` tokens that refills at `per_second`.
    #[must_use]
    pub fn new(per_second: f64, burst: u32) -> Self {
        Self {
            per_second,
            burst: f64::from(burst),
            tokens: f64::from(burst),
            last: None,
        }
    }

    /// Reserves one token, and returns how long to wait for it.
    pub fn reserve(&mut self, now: Instant) -> Duration {
        let elapsed = self
            .last
            .map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        self.last = Some(now);
        self.tokens = (self.tokens + elapsed.as_secs_f64() * self.per_second).min(self.burst) - 1.0;
        if self.tokens >= 0.0 {
            Duration::ZERO
        } else {
            Duration::from_secs_f64(-self.tokens / self.per_second)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::first(0, 5)]
    #[case::second(1, 10)]
    #[case::seventh(6, 300)]
    #[case::overflow(200, 300)]
    fn service_backoff(#[case] failures: u32, #[case] seconds: u64) {
        let wait = backoff(Duration::from_secs(5), Duration::from_mins(5), failures);
        assert_eq!(wait, Duration::from_secs(seconds));
    }

    #[test]
    fn bucket_allows_the_burst_and_then_one_at_a_time() {
        let now = Instant::now();
        let mut bucket = Bucket::new(10.0, 2);
        let waits: Vec<_> = (0..4).map(|_| bucket.reserve(now).as_millis()).collect();
        assert_eq!(waits, [0, 0, 100, 200]);
        assert_eq!(bucket.reserve(now + Duration::from_mins(1)), Duration::ZERO);
    }

    #[test]
    fn failures_are_counted_until_reset() {
        let mut limiter = Limiter::exponential(Duration::from_secs(1), Duration::from_secs(4));
        let waits: Vec<_> = (0..4).map(|_| limiter.when(&"a").as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 4]);
        assert_eq!(limiter.failures(&"a"), 4);
        limiter.forget(&"a");
        assert_eq!(limiter.when(&"a").as_secs(), 1);
    }
}
