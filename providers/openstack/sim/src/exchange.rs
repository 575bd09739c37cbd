//! One request to a service, and the answers that all services have in common.

use crate::{keystone::Caller, service::Service};
use fakecloud::Request;
pub(crate) use fakecloud::{Outcome, Response};
use serde_json::Value;
use std::{collections::BTreeSet, ops::Deref};

/// A request to one of the services.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) service: Service,
    /// The segments below the service's own, decoded.
    pub(crate) path: Vec<String>,
    /// The URL of the service, as the client sees it: `http://127.0.0.1:1234/network`.
    pub(crate) base: String,
    /// The user; empty where no token is needed.
    pub(crate) caller: Caller,
    request: Request,
}

impl Deref for Ask {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.request
    }
}

impl Ask {
    /// `None` if the request is for none of the services.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let (prefix, path) = request.path.split_first()?;
        let service = Service::of_prefix(prefix)?;
        Some(Self {
            service,
            path: path.to_vec(),
            base: format!("{}/{service}", request.origin),
            caller: Caller::default(),
            request: request.clone(),
        })
    }

    pub(crate) fn segments(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    /// The body; `None` if it is no JSON.
    pub(crate) fn json(&self) -> Option<Value> {
        self.request.json().ok()
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

/// The view with only the requested fields; none is all.
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

/// Whether an object with these tags is selected; `list` reads the tags that a parameter names.
pub(crate) fn wants_tags(tags: &BTreeSet<String>, list: impl Fn(&str) -> Option<Vec<String>>) -> bool {
    let all = |wanted: Vec<String>| wanted.iter().all(|tag| tags.contains(tag));
    let any = |wanted: Vec<String>| wanted.iter().any(|tag| tags.contains(tag));
    list("tags").is_none_or(all)
        && list("tags-any").is_none_or(any)
        && list("not-tags").is_none_or(|wanted| !all(wanted))
        && list("not-tags-any").is_none_or(|wanted| !any(wanted))
}

/// Refuses a request that is not implemented.
pub(crate) fn unknown(ask: &Ask) -> Response {
    let what = format!("{} {}/{}", ask.method, ask.service, ask.path.join("/"));
    Response::json(501, serde_json::json!({"openstack_sim": {"unknown": what}})).for_unknown(what)
}
