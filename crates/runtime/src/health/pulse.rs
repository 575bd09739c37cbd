//! The pulse of a control loop, for health checks.

use parking_lot::Mutex;
use std::{collections::HashSet, sync::Arc, time::Duration};
use tokio::time::Instant;

/// Records since when a control loop has been in one piece of work, and since when it has been failing. Clones share it.
///
/// A loop that waits for its next turn or for work is healthy.
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
    /// The objects it fails at, if it works on one object at a time.
    at: HashSet<String>,
}

impl Pulse {
    /// A piece of work begins. An earlier one that has not ended continues to count.
    pub fn begin(&self) {
        self.0.lock().busy.get_or_insert_with(Instant::now);
    }

    /// A part of the work is done. A loop with progress is not stuck, however long the work takes.
    pub fn progress(&self) {
        if let Some(since) = &mut self.0.lock().busy {
            *since = Instant::now();
        }
    }

    /// The work succeeded.
    pub fn success(&self) {
        *self.0.lock() = State::default();
    }

    /// The work ended without an attempt: the result of the loop is unchanged.
    pub fn end(&self) {
        self.0.lock().busy = None;
    }

    /// The work failed for this reason.
    pub fn failure(&self, reason: impl Into<String>) {
        self.failure_at([], reason);
    }

    /// The work failed at these objects for this reason.
    pub fn failure_at(&self, objects: impl IntoIterator<Item = String>, reason: impl Into<String>) {
        let mut state = self.0.lock();
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

    /// An object needs no more work: it was deleted, or is correct. After the last object that failed, the loop is healthy again,
    /// even without an attempt.
    pub fn over(&self, object: &str) {
        let mut state = self.0.lock();
        if let Some(failing) = &mut state.failing
            && failing.at.remove(object)
            && failing.at.is_empty()
        {
            state.failing = None;
        }
    }

    /// Whether one piece of work takes longer than `limit`: then a restart may help.
    ///
    /// # Errors
    /// If it does, with the time.
    pub fn stuck(&self, limit: Duration) -> Result<(), String> {
        let busy = self.0.lock().busy.map(|since| since.elapsed());
        busy.filter(|time| *time > limit)
            .map_or(Ok(()), |time| Err(format!("stuck for {}s", time.as_secs())))
    }

    /// Whether it has been failing for longer than `limit`. A single failure does not count, because the next turn of the loop may
    /// be minutes later.
    ///
    /// # Errors
    /// If it has, with the time and the reason.
    pub fn failing(&self, limit: Duration) -> Result<(), String> {
        match &self.0.lock().failing {
            Some(Failing {
                since, times, reason, ..
            }) if *times > 1 && since.elapsed() > limit => {
                Err(format!("failing for {}s: {reason}", since.elapsed().as_secs()))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    const LIMIT: Duration = Duration::from_mins(1);
    const LONG: Duration = Duration::from_secs(61);

    #[tokio::test(start_paused = true)]
    async fn an_idle_loop_is_healthy() {
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
    async fn work_with_progress_is_not_stuck() {
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
        assert_eq!(pulse.stuck(LIMIT), Ok(()), "there was no work in progress");
    }

    #[tokio::test(start_paused = true)]
    async fn failing_counts_from_the_first_failure_and_ends_with_a_success() {
        let pulse = Pulse::default();
        pulse.failure("a");
        advance(LONG).await;
        assert_eq!(pulse.failing(LIMIT), Ok(()), "there was no second turn yet");
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
        assert!(pulse.failing(LIMIT).is_err(), "the failure had no object");
    }
}
