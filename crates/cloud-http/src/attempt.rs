//! One attempt: wait for a turn, authenticate, check the gate, send, read the response.

use crate::{
    auth::{Credentials, Generation},
    client::Client,
    fault::{Fault, Phase, Reason},
    limit::{self, TooLong},
    metrics::Flight,
    redact::percent_decoded,
    request::{Idempotency, Request},
    response::{self, Ending, Response},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use cloud::Error;
use http::{HeaderValue, StatusCode, header};
use reqwest::Url;
use tokio::time::{Instant, timeout_at};
use tracing::debug;

/// How much of a failure's body is read.
const FAILURE_LIMIT: usize = 64 << 10;

/// What became of an attempt.
pub(crate) struct Attempt {
    pub outcome: Outcome,
    /// What was sent: its secrets must not be shown of the answer.
    pub sent: http::Request<Bytes>,
    /// The credential that was used, if any.
    pub credential: Option<Generation>,
}

pub(crate) enum Outcome {
    /// An answer of any status.
    Answer(Response),
    Broken(Fault),
}

/// A request as it will be sent.
struct Prepared {
    message: http::Request<Bytes>,
    credential: Option<Generation>,
}

/// Names an attempt in logs and errors.
struct Label<'a> {
    operation: &'static str,
    method: &'a http::Method,
    url: String,
    attempt: u32,
}

impl Client {
    /// Makes one attempt. An error is one that the cloud did not cause: no turn, no login, no leader.
    pub(crate) async fn attempt(
        &self,
        request: &Request,
        url: &Url,
        deadline: Instant,
        attempt: u32,
    ) -> cloud::Result<Attempt> {
        self.ask_gate(request)?;
        let turn = self.shared.limits.enter(request.operation, deadline).await;
        let _slot = turn.map_err(|TooLong(wait)| Error::Throttled {
            call: request.call(),
            retry_after: Some(wait),
        })?;

        let prepared = self.prepare(request, url).await?;
        // Last of all, because everything before may have taken its time.
        self.ask_gate(request)?;
        let url = self.shared.redactor.url(url);
        let label = Label {
            operation: request.operation,
            method: &request.method,
            url,
            attempt,
        };
        let Prepared { message, credential } = prepared;
        let outcome = self.fly(request, message.clone(), &label, deadline).await;
        Ok(Attempt {
            outcome,
            sent: message,
            credential,
        })
    }

    async fn prepare(&self, request: &Request, url: &Url) -> cloud::Result<Prepared> {
        let mut message = message(request, url)?;
        // Read before the credential is used, so that an older one is never mistaken for a newer one.
        let credential = self.credentials.as_ref().map(Credentials::generation);
        if let Some(credentials) = &self.credentials {
            credentials.authorize(&request.call(), &mut message).await?;
        }
        self.shared.redactor.mark(message.headers_mut());
        Ok(Prepared { message, credential })
    }

    fn ask_gate(&self, request: &Request) -> cloud::Result<()> {
        match request.idempotency {
            Idempotency::Safe => Ok(()),
            Idempotency::Idempotent | Idempotency::Once => (self.gate)(),
        }
    }

    /// Sends and reads within the time there is, and reports.
    async fn fly(
        &self,
        request: &Request,
        message: http::Request<Bytes>,
        label: &Label<'_>,
        deadline: Instant,
    ) -> Outcome {
        let mut flight = self.metrics.start(request.operation);
        let own = self.shared.config.attempt_timeout.map(limit::after);
        let until = own.map_or(deadline, |own| own.min(deadline));
        let target = format!("{} {}", label.method, label.url);
        let outcome = timeout_at(until, self.exchange(request, message, &target))
            .await
            .unwrap_or_else(|_| {
                let detail = format!("no complete answer within {} ms", flight.elapsed().as_millis());
                Outcome::Broken(Fault::new(&target, Reason::Timeout, detail))
            });
        report(&mut flight, &outcome, label);
        outcome
    }

    async fn exchange(&self, request: &Request, message: http::Request<Bytes>, target: &str) -> Outcome {
        let sent = async { self.http.execute(message.try_into()?).await };
        let mut answer = match sent.await {
            Ok(answer) => answer,
            Err(error) => return Outcome::Broken(Fault::of_exchange(target, Phase::Head, error)),
        };
        let accepted = request.accepts(answer.status());
        let limit = if accepted {
            self.shared.config.response_limit
        } else {
            FAILURE_LIMIT
        };
        let (body, ending) = response::read(&mut answer, limit, target).await;
        match ending {
            Ending::Broken(fault) if accepted => Outcome::Broken(fault),
            Ending::Cut if accepted => {
                Outcome::Broken(Fault::new(target, Reason::TooLarge, format!("more than {limit} bytes")))
            }
            // The part of a failure's body that was received is enough to report it.
            Ending::Complete | Ending::Cut | Ending::Broken(_) => Outcome::Answer(Response {
                status: answer.status(),
                headers: std::mem::take(answer.headers_mut()),
                body,
                call: request.call(),
                request: target.to_owned(),
            }),
        }
    }
}

impl Request {
    pub(crate) fn accepts(&self, status: StatusCode) -> bool {
        status.is_success() || self.accepted.contains(&status)
    }
}

fn report(flight: &mut Flight<'_>, outcome: &Outcome, label: &Label<'_>) {
    let Label {
        operation,
        method,
        url,
        attempt,
    } = label;
    let ms = flight.elapsed().as_millis();
    match outcome {
        Outcome::Answer(response) => {
            flight.answered(response.status.as_u16());
            debug!(operation, %method, url, attempt, status = response.status.as_u16(), ms, "called the cloud");
        }
        Outcome::Broken(fault) => {
            flight.broke(fault.reason());
            debug!(operation, %method, url, attempt, reason = fault.reason().label(), ms, "cannot call the cloud");
        }
    }
}

/// The request as it will be sent, but for the credential.
fn message(request: &Request, url: &Url) -> cloud::Result<http::Request<Bytes>> {
    let mut target = url.clone();
    // These fail only on URLs that cannot have a user in the first place.
    let _ = target.set_username("");
    let _ = target.set_password(None);
    let mut message = http::Request::new(request.body.clone());
    *message.method_mut() = request.method.clone();
    *message.headers_mut() = request.headers.clone();
    *message.uri_mut() = target.as_str().parse().map_err(|error: http::uri::InvalidUri| {
        Error::invalid(
            "request",
            format!("the URL of {} is not usable: {error}", request.call()),
        )
    })?;
    let headers = message.headers_mut();
    headers
        .entry(header::ACCEPT)
        .or_insert(HeaderValue::from_static("application/json"));
    if let Some(basic) = basic(url) {
        headers.entry(header::AUTHORIZATION).or_insert(basic);
    }
    Ok(message)
}

/// The user and password that a URL may carry, as the header that they mean.
fn basic(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let pair = [url.username(), url.password().unwrap_or_default()]
        .map(percent_decoded)
        .join(":");
    let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}
