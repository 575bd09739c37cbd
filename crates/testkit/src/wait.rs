//! Waiting for a condition instead of sleeping.

use lab::Patience;
use std::{future::Future, time::Duration};

/// The longest time without progress: long enough for a busy machine, and far too long for a healthy program.
pub const STALLED_AFTER: Duration = Duration::from_mins(4);

/// How long to pause before the next look, for one who has waited so long: looks cost time that others wait for.
#[must_use]
pub fn pause(waited: Duration) -> Duration {
    (waited / 5).clamp(Duration::from_millis(15), Duration::from_millis(100))
}

/// Waits until `look` answers `Ok`, and returns that.
///
/// # Panics
/// If its `Err` does not change for [`STALLED_AFTER`]: `what` was waited for in vain, and the last `Err` says how things stood.
pub async fn until<T, E, F, R>(what: &str, mut look: F) -> T
where
    F: FnMut() -> R,
    R: Future<Output = Result<T, E>>,
    E: std::fmt::Display,
{
    let mut patience = Patience::new(STALLED_AFTER);
    loop {
        let state = match look().await {
            Ok(value) => return value,
            Err(state) => state.to_string(),
        };
        if patience.is_over(&state) {
            give_up(what, &state);
        }
        tokio::time::sleep(pause(patience.waited())).await;
    }
}

#[expect(clippy::panic, reason = "this is how a test fails")]
fn give_up(what: &str, state: &str) -> ! {
    panic!("waited in vain for {what}: {state}");
}
