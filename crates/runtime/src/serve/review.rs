//! Reviews by the API server: `TokenReview` and `SubjectAccessReview`.

use super::metrics::Timed;
use crate::client::{explain, is_lost};
use kube::{Api, Client, Resource, api::PostParams};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    fmt::Debug,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};

/// The maximum time of a review, with all retries.
const TIMEOUT: Duration = Duration::from_secs(10);
const TRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(500);
const FACTOR: f64 = 1.5;
const JITTER: f64 = 0.2;
/// The maximum number of concurrent reviews; each needs a connection to the API server.
const AT_ONCE: usize = 16;

/// Why there is no review. It can be given to several callers.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Error {
    /// The API server did not answer in time.
    #[error("no response from the API server within {}s", TIMEOUT.as_secs())]
    Timeout,
    /// The API server reported an error, or the request failed.
    #[error("{0}")]
    Failed(String),
    /// The task of the review panicked.
    #[error("the review failed")]
    Panicked,
}

/// Requests reviews of one kind.
pub(super) struct Reviewer {
    client: Client,
    requests: Timed,
    permits: Semaphore,
    /// The effect of a missing permission, for the log.
    consequence: &'static str,
    refused: AtomicBool,
}

impl Reviewer {
    pub(super) fn new(client: Client, requests: Timed, consequence: &'static str) -> Self {
        Self {
            client,
            requests,
            permits: Semaphore::new(AT_ONCE),
            consequence,
            refused: AtomicBool::new(false),
        }
    }

    /// Requests a review.
    pub(super) async fn review<K>(&self, review: &K) -> Result<K, Error>
    where
        K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Debug,
    {
        let reviewed = timeout(TIMEOUT, self.with_retries(review)).await;
        reviewed.unwrap_or(Err(Error::Timeout))
    }

    async fn with_retries<K>(&self, review: &K) -> Result<K, Error>
    where
        K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Debug,
    {
        let _permit = self
            .permits
            .acquire()
            .await
            .map_err(|closed| Error::Failed(closed.to_string()))?;
        let api = Api::<K>::all(self.client.clone());
        let mut wait = FIRST_WAIT;
        for _ in 1..TRIES {
            match self.attempt(&api, review).await {
                Err(error) if is_transient(&error) => sleep(wait.mul_f64(1.0 + fastrand::f64() * JITTER)).await,
                done => return done.map_err(|error| Error::Failed(explain(&error))),
            }
            wait = wait.mul_f64(FACTOR);
        }
        let done = self.attempt(&api, review).await;
        done.map_err(|error| Error::Failed(explain(&error)))
    }

    async fn attempt<K>(&self, api: &Api<K>, review: &K) -> kube::Result<K>
    where
        K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Debug,
    {
        let started = Instant::now();
        let answer = api.create(&PostParams::default(), review).await;
        let code = match &answer {
            Ok(_) => "201".to_owned(),
            Err(kube::Error::Api(status)) => status.code.to_string(),
            Err(_) => "<error>".to_owned(),
        };
        self.requests.observe(&[&code], started.elapsed());
        self.report_missing_permission::<K>(&answer);
        answer
    }

    /// Logs a missing permission once, and again after it was granted in between.
    fn report_missing_permission<K: Resource<DynamicType = ()>>(&self, answer: &kube::Result<K>) {
        let refused = matches!(answer, Err(kube::Error::Api(status)) if status.code == 403);
        if refused && !self.refused.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                verb = "create",
                resource = format!("{}.{}", K::plural(&()), K::group(&())),
                consequence = self.consequence,
                "missing permission; bind this identity to the ClusterRole system:auth-delegator"
            );
        } else if answer.is_ok() {
            self.refused.store(false, Ordering::Relaxed);
        }
    }
}

/// Whether a retry may succeed: the API server is overloaded, or the connection was lost.
fn is_transient(error: &kube::Error) -> bool {
    if let kube::Error::Api(status) = error {
        return matches!(status.code, 429 | 500 | 503 | 504);
    }
    is_lost(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::io;

    fn status(code: u16) -> kube::Error {
        kube::Error::Api(Box::new(kube::core::Status {
            code,
            ..kube::core::Status::default()
        }))
    }

    fn lost(kind: io::ErrorKind) -> kube::Error {
        kube::Error::Service(Box::new(io::Error::from(kind)))
    }

    #[rstest]
    #[case::too_many(status(429), true)]
    #[case::internal(status(500), true)]
    #[case::unavailable(status(503), true)]
    #[case::timed_out(status(504), true)]
    #[case::bad_token(status(401), false)]
    #[case::forbidden(status(403), false)]
    #[case::reset(lost(io::ErrorKind::ConnectionReset), true)]
    #[case::refused(lost(io::ErrorKind::ConnectionRefused), false)]
    fn retries(#[case] error: kube::Error, #[case] expected: bool) {
        assert_eq!(is_transient(&error), expected);
    }
}
