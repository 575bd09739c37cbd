//! One call: attempts until one succeeds, is refused for good, or time runs out.

use crate::{
    attempt::{Attempt, Outcome},
    auth::Generation,
    client::Client,
    failure::Failure,
    fault::{Fault, Reason},
    limit,
    request::{Idempotency, Request},
    response::Response,
    retry::{self, Cause},
};
use cloud::Error;
use http::{Method, header};
use reqwest::Url;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::debug;

/// How many redirects in a row are followed.
const HOPS: u32 = 5;

/// How a call ended without success.
pub(crate) enum End {
    /// The cloud refused it: only this can say that something is not there.
    Refused(Error),
    /// It did not come to the cloud's word: no connection, no login, no leader.
    Other(Error),
}

impl End {
    pub fn into_error(self) -> Error {
        let (Self::Refused(error) | Self::Other(error)) = self;
        error
    }

    /// Turns the cloud's word that there is nothing into `None`.
    pub fn found<T>(result: Result<T, Self>) -> cloud::Result<Option<T>> {
        match result {
            Ok(found) => Ok(Some(found)),
            Err(Self::Refused(Error::NotFound { .. })) => Ok(None),
            Err(end) => Err(end.into_error()),
        }
    }
}

/// Looks into an answer that came with a good status. A fault counts as a failed attempt.
pub(crate) type Check<'a> = &'a mut (dyn FnMut(&Response) -> Result<(), Fault> + Send);

/// Makes the call.
pub(crate) async fn run(client: &Client, request: &Request, check: Check<'_>) -> Result<Response, End> {
    let allowed = request.deadline.unwrap_or(client.shared.config.deadline);
    let deadline = limit::after(allowed);
    let call = Call {
        client,
        request,
        deadline,
        url: request.url.clone(),
        failed: 0,
        hops: 0,
        renewed: Renewal::Possible,
    };
    timeout_at(deadline, call.run(check)).await.unwrap_or_else(|_| {
        let target = format!("{} {}", request.method, client.shared.redactor.url(&request.url));
        let fault = Fault::new(
            &target,
            Reason::Timeout,
            format!("neither a turn nor a credential within {allowed:?}"),
        );
        Err(End::Other(Error::unavailable(request.call(), fault)))
    })
}

struct Call<'a> {
    client: &'a Client,
    request: &'a Request,
    deadline: Instant,
    /// Where to; a redirect moves it.
    url: Url,
    failed: u32,
    hops: u32,
    renewed: Renewal,
}

/// A call gets one new credential.
#[derive(PartialEq, Eq)]
enum Renewal {
    Possible,
    Done,
}

/// Where an attempt leads.
enum Step {
    Done(Response),
    /// Another attempt at once, with another credential or URL.
    Again,
    Failed(FailedAttempt),
}

/// An attempt that failed, and the error of the call if there is no other attempt.
struct FailedAttempt {
    cause: Cause,
    retry_after: Option<Duration>,
    error: Error,
}

impl Call<'_> {
    async fn run(mut self, check: Check<'_>) -> Result<Response, End> {
        if let Some(reason) = &self.request.invalid {
            return Err(End::Other(Error::invalid(
                "request",
                format!("{}: {reason}", self.request.call()),
            )));
        }
        loop {
            match self.step(check).await? {
                Step::Done(response) => {
                    self.client.shared.budget.earn();
                    return Ok(response);
                }
                Step::Again => {}
                Step::Failed(failed) => self.wait(failed).await?,
            }
        }
    }

    async fn step(&mut self, check: Check<'_>) -> Result<Step, End> {
        let attempt = self
            .client
            .attempt(self.request, &self.url, self.deadline, self.failed + 1);
        let Attempt {
            outcome,
            sent,
            credential,
        } = attempt.await.map_err(End::Other)?;
        let response = match outcome {
            Outcome::Broken(fault) => return Ok(Step::Failed(self.broken(fault))),
            Outcome::Answer(response) => response,
        };
        if self.request.accepts(response.status) {
            return Ok(match check(&response) {
                Ok(()) => Step::Done(response),
                Err(fault) => Step::Failed(self.broken(fault)),
            });
        }
        let redactor = &self.client.shared.redactor;
        let secrets = redactor.secrets(&sent, &self.url);
        let failure = Failure::new(self.request, &response, redactor, &secrets);
        if self.renew(&failure, credential).await? || self.follow(&response) {
            return Ok(Step::Again);
        }
        Ok(Step::Failed(self.refused(failure)))
    }

    fn broken(&self, fault: Fault) -> FailedAttempt {
        let cause = Cause::Fault(fault.reason(), fault.reach());
        FailedAttempt {
            cause,
            retry_after: None,
            error: Error::unavailable(self.request.call(), fault),
        }
    }

    fn refused(&self, failure: Failure) -> FailedAttempt {
        let (status, mut retry_after) = (failure.status(), failure.retry_after());
        let error = self.client.explained(failure);
        if let Error::Throttled {
            retry_after: Some(wait),
            ..
        } = error
        {
            retry_after = Some(wait);
        }
        FailedAttempt {
            cause: Cause::Status(status),
            retry_after,
            error,
        }
    }

    /// Gets a new credential once if the one in use is stale. Returns whether to try again.
    async fn renew(&mut self, failure: &Failure, credential: Option<Generation>) -> Result<bool, End> {
        let (Some(credentials), Some(seen)) = (&self.client.credentials, credential) else {
            return Ok(false);
        };
        if self.renewed == Renewal::Done || !self.client.is_stale(failure) {
            return Ok(false);
        }
        self.renewed = Renewal::Done;
        credentials
            .refresh(&self.request.call(), seen)
            .await
            .map_err(End::Other)?;
        self.client
            .metrics
            .retried(self.request.operation, failure.status().as_str());
        Ok(true)
    }

    /// Follows a redirect. Returns whether it did.
    fn follow(&mut self, response: &Response) -> bool {
        let target = redirect(self.request, &self.url, response).filter(|_| self.hops < HOPS);
        let Some(url) = target else { return false };
        self.url = url;
        self.hops += 1;
        true
    }

    /// Waits for the next attempt, or ends the call.
    async fn wait(&mut self, failed: FailedAttempt) -> Result<(), End> {
        self.failed += 1;
        let FailedAttempt {
            cause,
            retry_after,
            error,
        } = failed;
        let operation = self.request.operation;
        if matches!(error, Error::Throttled { .. }) {
            self.client.metrics.throttled(operation);
            self.client
                .shared
                .limits
                .pause(operation, retry_after.unwrap_or_default());
        }
        let Some(wait) = self.next_wait(cause, retry_after, &error) else {
            return Err(match cause {
                Cause::Status(_) => End::Refused(error),
                Cause::Fault(..) => End::Other(error),
            });
        };
        let reason = cause.label();
        debug!(
            operation,
            reason,
            failed = self.failed,
            wait_ms = wait.as_millis(),
            "retrying"
        );
        self.client.metrics.retried(operation, &reason);
        sleep(wait).await;
        Ok(())
    }

    fn next_wait(&self, cause: Cause, retry_after: Option<Duration>, error: &Error) -> Option<Duration> {
        let retries = &self.client.shared.config.retries;
        if self.failed >= retries.attempts || !retry::worthwhile(self.request.idempotency, cause, error) {
            return None;
        }
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        let wait = retry::wait(retries, self.failed, retry_after, fastrand::f64(), remaining)?;
        self.client.shared.budget.take().then_some(wait)
    }
}

/// The target of a redirect that may be followed: of a request that changes nothing and keeps its method, to the same host, never
/// from TLS to plain text. Tokens are not sent elsewhere.
fn redirect(request: &Request, from: &Url, response: &Response) -> Option<Url> {
    let keeps_method = match response.status.as_u16() {
        301..=303 => matches!(request.method, Method::GET | Method::HEAD),
        307 | 308 => true,
        _ => false,
    };
    if !keeps_method || request.idempotency != Idempotency::Safe {
        return None;
    }
    let to = from.join(response.header(header::LOCATION.as_str())?).ok()?;
    let same_host = from.host() == to.host();
    let upgrade = same_host && from.scheme() == "http" && to.scheme() == "https";
    (upgrade || from.origin() == to.origin()).then_some(to)
}
