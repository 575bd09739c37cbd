//! How long to wait for a condition on a machine of unknown speed.

use std::{collections::HashSet, time::Duration};
use tokio::time::Instant;

/// Ends a wait in which nothing moves any more.
///
/// Each state that was not seen before starts the time again, so a slow machine is waited for as long as it makes progress. A
/// state that never stops changing ends the wait after ten times the limit.
#[derive(Debug)]
pub struct Patience {
    limit: Duration,
    began: Instant,
    moved: Instant,
    seen: HashSet<String>,
}

impl Patience {
    /// Gives up after this time without progress.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        let now = Instant::now();
        Self {
            limit,
            began: now,
            moved: now,
            seen: HashSet::new(),
        }
    }

    /// The time since the wait began.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.began.elapsed()
    }

    /// Whether to give up, given the current state of what is waited for.
    pub fn is_over(&mut self, state: &str) -> bool {
        if !self.seen.contains(state) {
            self.seen.insert(state.to_owned());
            self.moved = Instant::now();
        }
        self.moved.elapsed() > self.limit || self.began.elapsed() > self.limit * 10
    }
}

#[cfg(test)]
mod tests {
    use super::Patience;
    use std::time::Duration;
    use tokio::time::advance;

    const LIMIT: Duration = Duration::from_secs(10);
    const STEP: Duration = Duration::from_secs(9);

    #[tokio::test(start_paused = true)]
    async fn a_state_that_stays_ends_the_wait() {
        let mut patience = Patience::new(LIMIT);
        assert!(!patience.is_over("0 of 3"));
        advance(STEP).await;
        assert!(!patience.is_over("0 of 3"));
        advance(STEP).await;
        assert!(patience.is_over("0 of 3"));
    }

    #[tokio::test(start_paused = true)]
    async fn progress_starts_the_time_again() {
        let mut patience = Patience::new(LIMIT);
        for done in 0..5 {
            assert!(!patience.is_over(&format!("{done} of 5")), "{done}");
            advance(STEP).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_earlier_state_is_no_progress() {
        let mut patience = Patience::new(LIMIT);
        for state in ["up", "down"] {
            assert!(!patience.is_over(state));
        }
        advance(STEP).await;
        assert!(!patience.is_over("up"));
        advance(STEP).await;
        assert!(patience.is_over("down"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_state_that_keeps_changing_ends_the_wait() {
        let mut patience = Patience::new(LIMIT);
        let mut tries = 0;
        while !patience.is_over(&format!("try {tries}")) {
            advance(STEP).await;
            tries += 1;
        }
        assert_eq!(tries, 12);
    }
}
