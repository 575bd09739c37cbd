//! Workers: they process the keys of a queue, and add again those that need a retry.

use super::{Claim, Key, Queue};
use futures::FutureExt;
use std::{future::Future, num::NonZeroUsize, panic::AssertUnwindSafe, time::Duration};
use tokio::task::JoinSet;

/// What happens to a key after it was processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Success: reset its failures.
    Done,
    /// Success so far: reset its failures and process it again after this time.
    Poll(Duration),
    /// Process it again after exactly this time; its failures are neither counted nor reset.
    After(Duration),
    /// Failure: retry with back-off.
    Retry,
}

/// Works on the keys of a queue, at most `limit` at a time, until the queue is stopped and empty.
///
/// A panic in `handle` is logged and counts as a failure of its key; the others continue.
pub async fn work<K, F, R>(queue: Queue<K>, limit: NonZeroUsize, handle: F)
where
    K: Key,
    F: Fn(K) -> R,
    R: Future<Output = Next> + Send + 'static,
{
    let mut running = JoinSet::new();
    loop {
        while running.len() >= limit.get() {
            running.join_next().await;
        }
        tokio::select! {
            claim = queue.next() => match claim {
                Some(claim) => { running.spawn(settle(handle((*claim).clone()), claim)); }
                None => break,
            },
            Some(_) = running.join_next(), if !running.is_empty() => {}
        }
    }
    while running.join_next().await.is_some() {}
}

async fn settle<K: Key>(work: impl Future<Output = Next>, claim: Claim<K>) {
    let next = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(queue = claim.queue.name(), key = ?*claim, "a worker panicked");
        Next::Retry
    });
    claim.settle(next);
}
