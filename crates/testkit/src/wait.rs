//! Waiting for a condition instead of sleeping.

use std::{future::Future, time::Duration};

/// Long enough for a busy machine, and far too long for a healthy test.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long to pause before the next look, for one who has waited so long: looks cost time that others wait for.
#[must_use]
pub fn pause(waited: Duration) -> Duration {
    (waited / 5).clamp(Duration::from_millis(15), Duration::from_millis(100))
}

/// Waits until `look` answers `Ok`, and returns that.
///
/// # Panics
/// If it does not within a minute: `what` was waited for in vain, and the last `Err` says how things stood.
pub async fn until<T, E, F, R>(what: &str, mut look: F) -> T
where
    F: FnMut() -> R,
    R: Future<Output = Result<T, E>>,
    E: std::fmt::Display,
{
    let started = tokio::time::Instant::now();
    loop {
        match look().await {
            Ok(value) => return value,
            Err(state) if started.elapsed() > PATIENCE => give_up(what, &state.to_string()),
            Err(_) => tokio::time::sleep(pause(started.elapsed())).await,
        }
    }
}

#[expect(clippy::panic, reason = "this is how a test fails")]
fn give_up(what: &str, state: &str) -> ! {
    panic!("waited in vain for {what}: {state}");
}
