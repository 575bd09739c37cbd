//! When something is tried again that others say when to try.

use runtime::queue::Next;
use std::time::Duration;

/// However soon a server wants to be asked again, it is not asked sooner.
const SOONEST: Duration = Duration::from_secs(1);

/// After this long, as a server wishes.
pub fn after(wait: Duration) -> Next {
    Next::After(wait.max(SOONEST))
}
