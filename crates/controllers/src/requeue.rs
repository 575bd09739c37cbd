//! When the queue hands out a key again after a failure.

use cloud::Retry;
use runtime::queue::Next;
use std::time::Duration;

/// A cloud or an API server is not called again sooner than this, whatever it asks for.
const MIN_WAIT: Duration = Duration::from_secs(1);

/// The next attempt after a failure; `never` if the same attempt would fail again.
pub(crate) fn after(retry: Retry, never: Next) -> Next {
    match retry {
        Retry::Never => never,
        Retry::After(wait) => Next::After(wait.max(MIN_WAIT)),
        Retry::Backoff => Next::Retry,
    }
}
