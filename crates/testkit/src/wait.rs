//! Waiting for a condition instead of sleeping.

use lab::Patience;
use std::{future::Future, time::Duration};

/// The longest time without progress: long enough for a busy machine, and far too long for a healthy program.
pub const STALLED_AFTER: Duration = Duration::from_mins(4);

/// The pause before the next check after this wait: checks cost time on a busy machine.
#[must_use]
pub fn pause(waited: Duration) -> Duration {
    (waited / 5).clamp(Duration::from_millis(15), Duration::from_millis(100))
}

/// Waits until `check` returns `Ok`, and returns its value.
///
/// # Panics
/// If its `Err` does not change for [`STALLED_AFTER`]; the message contains `what` and the last `Err`.
pub async fn until<T, E, F, R>(what: &str, mut check: F) -> T
where
    F: FnMut() -> R,
    R: Future<Output = Result<T, E>>,
    E: std::fmt::Display,
{
    let mut patience = Patience::new(STALLED_AFTER);
    loop {
        let state = match check().await {
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
    panic!("gave up waiting for {what}: {state}");
}
