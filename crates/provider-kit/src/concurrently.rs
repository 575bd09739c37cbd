//! Several calls at the same time.

use futures::{
    StreamExt,
    stream::{self, Buffered, Collect, Iter},
};
use std::vec::IntoIter;

/// How many run at the same time.
const LIMIT: usize = 8;

/// Makes calls at the same time, a few of them at once. Their answers come in order.
pub fn concurrently<F: Future>(
    calls: impl IntoIterator<Item = F>,
) -> Collect<Buffered<Iter<IntoIter<F>>>, Vec<F::Output>> {
    // Collected, so that the future does not hold the iterator: one of closures with references is not `Send`.
    let calls: Vec<F> = calls.into_iter().collect();
    stream::iter(calls).buffered(LIMIT).collect()
}
