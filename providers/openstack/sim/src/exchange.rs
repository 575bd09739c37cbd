//! One request and its answer, between the wire and the services.

use crate::{keystone::Caller, query::Query, service::Service};
use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

/// A request, taken apart.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) service: Service,
    pub(crate) method: Method,
    /// The segments below the service's own, decoded.
    pub(crate) path: Vec<String>,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Where the client thinks that the service is: `http://127.0.0.1:1234/network`.
    pub(crate) base: String,
    /// Where the client thinks that we are: `http://127.0.0.1:1234`.
    pub(crate) origin: String,
    /// Who asks; nobody where no token is needed.
    pub(crate) caller: Caller,
}

impl Ask {
    pub(crate) fn segments(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body; `None` if it is no JSON.
    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The object below this name in the body; `None` if there is none.
    pub(crate) fn object(&self, name: &str) -> Option<Fields> {
        match self.json()?.get_mut(name)?.take() {
            Value::Object(fields) => Some(fields),
            _ => None,
        }
    }
}

/// A JSON object.
pub(crate) type Fields = serde_json::Map<String, Value>;

/// An answer that is complete.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
}

/// `Err` is a refusal: nothing was done.
pub(crate) type Outcome = Result<Answer, Answer>;

impl Answer {
    pub(crate) fn json(status: u16, body: Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Some(body),
        }
    }

    pub(crate) fn ok(body: Value) -> Self {
        Self::json(200, body)
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: None,
        }
    }

    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// The view with only the fields that are asked for; none is all.
pub(crate) fn select(view: Value, ask: &Ask) -> Value {
    let fields: Vec<&str> = ask.query.all("fields").collect();
    match view {
        Value::Object(all) if !fields.is_empty() => Value::Object(
            all.into_iter()
                .filter(|(name, _)| fields.contains(&name.as_str()))
                .collect(),
        ),
        view => view,
    }
}

/// What nobody taught us: loudly.
pub(crate) fn unknown(ask: &Ask) -> Answer {
    let what = format!("{} {}/{}", ask.method, ask.service, ask.path.join("/"));
    Answer::json(501, serde_json::json!({"openstack_sim": {"unknown": what}}))
}
