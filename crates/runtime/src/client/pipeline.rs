//! The steps of a request between a controller and the connection: rate limit, fence, timeout, metrics, retries.

use super::{
    answer::{Answer, Deadline, Incoming},
    bearer::Bearer,
    failure::{Failure, is_lost},
    limit::{Gate, Pass},
    metrics::{Attempt, Metrics, Observation},
    outgoing::Outgoing,
    retry::{self, Outcome},
    transport::Transport,
    verb::Verb,
};
use crate::fence::Fence;
use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture};
use http::{
    HeaderValue, Request, Response, StatusCode,
    header::{AUTHORIZATION, USER_AGENT},
};
use http_body::Body as _;
use http_body_util::BodyExt;
use kube::client::Body;
use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;
use tower::{BoxError, Service, ServiceExt};

/// Whether requests are retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retries {
    On,
    Off,
}

/// The settings of one client.
pub(super) struct Policy {
    pub(super) transport: Transport,
    pub(super) bearer: Bearer,
    pub(super) user_agent: HeaderValue,
    /// The server, for messages.
    pub(super) address: Arc<str>,
    /// The server, for the metrics.
    pub(super) host: Arc<str>,
    pub(super) gate: Gate,
    pub(super) fence: Fence,
    pub(super) retries: Retries,
    /// The timeout of a request after the rate limit; a watch must only begin within it.
    pub(super) timeout: Duration,
    pub(super) metrics: Option<Metrics>,
}

/// The service that a client sends its requests to. Clones share it.
#[derive(Clone)]
pub(super) struct Pipeline(Arc<Policy>);

impl Pipeline {
    pub(super) fn new(policy: Policy) -> Self {
        Self(Arc::new(policy))
    }
}

impl Service<Request<Body>> for Pipeline {
    type Response = Response<Answer>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    /// Always ready: each request waits by itself, so that no watch is queued behind writes.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let policy = self.0.clone();
        async move { policy.run(request).await }.boxed()
    }
}

impl Policy {
    async fn run(&self, mut request: Request<Body>) -> Result<Response<Answer>, BoxError> {
        let verb = Verb::of(request.method(), request.uri());
        request.headers_mut().insert(USER_AGENT, self.user_agent.clone());
        let observation = Observation::start(self.metrics.clone(), verb, self.host.clone());
        let mut pass = self.enter(verb, &observation).await;
        let deadline = Deadline {
            at: Instant::now() + self.timeout,
            after: self.timeout,
            address: self.address.clone(),
        };
        let mut history = History::default();
        loop {
            let again = copy(&request);
            let sent = Instant::now();
            let result = self.attempt(verb, request, &deadline, &history, &observation).await;
            let wait = self.wait(verb, outcome(&result), sent, &deadline, &mut history).await;
            let (Some(wait), Some(next)) = (wait, again) else {
                let deadline = (verb != Verb::Watch).then_some(deadline);
                return Ok(result?.map(|body| Answer::new(body, deadline, observation, pass)));
            };
            drain(result).await;
            // A request that waits must not occupy a slot of the limit.
            drop(pass);
            tokio::time::sleep(wait).await;
            pass = self.enter(verb, &observation).await;
            request = next;
        }
    }

    /// How long to wait before a retry; `None` if this outcome is final.
    async fn wait(
        &self,
        verb: Verb,
        outcome: Outcome,
        sent: Instant,
        deadline: &Deadline,
        history: &mut History,
    ) -> Option<Duration> {
        history.attempt = Attempt::Repeated;
        if let (Outcome::Status(StatusCode::UNAUTHORIZED, _), Renewal::Possible) = (outcome, history.renewal) {
            history.renewal = Renewal::Done;
            return self.renew(sent).await.then_some(Duration::ZERO);
        }
        if self.retries == Retries::Off {
            return None;
        }
        history.failures += 1;
        let left = deadline.at.saturating_duration_since(Instant::now());
        retry::next(verb, history.failures, outcome).filter(|wait| *wait < left)
    }

    /// Waits for the rate limit; a watch is not limited.
    async fn enter(&self, verb: Verb, observation: &Observation) -> Option<Pass> {
        if verb == Verb::Watch {
            return None;
        }
        let (pass, waited) = self.gate.enter().await;
        if let Some(waited) = waited {
            observation.waited(waited);
        }
        Some(pass)
    }

    async fn attempt(
        &self,
        verb: Verb,
        mut request: Request<Body>,
        deadline: &Deadline,
        history: &History,
        observation: &Observation,
    ) -> Result<Response<Incoming>, BoxError> {
        let no_credentials = |source| Failure::Credentials {
            address: self.address.clone(),
            source,
        };
        let bearer = tokio::time::timeout_at(deadline.at, self.bearer.header()).await;
        if let Some(header) = bearer.map_err(|_| deadline.missed())?.map_err(no_credentials)? {
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        let request = if verb.writes() {
            self.fence.check().map_err(Failure::Fenced)?;
            request.map(|body| Outgoing::writing(body, self.fence.clone()))
        } else {
            request.map(Outgoing::reading)
        };
        observation.sent(request.body().size_hint().exact());
        let exchange = async { self.transport.exchange().await.oneshot(request).await };
        let result = match tokio::time::timeout_at(deadline.at, exchange).await {
            Ok(result) => result.map_err(|error| Failure::classify(error, &self.address)),
            Err(_) => Err(deadline.missed().into()),
        };
        observation.answered(history.attempt, result.as_ref().ok().map(Response::status));
        result
    }

    /// Whether there are newer credentials than those sent at that time.
    async fn renew(&self, sent: Instant) -> bool {
        match &self.bearer {
            Bearer::None => self.transport.renew(sent).await,
            bearer => bearer.rejected(sent),
        }
    }
}

/// The previous attempts of a request.
#[derive(Default)]
struct History {
    attempt: Attempt,
    failures: u32,
    renewal: Renewal,
}

/// Whether a request may still be retried with new credentials.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Renewal {
    #[default]
    Possible,
    Done,
}

fn outcome(result: &Result<Response<Incoming>, BoxError>) -> Outcome {
    match result {
        Ok(response) => Outcome::of(response.status(), response.headers()),
        Err(error) if matches!(error.downcast_ref(), Some(Failure::Lost { .. })) && is_lost(&**error) => Outcome::Lost,
        Err(_) => Outcome::Failed,
    }
}

/// Reads the rest of an unused response, so that its connection can be reused; up to a limit.
async fn drain(result: Result<Response<Incoming>, BoxError>) {
    let Ok(mut response) = result else { return };
    let rest = async {
        let mut size = 0;
        while let (0..2048, Some(Ok(frame))) = (size, response.body_mut().frame().await) {
            size += frame.data_ref().map_or(0, Bytes::len);
        }
    };
    let _ = tokio::time::timeout(Duration::from_millis(100), rest).await;
}

/// A copy of the request, if its body can be sent twice.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let body = request.body().try_clone()?;
    let mut copy = Request::new(body);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    copy.headers_mut().clone_from(request.headers());
    copy.extensions_mut().clone_from(request.extensions());
    Some(copy)
}

#[cfg(test)]
mod tests;
