//! The pulse of a loop: a check that means something asks it.

use std::{
    collections::HashSet,
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
    /// The objects it fails at, where it works on one at a time.
    at: HashSet<String>,
}

impl Pulse {
    /// Says that a piece of work begins. What began before and has not ended counts on.
    pub fn begin(&self) {
        self.lock().busy.get_or_insert_with(Instant::now);
    }

    /// Says that a part of it is done. However long all of it takes, a loop that moves is not stuck.
    pub fn progress(&self) {
        if let Some(since) = &mut self.lock().busy {
            *since = Instant::now();
        }
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
        self.failure_at([], reason);
    }

    /// Says that it failed at these objects, and why.
    pub fn failure_at(&self, objects: impl IntoIterator<Item = String>, reason: impl Into<String>) {
        let mut state = self.lock();
        state.busy = None;
        let failing = state.failing.get_or_insert_with(|| Failing {
            since: Instant::now(),
            times: 0,
            reason: String::new(),
            at: HashSet::new(),
        });
        failing.times = failing.times.saturating_add(1);
        failing.reason = reason.into();
        failing.at.extend(objects);
    }

    /// Says that nothing is left to do about an object: it is gone, or was found in order. With the last one that it failed
    /// at it is well again, though nothing was tried.
    pub fn over(&self, object: &str) {
        let mut state = self.lock();
        if let Some(failing) = &mut state.failing
            && failing.at.remove(object)
            && failing.at.is_empty()
        {
            state.failing = None;
        }
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
            Some(Failing {
                since, times, reason, ..
            }) if *times > 1 && since.elapsed() > limit => {
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
    async fn work_that_moves_is_not_stuck_however_long_it_takes() {
        let pulse = Pulse::default();
        pulse.begin();
        advance(LIMIT).await;
        pulse.progress();
        advance(LIMIT).await;
        assert_eq!(pulse.stuck(LIMIT), Ok(()));
        advance(Duration::from_secs(1)).await;
        assert_eq!(pulse.stuck(LIMIT), Err("stuck for 61s".into()));
        pulse.success();
        pulse.progress();
        advance(LONG).await;
        assert_eq!(pulse.stuck(LIMIT), Ok(()), "nothing was going on that could move");
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

    #[tokio::test(start_paused = true)]
    async fn failing_ends_with_the_last_object_that_fails() {
        let pulse = Pulse::default();
        pulse.failure_at(["a".to_owned()], "no");
        pulse.failure_at(["b".to_owned()], "no");
        advance(LONG).await;
        for (object, still_failing) in [("c", true), ("a", true), ("b", false)] {
            pulse.over(object);
            assert_eq!(pulse.failing(LIMIT).is_err(), still_failing, "after {object}");
        }
        pulse.failure("a");
        pulse.failure("a");
        advance(LONG).await;
        pulse.over("a");
        assert!(pulse.failing(LIMIT).is_err(), "what failed was no object");
    }
}
