//! The pulse of what must keep going.

use std::{
    fmt::Display,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The pulse of a loop that must succeed once in a while: its check fails when it has not for longer than its limit.
/// Clones share it.
#[derive(Debug, Clone)]
pub struct Beat {
    limit: Duration,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// When it last succeeded or was started; `None` while nothing is expected of it.
    since: Option<Instant>,
    /// Why it last failed, since then.
    failure: Option<String>,
}

impl Beat {
    /// A pulse that must be heard within `limit` from now, and from then on within `limit` of the last time.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self {
            limit,
            state: Arc::new(Mutex::new(State {
                since: Some(Instant::now()),
                failure: None,
            })),
        }
    }

    /// The loop has just succeeded.
    pub fn success(&self) {
        *self.lock() = State {
            since: Some(Instant::now()),
            failure: None,
        };
    }

    /// The loop has just failed. That alone is no reason to fail the check, but will be part of it.
    pub fn failure(&self, reason: impl Display) {
        self.lock().failure = Some(reason.to_string());
    }

    /// The loop has nothing to do; nothing is expected of it until [`Beat::expect`] or its next success.
    pub fn rest(&self) {
        *self.lock() = State {
            since: None,
            failure: None,
        };
    }

    /// The loop has something to do again; the limit runs from now, if it was not running already.
    pub fn expect(&self) {
        self.lock().since.get_or_insert_with(Instant::now);
    }

    /// Whether it has been heard in time, and if not, how long ago and why.
    ///
    /// # Errors
    /// If it has not.
    pub fn check(&self) -> Result<(), String> {
        let state = self.lock();
        let Some(silence) = state
            .since
            .map(|since| since.elapsed())
            .filter(|silence| *silence > self.limit)
        else {
            return Ok(());
        };
        let (silence, limit) = (silence.as_secs_f64(), self.limit.as_secs_f64());
        let why = state
            .failure
            .as_ref()
            .map(|failure| format!(": {failure}"))
            .unwrap_or_default();
        Err(format!("no success for {silence:.0}s, which may take {limit:.0}s{why}"))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A check that fails when the oldest piece of work is older than `limit`: a queue whose workers are stuck.
pub fn stuck(
    limit: Duration,
    age: impl Fn() -> Duration + Send + Sync,
) -> impl Fn() -> Result<(), String> + Send + Sync {
    move || match age() {
        age if age <= limit => Ok(()),
        age => {
            let (age, limit) = (age.as_secs_f64(), limit.as_secs_f64());
            Err(format!(
                "the oldest piece of work is {age:.0}s old, which may take {limit:.0}s"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    const LIMIT: Duration = Duration::from_mins(1);

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_does_not_succeed_in_time_is_red_until_it_does() {
        let beat = Beat::new(LIMIT);
        advance(LIMIT).await;
        assert_eq!(beat.check(), Ok(()));
        beat.failure("cloud said 503");
        advance(Duration::from_secs(5)).await;
        assert_eq!(
            beat.check(),
            Err("no success for 65s, which may take 60s: cloud said 503".into())
        );
        beat.clone().success();
        assert_eq!(beat.check(), Ok(()));
        advance(Duration::from_secs(61)).await;
        assert_eq!(beat.check(), Err("no success for 61s, which may take 60s".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_expected_of_a_loop_at_rest() {
        let beat = Beat::new(LIMIT);
        beat.rest();
        advance(LIMIT * 10).await;
        assert_eq!(beat.check(), Ok(()));
        beat.expect();
        advance(LIMIT).await;
        beat.expect();
        assert_eq!(beat.check(), Ok(()));
        advance(Duration::from_secs(1)).await;
        assert!(beat.check().is_err(), "expecting twice must not move the limit");
    }

    #[test]
    fn a_queue_is_stuck_when_its_oldest_work_is_too_old() {
        assert_eq!(stuck(LIMIT, || LIMIT)(), Ok(()));
        let message = "the oldest piece of work is 61s old, which may take 60s";
        assert_eq!(stuck(LIMIT, || Duration::from_secs(61))(), Err(message.into()));
    }
}
