//! A stateful fake of DigitalOcean's API: Droplets, load balancers, certificates, firewalls, tags, regions and the account.
//!
//! It answers with every field that the API has, refuses what the API refuses, and refuses loudly what it does not know.

mod droplets;
mod load_balancers;
mod others;

use fakecloud::{Api, Exchange, Now, Outcome, Page, Request, Response, Value, json};
use std::{collections::BTreeMap, time::Duration};

/// The token that the fake accepts.
pub const TOKEN: &str = "dop_v1_0123456789abcdef";
/// The region of everything.
pub const REGION: &str = "fra1";

/// A fake cloud.
pub type Cloud = fakecloud::Cloud<Fake>;

/// The state of the fake.
pub struct Fake {
    droplets: BTreeMap<u64, Value>,
    load_balancers: BTreeMap<String, load_balancers::Entry>,
    certificates: BTreeMap<String, Value>,
    firewalls: BTreeMap<String, Value>,
    tags: Vec<String>,
    next: u64,
    /// How long a load balancer takes to become active, or to take over a change.
    pub provisioning: Duration,
    /// How many requests are left before the API refuses them with 429.
    pub rate_limit: Option<u64>,
    /// How many load balancers the team may have.
    pub load_balancer_limit: usize,
    /// Every request and its answer.
    pub transcript: Vec<Recorded>,
}

/// A request and its answer.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// `PUT /v2/load_balancers/*`: the method and the kind of path.
    pub route: &'static str,
    /// The body of the request, or nothing.
    pub request: Value,
    /// The status of the answer.
    pub status: u16,
    /// The body of the answer, or nothing.
    pub response: Value,
}

/// What the fake implements: method, path, and the name of the operation.
const ROUTES: &[(&str, &str, &str)] = &[
    ("GET", "v2/account", "GET /v2/account"),
    ("GET", "v2/regions", "GET /v2/regions"),
    ("GET", "v2/droplets", "GET /v2/droplets"),
    ("GET", "v2/droplets/*", "GET /v2/droplets/*"),
    ("GET", "v2/load_balancers", "GET /v2/load_balancers"),
    ("POST", "v2/load_balancers", "POST /v2/load_balancers"),
    ("GET", "v2/load_balancers/*", "GET /v2/load_balancers/*"),
    ("PUT", "v2/load_balancers/*", "PUT /v2/load_balancers/*"),
    ("DELETE", "v2/load_balancers/*", "DELETE /v2/load_balancers/*"),
    ("GET", "v2/certificates", "GET /v2/certificates"),
    ("GET", "v2/certificates/*", "GET /v2/certificates/*"),
    ("GET", "v2/firewalls", "GET /v2/firewalls"),
    ("POST", "v2/firewalls", "POST /v2/firewalls"),
    ("GET", "v2/firewalls/*", "GET /v2/firewalls/*"),
    ("PUT", "v2/firewalls/*", "PUT /v2/firewalls/*"),
    ("DELETE", "v2/firewalls/*", "DELETE /v2/firewalls/*"),
    ("GET", "v2/tags", "GET /v2/tags"),
    ("POST", "v2/tags", "POST /v2/tags"),
    ("POST", "v2/tags/*/resources", "POST /v2/tags/*/resources"),
    ("GET", "metadata/v1/region", "GET /metadata/v1/region"),
];

impl Default for Fake {
    fn default() -> Self {
        Self {
            droplets: BTreeMap::new(),
            load_balancers: BTreeMap::new(),
            certificates: BTreeMap::new(),
            firewalls: BTreeMap::new(),
            tags: Vec::new(),
            next: 0,
            provisioning: Duration::ZERO,
            rate_limit: None,
            load_balancer_limit: 100,
            transcript: Vec::new(),
        }
    }
}

impl Api for Fake {
    fn answer(&mut self, request: &Request, now: Now) -> Outcome {
        let outcome = self.limited(request, now).and_then(|()| self.route(request, now));
        let outcome = outcome.map(|answer| self.with_rate(answer, now));
        let response = outcome.as_ref().unwrap_or_else(|refusal| refusal);
        self.transcript.push(Recorded {
            route: self.label(request, now).operation,
            request: request.json().unwrap_or_default(),
            status: response.status,
            response: json_of(&response.body),
        });
        outcome
    }

    fn label(&self, request: &Request, _: Now) -> Exchange {
        Exchange::in_table(request, ROUTES)
    }

    fn error(&self, _: &Request, status: u16) -> Response {
        match status {
            401 => refuse(401, "Unauthorized", "Unable to authenticate you"),
            404 => not_found(),
            409 => refuse(409, "conflict", "The resource is in an inconsistent state"),
            422 => invalid("the request is invalid"),
            429 => refuse(429, "too_many_requests", "API Rate limit exceeded."),
            status => refuse(status, "server_error", "Unexpected server-side error"),
        }
    }

    fn settle(&mut self, now: Now) {
        load_balancers::settle(self, now);
    }
}

impl Fake {
    fn route(&mut self, request: &Request, now: Now) -> Outcome {
        let (method, path) = request.route();
        if path.first() == Some(&"metadata") {
            return match (method, &path[1..]) {
                ("GET", ["v1", "region"]) => Ok(Response::text(200, REGION)),
                _ => Err(Response::unknown(request)),
            };
        }
        if request.bearer() != Some(TOKEN) {
            return Err(refuse(401, "Unauthorized", "Unable to authenticate you"));
        }
        match (method, path.as_slice()) {
            ("GET", ["v2", "account"]) => Ok(Response::ok(json!({"account": others::account()}))),
            ("GET", ["v2", "regions"]) => list(request, "regions", vec![others::region()], &[]),
            (_, ["v2", "droplets", rest @ ..]) => self.droplets(request, method, rest),
            (_, ["v2", "load_balancers", rest @ ..]) => self.load_balancers(request, method, rest, now),
            (_, ["v2", "certificates", rest @ ..]) => self.certificates(request, method, rest),
            (_, ["v2", "firewalls", rest @ ..]) => self.firewalls(request, method, rest, now),
            (_, ["v2", "tags", rest @ ..]) => self.tags(request, method, rest),
            _ => Err(Response::unknown(request)),
        }
    }

    /// Counts the request against the rate limit.
    fn limited(&mut self, request: &Request, now: Now) -> Result<(), Response> {
        match &mut self.rate_limit {
            Some(0) => {
                let refusal = self.error(request, 429);
                Err(refusal
                    .header("ratelimit-reset", reset(now))
                    .header("ratelimit-remaining", "0"))
            }
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn with_rate(&self, answer: Response, now: Now) -> Response {
        let left = self.rate_limit.unwrap_or(4_999).to_string();
        answer
            .header("ratelimit-limit", "5000")
            .header("ratelimit-remaining", left)
            .header("ratelimit-reset", reset(now))
    }

    /// A UUID that no other object has.
    fn id(&mut self) -> String {
        self.next += 1;
        format!("4de7ac8b-495b-4884-9a69-{:012x}", self.next)
    }
}

/// The quota is renewed two seconds from now.
fn reset(now: Now) -> String {
    (now.wall.as_second() + 2).to_string()
}

fn json_of(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}

/// A page of a list. Parameters that the list does not know are refused, because the API would ignore them.
fn list(request: &Request, key: &str, items: Vec<Value>, filters: &[&str]) -> Outcome {
    let known = |name: &&str| ["page", "per_page"].contains(name) || filters.contains(name);
    if let Some(unknown) = request.query.names().into_iter().find(|name| !known(name)) {
        return Err(Response::unknown(request).for_unknown(format!("query parameter {unknown}")));
    }
    let size = request.query.number("per_page").unwrap_or(20);
    if !(1..=200).contains(&size) {
        return Err(invalid("per_page must be between 1 and 200"));
    }
    let page = Page::numbered(items, request.query.number("page").unwrap_or(1), size);
    let links = page.links(request, "page");
    let pages: BTreeMap<&str, String> = [
        ("first", links.first),
        ("prev", links.previous),
        ("next", links.next),
        ("last", links.last),
    ]
    .into_iter()
    .filter_map(|(name, link)| Some((name, link?)))
    .collect();
    let links = if pages.is_empty() {
        json!({})
    } else {
        json!({"pages": pages})
    };
    Ok(Response::ok(
        json!({key: page.items, "links": links, "meta": {"total": page.total}}),
    ))
}

/// The body of a request, which may only have these keys.
fn body(request: &Request, keys: &[&str]) -> Result<serde_json::Map<String, Value>, Response> {
    match request.json() {
        Ok(Value::Object(body)) => match body.keys().find(|key| !keys.contains(&key.as_str())) {
            Some(unknown) => Err(Response::unknown(request).for_unknown(format!("field {unknown}"))),
            None => Ok(body),
        },
        _ => Err(refuse(400, "bad_request", "unable to decode request body")),
    }
}

fn refuse(status: u16, id: &str, message: &str) -> Response {
    Response::json(
        status,
        json!({"id": id, "message": message, "request_id": "9f7c1a2e-5b3d-4e64-8c0f-2f1d7a8b9c0d"}),
    )
}

fn not_found() -> Response {
    refuse(404, "not_found", "The resource you were accessing could not be found.")
}

fn invalid(message: &str) -> Response {
    refuse(422, "unprocessable_entity", message)
}
