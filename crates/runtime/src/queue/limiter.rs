//! How long a key that failed has to wait.

use std::{collections::HashMap, hash::Hash, time::Duration};
use tokio::time::Instant;

/// Decides how long a key waits before it is tried again.
#[derive(Debug)]
pub struct Limiter<K> {
    base: Duration,
    max: Duration,
    failures: HashMap<K, u32>,
    bucket: Option<Bucket>,
}

impl<K: Eq + Hash + Clone> Limiter<K> {
    /// Per key `base`·2ⁿ up to `max`.
    #[must_use]
    pub fn exponential(base: Duration, max: Duration) -> Self {
        Self {
            base,
            max,
            failures: HashMap::new(),
            bucket: None,
        }
    }

    /// The client-go default: per key 5 ms·2ⁿ up to 1000 s, and over all keys 10 a second after a burst of 100.
    #[must_use]
    pub fn client_go() -> Self {
        let mut limiter = Self::exponential(Duration::from_millis(5), Duration::from_secs(1000));
        limiter.bucket = Some(Bucket::new(10.0, 100));
        limiter
    }

    /// Counts a failure of the key and answers how long it waits.
    pub fn when(&mut self, key: &K, now: Instant) -> Duration {
        let failures = self.failures.entry(key.clone()).or_insert(0);
        let wait = backoff(self.base, self.max, *failures);
        *failures = failures.saturating_add(1);
        let queued = self
            .bucket
            .as_mut()
            .map_or(Duration::ZERO, |bucket| bucket.reserve(now));
        wait.max(queued)
    }

    /// Forgets the failures of the key.
    pub fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// How often the key failed since it was last forgotten.
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

/// A token bucket that hands out reservations: the wait grows as more is asked for.
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

    /// Takes one token, and answers how long to wait until it is really there.
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
    fn bucket_lets_the_burst_through_and_then_one_at_a_time() {
        let now = Instant::now();
        let mut bucket = Bucket::new(10.0, 2);
        let waits: Vec<_> = (0..4).map(|_| bucket.reserve(now).as_millis()).collect();
        assert_eq!(waits, [0, 0, 100, 200]);
        assert_eq!(bucket.reserve(now + Duration::from_mins(1)), Duration::ZERO);
    }

    #[test]
    fn failures_are_counted_until_forgotten() {
        let mut limiter = Limiter::exponential(Duration::from_secs(1), Duration::from_secs(4));
        let now = Instant::now();
        let waits: Vec<_> = (0..4).map(|_| limiter.when(&"a", now).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 4]);
        assert_eq!(limiter.failures(&"a"), 4);
        limiter.forget(&"a");
        assert_eq!(limiter.when(&"a", now).as_secs(), 1);
    }
}
