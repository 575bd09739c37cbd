//! The Lease object on the API server. It is kept as JSON, so that unknown fields are not lost.

use super::{params::Params, record::new_lease};
use crate::client::explain;
use futures::{Stream, StreamExt};
use kube::{
    Client,
    api::{GetParams, PostParams, WatchParams},
    core::{Request, WatchEvent},
};
use serde_json::Value;
use std::{fmt, time::Duration};
use tokio::time::Instant;

/// How long the API server keeps a watch open.
pub(super) const WATCH: Duration = Duration::from_mins(2);

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The Lease was changed in between.
    #[error("the lease was changed by another replica at the same moment")]
    Conflict,
    /// Not allowed.
    #[error("{0}")]
    Forbidden(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
    /// The request timed out.
    #[error("the API server did not answer within {0:?}")]
    Silent(Duration),
    /// The deadline was over before the request could be sent.
    #[error("too late")]
    TooLate,
}

/// The required consistency of a read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Freshness {
    /// The current object.
    Latest,
    /// From the cache of the API server: cheap, and nearly always current.
    Cached,
}

/// The deadline of a request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limit {
    /// The timeout of every request.
    Usual,
    /// The timeout of every request, and this deadline.
    Until(Instant),
}

/// Reads and writes one Lease.
#[derive(Clone)]
pub(super) struct Store {
    client: Client,
    requests: Request,
    namespace: String,
    name: String,
    timeout: Duration,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({}/{})", self.namespace, self.name)
    }
}

impl Store {
    pub(super) fn new(client: Client, params: &Params) -> Self {
        let Params { namespace, name, .. } = params;
        Self {
            client,
            requests: Request::new(format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")),
            namespace: namespace.clone(),
            name: name.clone(),
            timeout: params.request_timeout(),
        }
    }

    /// The Lease, or a blank one to create.
    pub(super) fn blank(&self) -> Value {
        new_lease(&self.namespace, &self.name)
    }

    pub(super) async fn find(&self, freshness: Freshness, limit: Limit) -> Result<Option<Value>, Error> {
        let params = match freshness {
            Freshness::Latest => GetParams::default(),
            Freshness::Cached => GetParams::any(),
        };
        let answer = self.send(self.requests.get(&self.name, &params), limit).await;
        match answer {
            Err(Answer::Missing) => Ok(None),
            other => other.map(Some).map_err(Error::from),
        }
    }

    pub(super) async fn create(&self, lease: &Value, limit: Limit) -> Result<Value, Error> {
        let request = self
            .requests
            .create(&PostParams::default(), lease.to_string().into_bytes());
        match self.send(request, limit).await {
            Err(Answer::Missing) => Err(Error::Failed(format!("namespace {:?} does not exist", self.namespace))),
            other => other.map_err(Error::from),
        }
    }

    /// Writes it, if it was not changed since it was read.
    pub(super) async fn update(&self, lease: &Value, limit: Limit) -> Result<Value, Error> {
        let request = self
            .requests
            .replace(&self.name, &PostParams::default(), lease.to_string().into_bytes());
        match self.send(request, limit).await {
            Err(Answer::Missing) => Err(Error::Conflict),
            other => other.map_err(Error::from),
        }
    }

    /// The current Lease and every later change. Needs the verb `watch` only.
    pub(super) async fn watch(
        &self,
    ) -> Result<impl Stream<Item = Result<WatchEvent<Value>, Error>> + Send + use<>, Error> {
        let seconds = u32::try_from(WATCH.as_secs()).unwrap_or_default();
        let params = WatchParams::default()
            .fields(&format!("metadata.name={}", self.name))
            .timeout(seconds);
        let request = self
            .requests
            .watch(&params, "0")
            .map_err(|error| Error::Failed(error.to_string()))?;
        let events = tokio::time::timeout(self.timeout, self.client.request_events(request)).await;
        let events = events
            .map_err(|_| Error::Silent(self.timeout))?
            .map_err(|error| Error::from(Answer::from(error)))?;
        Ok(events.map(|event| event.map_err(|error| Error::from(Answer::from(error)))))
    }

    async fn send(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
        limit: Limit,
    ) -> Result<Value, Answer> {
        let request = request.map_err(|error| Answer::Other(Error::Failed(error.to_string())))?;
        let now = Instant::now();
        let usual = now + self.timeout;
        let end = match limit {
            Limit::Usual => usual,
            Limit::Until(end) if end <= now => return Err(Answer::Other(Error::TooLate)),
            Limit::Until(end) => usual.min(end),
        };
        tokio::select! {
            // First, so that a process that was suspended for long does not send a request after its deadline.
            biased;
            () = tokio::time::sleep_until(end) => Err(Answer::Other(Error::Silent(end - now))),
            answer = self.client.request(request) => answer.map_err(Answer::from),
        }
    }
}

/// A negative response of the API server.
enum Answer {
    Missing,
    Other(Error),
}

impl From<Answer> for Error {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Missing => Self::Failed("the lease does not exist".into()),
            Answer::Other(error) => error,
        }
    }
}

impl From<kube::Error> for Answer {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 404 => Self::Missing,
            kube::Error::Api(status) if status.code == 409 => Self::Other(Error::Conflict),
            kube::Error::Api(status) if status.code == 403 => {
                Self::Other(Error::Forbidden(explain(&kube::Error::Api(status))))
            }
            other => Self::Other(Error::Failed(explain(&other))),
        }
    }
}
