//! Whether and when to try again: pure decisions, and the purse that all calls of a client share.

use crate::{
    config::Retries,
    fault::{Reach, Reason},
    request::Idempotency,
};
use http::StatusCode;
use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// Why an attempt did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Status(StatusCode),
    Fault(Reason, Reach),
}

impl Cause {
    /// The name in metrics.
    pub fn label(self) -> String {
        match self {
            Self::Status(status) => status.as_u16().to_string(),
            Self::Fault(reason, _) => reason.label().to_owned(),
        }
    }
}

/// Whether a retry is allowed and may help. The error is the provider's view of the answer, and takes precedence over the status.
pub(crate) fn worthwhile(idempotency: Idempotency, cause: Cause, error: &cloud::Error) -> bool {
    let repeatable = idempotency != Idempotency::Once;
    match (error, cause) {
        // A throttled request was not processed.
        (cloud::Error::Throttled { .. }, _) => true,
        // A certificate does not get better within seconds.
        (_, Cause::Fault(Reason::Tls | Reason::Protocol | Reason::TooLarge | Reason::Garbled, _)) => false,
        (_, Cause::Fault(_, Reach::Unsent)) => true,
        (_, Cause::Fault(_, Reach::Perhaps)) => repeatable,
        (cloud::Error::Unavailable { .. }, Cause::Status(status)) => repeatable && is_passing(status),
        (_, Cause::Status(_)) => false,
    }
}

fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 500 | 502 | 503 | 504)
}

/// The longest wait, whatever was configured.
const LONGEST: Duration = Duration::from_hours(1);

/// The wait before the next attempt, or `None` if it would be too long.
///
/// `jitter` is uniformly distributed from 0 to 1. The cloud's retry-after is a lower bound; jitter is added so that not all clients
/// retry at once.
pub(crate) fn wait(
    retries: &Retries,
    attempt: u32,
    retry_after: Option<Duration>,
    jitter: f64,
    remaining: Duration,
) -> Option<Duration> {
    let ceiling = retries
        .base
        .saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
    let spread = ceiling.min(retries.longest_wait).min(LONGEST).mul_f64(jitter);
    let wait = match retry_after {
        Some(retry_after) if retry_after > retries.longest_wait => return None,
        Some(retry_after) => retry_after + spread.min(retry_after / 10),
        None => spread,
    };
    (wait < remaining).then_some(wait)
}

/// How many retries are in hand, in tenths.
pub(crate) struct Budget {
    tenths: AtomicU32,
    full: u32,
}

impl Budget {
    pub fn new(retries: u32) -> Self {
        let full = retries.saturating_mul(10);
        Self {
            tenths: AtomicU32::new(full),
            full,
        }
    }

    /// Takes one retry out, if there is one.
    pub fn take(&self) -> bool {
        self.tenths
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tenths| tenths.checked_sub(10))
            .is_ok()
    }

    /// Puts in what a success is worth.
    pub fn earn(&self) {
        // The update never refuses.
        let _ = self
            .tenths
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tenths| {
                Some(tenths.saturating_add(1).min(self.full))
            });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const MS: Duration = Duration::from_millis(1);

    fn retries() -> Retries {
        Retries {
            attempts: 9,
            base: 100 * MS,
            longest_wait: 1000 * MS,
            budget: 2,
        }
    }

    #[rstest]
    #[case::first(1, None, 1.0, 9000, Some(100))]
    #[case::doubles(3, None, 1.0, 9000, Some(400))]
    #[case::jitter(3, None, 0.25, 9000, Some(100))]
    #[case::no_longer_than_the_longest(30, None, 1.0, 9000, Some(1000))]
    #[case::does_not_overflow(u32::MAX, None, 1.0, 9000, Some(1000))]
    #[case::does_not_fit(3, None, 1.0, 400, None)]
    #[case::retry_after(1, Some(500), 0.0, 9000, Some(500))]
    #[case::retry_after_and_a_little_more(5, Some(500), 1.0, 9000, Some(550))]
    #[case::retry_after_too_much(1, Some(1001), 0.0, 9000, None)]
    #[case::retry_after_exceeds_the_budget(1, Some(500), 0.0, 500, None)]
    #[case::retry_after_for_nothing(1, Some(0), 1.0, 9000, Some(0))]
    fn waits(
        #[case] attempt: u32,
        #[case] retry_after: Option<u64>,
        #[case] jitter: f64,
        #[case] remaining: u64,
        #[case] expected: Option<u64>,
    ) {
        let wait = wait(
            &retries(),
            attempt,
            retry_after.map(Duration::from_millis),
            jitter,
            Duration::from_millis(remaining),
        );
        assert_eq!(wait, expected.map(Duration::from_millis));
    }

    #[test]
    fn the_budget_runs_out_and_is_earned_back() {
        let budget = Budget::new(2);
        assert!(budget.take() && budget.take() && !budget.take());
        (0..9).for_each(|_| budget.earn());
        assert!(!budget.take());
        budget.earn();
        assert!(budget.take() && !budget.take());
        (0..99).for_each(|_| budget.earn());
        assert!(budget.take() && budget.take() && !budget.take());
    }
}
