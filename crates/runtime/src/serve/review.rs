//! Asking the API server: `TokenReview` and `SubjectAccessReview`.

use super::metrics::Timed;
use crate::client::explain;
use kube::{Api, Client, Resource, api::PostParams};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    error::Error as _,
    fmt::Debug,
    io,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};

/// How long an answer may take, with all tries.
const TIMEOUT: Duration = Duration::from_secs(10);
const TRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(500);
const FACTOR: f64 = 1.5;
const JITTER: f64 = 0.2;
/// How many may be asked for at once; each needs a connection to the API server.
const AT_ONCE: usize = 16;

/// Has reviews of one kind made by the API server.
pub(super) struct Reviewer {
    client: Client,
    requests: Timed,
    permits: Semaphore,
    /// What goes wrong as long as we may not.
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

    /// Has a review made; the error is in words.
    pub(super) async fn review<K>(&self, review: &K) -> Result<K, String>
    where
        K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Debug,
    {
        let reviewed = timeout(TIMEOUT, self.insist(review)).await;
        reviewed.unwrap_or_else(|_| Err(format!("no answer from the API server within {}s", TIMEOUT.as_secs())))
    }

    async fn insist<K>(&self, review: &K) -> Result<K, String>
    where
        K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Debug,
    {
        let _permit = self.permits.acquire().await.map_err(|closed| closed.to_string())?;
        let api = Api::<K>::all(self.client.clone());
        let mut wait = FIRST_WAIT;
        for _ in 1..TRIES {
            match self.attempt(&api, review).await {
                Err(error) if is_transient(&error) => sleep(wait.mul_f64(1.0 + fastrand::f64() * JITTER)).await,
                done => return done.map_err(|error| explain(&error)),
            }
            wait = wait.mul_f64(FACTOR);
        }
        self.attempt(&api, review).await.map_err(|error| explain(&error))
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
        self.notice_refusal::<K>(&answer);
        answer
    }

    /// Says once what is missing, and once more if it goes missing again.
    fn notice_refusal<K: Resource<DynamicType = ()>>(&self, answer: &kube::Result<K>) {
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

/// Whether trying again may help: the API server says so, or it went away in the middle.
fn is_transient(error: &kube::Error) -> bool {
    if let kube::Error::Api(status) = error {
        return matches!(status.code, 429 | 500 | 503 | 504);
    }
    let mut source = error.source();
    while let Some(reason) = source {
        let broke = reason.downcast_ref::<io::Error>().is_some_and(|error| {
            use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
            matches!(
                error.kind(),
                BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
            )
        });
        let cut_off = reason
            .downcast_ref::<hyper::Error>()
            .is_some_and(hyper::Error::is_incomplete_message);
        if broke || cut_off {
            return true;
        }
        source = reason.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn says(code: u16) -> kube::Error {
        kube::Error::Api(Box::new(kube::core::Status {
            code,
            ..kube::core::Status::default()
        }))
    }

    fn breaks(kind: io::ErrorKind) -> kube::Error {
        kube::Error::Service(Box::new(io::Error::from(kind)))
    }

    #[rstest]
    #[case::too_many(says(429), true)]
    #[case::internal(says(500), true)]
    #[case::unavailable(says(503), true)]
    #[case::timed_out(says(504), true)]
    #[case::bad_token(says(401), false)]
    #[case::forbidden(says(403), false)]
    #[case::reset(breaks(io::ErrorKind::ConnectionReset), true)]
    #[case::refused(breaks(io::ErrorKind::ConnectionRefused), false)]
    fn tries_again(#[case] error: kube::Error, #[case] expected: bool) {
        assert_eq!(is_transient(&error), expected);
    }
}
