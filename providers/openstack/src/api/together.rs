//! Several calls at the same time.

use futures::{StreamExt, stream};

/// How many run at the same time.
const CONCURRENT: usize = 8;

/// Makes several calls at the same time, but not too many, and gives their answers in order.
pub async fn together<F: Future>(calls: Vec<F>) -> Vec<F::Output> {
    stream::iter(calls).buffered(CONCURRENT).collect().await
}
