//! What a cloud answers to many questions at once.

use cloud::{Error, Result};
use std::{future::Future, time::Duration};

/// Waits for the answers of a call, but not for ever: one a question, in the same order.
///
/// A cloud that does not answer in time, or says less or more than it was asked, has not answered: that is an error, and
/// never a success or a thing that is missing.
pub(crate) async fn in_time<T>(
    call: &str,
    questions: usize,
    deadline: Duration,
    answers: impl Future<Output = Vec<Result<T>>>,
) -> Vec<Result<T>> {
    let nonsense = |what: &str| Err(Error::unavailable(call, what));
    let mut answers = match tokio::time::timeout(deadline, answers).await {
        Ok(answers) if answers.len() <= questions => answers,
        Ok(_) => (0..questions)
            .map(|_| nonsense("more answers than questions"))
            .collect(),
        Err(_) => (0..questions).map(|_| nonsense("no answer in time")).collect(),
    };
    answers.resize_with(questions, || nonsense("fewer answers than questions"));
    answers
}
