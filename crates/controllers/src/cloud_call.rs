//! Calls to the cloud: each has a deadline.

use cloud::{Error, Result};
use std::{future::Future, time::Duration};

/// Waits for the answer to a call, at most until the deadline.
pub(crate) async fn single<T>(call: &str, deadline: Duration, answer: impl Future<Output = Result<T>>) -> Result<T> {
    let answer = tokio::time::timeout(deadline, answer).await;
    answer.unwrap_or_else(|_| Err(Error::unavailable(call, format!("no answer within {deadline:?}"))))
}

/// Waits for the answers to a call about `count` objects: one for each, in the same order.
///
/// A cloud that does not answer in time, or gives fewer or more answers than there are objects, has not answered: every
/// result is then an error, never a success or a missing object.
pub(crate) async fn batch<T>(
    call: &str,
    count: usize,
    deadline: Duration,
    answers: impl Future<Output = Vec<Result<T>>>,
) -> Vec<Result<T>> {
    let all_failed = |reason: &str| (0..count).map(|_| Err(Error::unavailable(call, reason))).collect();
    match tokio::time::timeout(deadline, answers).await {
        Ok(answers) if answers.len() == count => answers,
        Ok(answers) => all_failed(&format!("{} answers for {count} objects", answers.len())),
        Err(_) => all_failed(&format!("no answer within {deadline:?}")),
    }
}
