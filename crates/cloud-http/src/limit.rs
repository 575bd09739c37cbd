//! How much at once and how fast.

use crate::config::Rate;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep_until},
};

/// What holds back the calls of one client.
pub(crate) struct Limits {
    slots: Option<Semaphore>,
    bucket: Option<Mutex<Bucket>>,
    /// Until when the cloud wants to be left alone, by operation: clouds throttle one kind of call and serve another.
    pauses: Mutex<HashMap<&'static str, Instant>>,
    longest_pause: Duration,
}

/// The time until a request would be allowed, which is too long to wait.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong(pub Duration);

impl Limits {
    pub fn new(in_flight: Option<usize>, rate: Option<Rate>, longest_pause: Duration) -> Self {
        Self {
            slots: in_flight.map(|slots| Semaphore::new(slots.max(1))),
            bucket: rate.map(|rate| Mutex::new(Bucket::new(rate, Instant::now()))),
            pauses: Mutex::default(),
            longest_pause,
        }
    }

    /// Waits until a request may be sent. The returned permit has to be kept until the response has arrived.
    pub async fn enter(
        &self,
        operation: &'static str,
        deadline: Instant,
    ) -> Result<Option<SemaphorePermit<'_>>, TooLong> {
        let slot = loop {
            let slot = self.slot().await;
            let Some(until) = self.paused(operation) else {
                break slot;
            };
            // A request that waits for the cloud must not block others.
            drop(slot);
            wait_until(until, deadline.min(after(self.longest_pause))).await?;
        };
        if let Some(bucket) = &self.bucket {
            let turn = lock(bucket).reserve(Instant::now(), deadline)?;
            sleep_until(turn).await;
        }
        Ok(slot)
    }

    async fn slot(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.slots.as_ref()?.acquire().await.ok()
    }

    /// Makes no requests for the cloud's retry-after.
    pub fn pause(&self, operation: &'static str, wait: Duration) {
        let until = after(wait);
        let mut pauses = lock(&self.pauses);
        let pause = pauses.entry(operation).or_insert(until);
        *pause = until.max(*pause);
    }

    fn paused(&self, operation: &'static str) -> Option<Instant> {
        let mut pauses = lock(&self.pauses);
        let until = *pauses.get(operation)?;
        if until <= Instant::now() {
            pauses.remove(operation);
            return None;
        }
        Some(until)
    }
}

/// This long from now, or for ever.
pub(crate) fn after(wait: Duration) -> Instant {
    const FOR_EVER: Duration = Duration::from_hours(24 * 365 * 30);
    Instant::now() + wait.min(FOR_EVER)
}

async fn wait_until(until: Instant, latest: Instant) -> Result<(), TooLong> {
    if until > latest {
        return Err(TooLong(until.saturating_duration_since(Instant::now())));
    }
    sleep_until(until).await;
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The longest time between two requests that a rate can ask for.
const SLOWEST: Duration = Duration::from_hours(24);

/// A token bucket, kept as the one moment at which it will be full again.
struct Bucket {
    interval: Duration,
    depth: Duration,
    full_at: Instant,
}

impl Bucket {
    fn new(rate: Rate, now: Instant) -> Self {
        let interval = Duration::try_from_secs_f64(1.0 / rate.per_second)
            .unwrap_or(SLOWEST)
            .min(SLOWEST);
        Self {
            interval,
            depth: interval.saturating_mul(rate.burst.max(1)),
            full_at: now,
        }
    }

    /// Takes a token and returns from when on it is valid. One that would come too late is not taken. A caller that gives up
    /// while waiting does not bring its token back, so the rate is never exceeded.
    fn reserve(&mut self, now: Instant, latest: Instant) -> Result<Instant, TooLong> {
        let full_at = self.full_at.max(now) + self.interval;
        let overdraft = full_at.saturating_duration_since(now + self.depth);
        let turn = now + overdraft;
        if turn > latest {
            return Err(TooLong(overdraft));
        }
        self.full_at = full_at;
        Ok(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// Reserves at these milliseconds with a deadline a second later and returns the wait, or `-` and the wait if too long.
    #[rstest]
    #[case::burst_then_steady(10.0, 3, &[0, 0, 0, 0, 0], "0 0 0 100 200")]
    #[case::refills(10.0, 2, &[0, 0, 0, 500, 500, 500], "0 0 100 0 0 100")]
    #[case::never_more_than_the_burst(10.0, 2, &[0, 9000, 9000, 9000], "0 0 0 100")]
    #[case::too_long_takes_nothing(1.0, 1, &[0, 0, 0, 0, 100], "0 1000 -2000 -2000 -1900")]
    #[case::a_burst_of_zero_is_one(10.0, 0, &[0, 0], "0 100")]
    fn bucket(#[case] per_second: f64, #[case] burst: u32, #[case] at: &[u64], #[case] waits: &str) {
        let start = Instant::now();
        let mut bucket = Bucket::new(Rate { per_second, burst }, start);
        let mut reserve = |ms: &u64| {
            let now = start + Duration::from_millis(*ms);
            match bucket.reserve(now, now + Duration::from_secs(1)) {
                Ok(turn) => (turn - now).as_millis().to_string(),
                Err(TooLong(wait)) => format!("-{}", wait.as_millis()),
            }
        };
        assert_eq!(at.iter().map(&mut reserve).collect::<Vec<_>>().join(" "), waits);
    }

    fn in_a_minute() -> Instant {
        Instant::now() + Duration::from_mins(1)
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_holds_back_its_operation_only() {
        let limits = Limits::new(None, None, Duration::from_secs(5));
        limits.pause("list", Duration::from_secs(2));
        limits.pause("list", Duration::from_secs(1));
        let start = Instant::now();
        limits.enter("get", in_a_minute()).await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
        limits.enter("list", in_a_minute()).await.unwrap();
        assert!(start.elapsed() >= Duration::from_secs(2));
        let again = Instant::now();
        limits.enter("list", in_a_minute()).await.unwrap();
        assert_eq!(again.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_pause_is_reported_without_waiting() {
        let limits = Limits::new(None, None, Duration::from_secs(5));
        limits.pause("list", Duration::from_secs(30));
        let start = Instant::now();
        assert_eq!(
            limits.enter("list", in_a_minute()).await.unwrap_err(),
            TooLong(Duration::from_secs(30))
        );
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_that_begins_while_a_call_waits_for_a_slot_holds_for_it() {
        let limits = Limits::new(Some(1), None, Duration::from_secs(5));
        let slot = limits.enter("list", in_a_minute()).await.unwrap();
        let pause = async {
            limits.pause("list", Duration::from_secs(30));
            drop(slot);
        };
        let (waiting, ()) = tokio::join!(limits.enter("list", in_a_minute()), pause);
        assert_eq!(waiting.unwrap_err(), TooLong(Duration::from_secs(30)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_beyond_the_deadline_is_reported_without_waiting() {
        let limits = Limits::new(None, None, Duration::from_secs(5));
        limits.pause("list", Duration::from_secs(3));
        let deadline = Instant::now() + Duration::from_secs(1);
        assert_eq!(
            limits.enter("list", deadline).await.unwrap_err(),
            TooLong(Duration::from_secs(3))
        );
    }
}
