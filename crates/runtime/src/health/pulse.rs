//! The pulse of a loop: a check that means something asks it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Remembers since when a loop has been at one piece of work, and since when it has been failing. Clones share it.
///
/// A loop that waits for its next turn, or for something to do, is well.
#[derive(Debug, Clone, Default)]
pub struct Pulse(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    busy: Option<Instant>,
    failing: Option<Failing>,
}

#[derive(Debug)]
struct Failing {
    since: Instant,
    times: u32,
    reason: String,
}

impl Pulse {
    /// Says that a piece of work begins. What began before and has not ended counts on.
    pub fn begin(&self) {
        self.lock().busy.get_or_insert_with(Instant::now);
    }

    /// Says that it ended well.
    pub fn success(&self) {
        *self.lock() = State::default();
    }

    /// Says that it ended without anything tried: whether the loop succeeds is as unknown as before.
    pub fn end(&self) {
        self.lock().busy = None;
    }

    /// Says that it failed, and why.
    pub fn failure(&self, reason: impl Into<String>) {
        let mut state = self.lock();
        state.busy = None;
        let (since, before) = state
            .failing
            .as_ref()
            .map_or_else(|| (Instant::now(), 0), |failing| (failing.since, failing.times));
        state.failing = Some(Failing {
            since,
            times: before.saturating_add(1),
            reason: reason.into(),
        });
    }

    /// Whether it has been at one piece of work for longer than `limit`: then a restart may help.
    ///
    /// # Errors
    /// If it has; the text says for how long.
    pub fn stuck(&self, limit: Duration) -> Result<(), String> {
        let busy = self.lock().busy.map(|since| since.elapsed());
        busy.filter(|time| *time > limit)
            .map_or(Ok(()), |time| Err(format!("stuck for {}s", time.as_secs())))
    }

    /// Whether it has been failing for longer than `limit`. One failure does not count: of a loop that takes its next
    /// turn in minutes it says nothing.
    ///
    /// # Errors
    /// If it has; the text says for how long, and why.
    pub fn failing(&self, limit: Duration) -> Result<(), String> {
        match &self.lock().failing {
            Some(Failing { since, times, reason }) if *times > 1 && since.elapsed() > limit => {
                Err(format!("failing for {}s: {reason}", since.elapsed().as_secs()))
            }
            _ => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    const LIMIT: Duration = Duration::from_mins(1);
    const LONG: Duration = Duration::from_secs(61);

    #[tokio::test(start_paused = true)]
    async fn an_idle_loop_is_well() {
        let pulse = Pulse::default();
        pulse.begin();
        pulse.success();
        advance(LONG).await;
        assert_eq!(pulse.stuck(LIMIT), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_does_not_end_is_stuck() {
        let pulse = Pulse::default();
        pulse.begin();
        advance(LIMIT).await;
        assert_eq!(pulse.clone().stuck(LIMIT), Ok(()));
        pulse.begin();
        advance(Duration::from_secs(1)).await;
        assert_eq!(pulse.stuck(LIMIT), Err("stuck for 61s".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn failing_counts_from_the_first_failure_and_ends_with_a_success() {
        let pulse = Pulse::default();
        pulse.failure("a");
        advance(LONG).await;
        assert_eq!(pulse.failing(LIMIT), Ok(()), "it has had no second turn yet");
        pulse.begin();
        pulse.failure("b");
        assert_eq!(pulse.failing(LIMIT), Err("failing for 61s: b".into()));
        pulse.success();
        assert_eq!(pulse.failing(LIMIT), Ok(()));
    }
}
