//! A cloud that answers HTTP requests.

use crate::{
    Access, Cloud, Details, Failure, Handler, Model, Now, Outcome, Request, Response, Subject, Verdict, failure::Kind,
    fault::glob, path_matches,
};
use tokio::time::Instant;

/// The state of a fake cloud with an HTTP API.
pub trait Api: Send + 'static {
    /// Answers one request, and changes the state accordingly.
    ///
    /// # Errors
    /// `Err` is an answer, too: a refusal, after which nothing has changed.
    fn answer(&mut self, request: &Request, now: Now) -> Outcome;

    /// What is recorded of a request: name its operation, and leave out of the body what is secret.
    fn label(&self, request: &Request, now: Now) -> Exchange {
        let _ = now;
        Exchange::of(request)
    }

    /// The answer of this cloud with this status, for [`crate::Fault::status`].
    fn error(&self, request: &Request, status: u16) -> Response {
        let _ = request;
        Response::empty(status)
    }

    /// Applies the changes that are due by now. Called before every read and write.
    fn settle(&mut self, now: Now) {
        let _ = now;
    }

    /// When the next change is due.
    fn next_due(&self) -> Option<Instant> {
        None
    }
}

/// A request and the status of its answer, on record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exchange {
    /// The service, where a cloud has several.
    pub service: &'static str,
    /// The name of the operation, or nothing.
    pub operation: &'static str,
    /// `GET`, …
    pub method: String,
    /// The path as it came, still encoded.
    pub path: String,
    /// The query as it came, still encoded.
    pub query: String,
    /// The body, without what is secret.
    pub body: String,
    /// The name of the user that is logged in.
    pub user: Option<String>,
    /// The header `User-Agent`.
    pub agent: Option<String>,
    /// Whether it requests a change.
    pub access: Access,
    /// The status of the answer; `None` while there is none.
    pub status: Option<u16>,
    /// What the fake does not implement, if it does not implement the request.
    pub unknown: Option<String>,
}

impl Exchange {
    /// A request without a name; everything but `GET` and `HEAD` is a write.
    pub fn of(request: &Request) -> Self {
        let access = match request.method.as_str() {
            "GET" | "HEAD" => Access::Read,
            _ => Access::Write,
        };
        Self {
            method: request.method.to_string(),
            path: request.raw_path.clone(),
            query: request.raw_query.clone(),
            body: request.text(),
            agent: request.header("user-agent").map(str::to_owned),
            access,
            ..Self::default()
        }
    }

    /// A request with the first name in a table of methods, paths (`*` is one segment) and names that matches.
    pub fn in_table(request: &Request, table: &[(&str, &str, &'static str)]) -> Self {
        let matches = |(method, pattern, _): &&(&str, &str, &'static str)| {
            request.method == **method && path_matches(pattern, &request.path)
        };
        Self {
            operation: table.iter().find(matches).map_or("", |(.., name)| name),
            ..Self::of(request)
        }
    }

    /// Whether it requests a change.
    pub fn is_write(&self) -> bool {
        self.access == Access::Write
    }

    /// Whether it has this method and a path like this one; `*` is any text.
    pub fn is(&self, method: &str, path: &str) -> bool {
        self.method == method && glob(path, &self.path)
    }
}

impl Details for Exchange {
    fn subject(&self) -> Subject<'_> {
        Subject {
            service: self.service,
            operation: self.operation,
            method: &self.method,
            path: &self.path,
            access: self.access,
            ..Subject::default()
        }
    }
}

impl<A: Api> Model for A {
    type Call = Exchange;
    type Failure = Failure;

    fn settle(&mut self, now: Now) {
        Api::settle(self, now);
    }

    fn next_due(&self) -> Option<Instant> {
        Api::next_due(self)
    }
}

impl<A: Api> Cloud<A> {
    /// The requests on record that the fake does not implement. A test that depends on the fake ends with this empty.
    pub fn unknown(&self) -> Vec<String> {
        let calls = self.calls().into_iter();
        calls.filter_map(|call| call.details.unknown).collect()
    }
}

impl<A: Api> Handler for Cloud<A> {
    async fn handle(&self, request: Request) -> Response {
        let exchange = self.read(|api| api.label(&request, self.now()));
        self.perform(exchange, |api, verdict, now| {
            let mut response = answer(api, &request, verdict, now);
            let (status, unknown) = (response.sent_status(), response.unknown.take());
            let close = move |call: &mut Exchange| {
                call.status = status;
                call.unknown = unknown;
            };
            (response, close)
        })
        .await
    }
}

/// The answer, with the first failure before it and the first one after it.
fn answer(api: &mut impl Api, request: &Request, verdict: &Verdict<Failure>, now: Now) -> Response {
    let first = |early: bool| {
        let mut failures = verdict.failures.iter().map(|(_, failure)| &failure.0);
        failures.find(|failure| failure.is_early() == early)
    };
    match first(true).or(first(false)) {
        Some(failure) => fail(api, request, failure, now),
        None => perform(api, request, now),
    }
}

fn perform(api: &mut impl Api, request: &Request, now: Now) -> Response {
    api.answer(request, now).unwrap_or_else(|refusal| refusal)
}

fn fail(api: &mut impl Api, request: &Request, failure: &Kind, now: Now) -> Response {
    match failure {
        Kind::Reset => Response::lost(),
        Kind::Status {
            status,
            body,
            retry_after,
        } => {
            let mut response = api.error(request, *status);
            if let Some(body) = body {
                response = response.with_body(body.clone());
            }
            match retry_after {
                Some(wait) => response.header("Retry-After", wait),
                None => response,
            }
        }
        Kind::LoseAnswer => {
            perform(api, request, now);
            Response::lost()
        }
        Kind::Truncate => perform(api, request, now).truncated(),
        Kind::SlowBody(each) => perform(api, request, now).slow(*each),
        Kind::ReplaceBody(body) => perform(api, request, now).with_body(body.clone()),
    }
}
