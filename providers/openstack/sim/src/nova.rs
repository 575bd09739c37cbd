//! Nova: servers and flavors.

mod change;
mod filter;
mod flavors;
mod servers;
mod version;
mod view;

pub(crate) use change::{Boot, Nic};
pub(crate) use flavors::Flavor;
pub use servers::ServerStatus;
pub(crate) use servers::{Server, Servers};

use crate::{
    errors::not_found_page,
    exchange::{Ask, Outcome, Response, unknown},
    state::{Now, State},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};
use version::Version;

/// Everything that Nova has.
#[derive(Debug, Default)]
pub(crate) struct Nova {
    pub(crate) servers: Servers,
    pub(crate) flavors: BTreeMap<String, Arc<Flavor>>,
}

/// Answers a request to Nova.
pub(crate) fn answer(state: &mut State, ask: &Ask, now: Now) -> Outcome {
    let version = version::of(ask, state.settings.nova_minor)?;
    let answer = route(state, ask, version, now);
    let page = |refusal: &Response| refusal.headers.iter().any(|(_, value)| value.starts_with("text/html"));
    if ask.path.is_empty() || answer.as_ref().is_err_and(page) {
        return answer;
    }
    answer
        .map(|answer| version.stamp(answer))
        .map_err(|refusal| version.stamp(refusal))
}

fn route(state: &mut State, ask: &Ask, version: Version, now: Now) -> Outcome {
    match (ask.method.as_str(), ask.segments().as_slice()) {
        ("GET", []) => Ok(Response::ok(
            json!({"versions": [old(ask), current(ask, state.settings.nova_minor)]}),
        )),
        ("GET", ["v2.1"]) => Ok(described(ask, state.settings.nova_minor)),
        ("GET", ["v2.1", "servers"]) => servers::list(state, ask, view::Detail::Brief, version),
        ("GET", ["v2.1", "servers", "detail"]) => servers::list(state, ask, view::Detail::Full, version),
        ("GET", ["v2.1", "servers", id]) => servers::show(state, ask, id, version),
        ("GET", ["v2.1", "servers", id, "os-interface"]) => servers::interfaces(state, ask, id),
        ("POST", ["v2.1", "servers"]) => change::create(state, ask, now),
        ("PUT", ["v2.1", "servers", id]) => change::update(state, ask, id, version, now),
        ("DELETE", ["v2.1", "servers", id]) => change::delete(state, ask, id, now),
        ("POST", ["v2.1", "servers", id, "action"]) => change::act(state, ask, id, now),
        ("GET", ["v2.1", "flavors"]) => Ok(flavors::list(&state.nova, ask, view::Detail::Brief, version)),
        ("GET", ["v2.1", "flavors", "detail"]) => Ok(flavors::list(&state.nova, ask, view::Detail::Full, version)),
        ("GET", ["v2.1", "flavors", id]) => flavors::show(&state.nova, ask, id, version),
        ("GET", ["v2.1", "nothing"]) => Err(not_found_page("")),
        _ => Err(unknown(ask)),
    }
}

/// A refusal in Nova's shape.
pub(crate) fn error(status: u16, message: &str) -> Response {
    let kind = match status {
        400 => "badRequest",
        403 => "forbidden",
        404 => "itemNotFound",
        405 => "badMethod",
        409 => "conflictingRequest",
        413 | 429 => "overLimit",
        501 => "notImplemented",
        503 => "serviceUnavailable",
        _ => "computeFault",
    };
    Response::json(status, json!({kind: {"code": status, "message": message}}))
}

fn bad_query(name: &str, value: &str, reason: &str) -> Response {
    error(
        400,
        &format!("Invalid input for query parameters {name}. Value: {value}. {reason}"),
    )
}

fn old(ask: &Ask) -> Value {
    let links = json!([{"rel": "self", "href": format!("{}/v2/", ask.base)}]);
    json!({"id": "v2.0", "status": "DEPRECATED", "version": "", "min_version": "", "updated": "2025-07-04T12:00:00Z", "links": links})
}

fn current(ask: &Ask, newest: u32) -> Value {
    let links = json!([{"rel": "self", "href": format!("{}/v2.1/", ask.base)}]);
    json!({
        "id": "v2.1", "status": "CURRENT", "version": format!("2.{newest}"), "min_version": "2.1", "updated": "2013-07-23T11:33:21Z",
        "links": links,
    })
}

fn described(ask: &Ask, newest: u32) -> Response {
    let mut version = current(ask, newest);
    version["links"] = json!([
        {"rel": "self", "href": format!("{}/v2.1/", ask.base)},
        {"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"},
    ]);
    version["media-types"] =
        json!([{"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1"}]);
    Response::ok(json!({"version": version}))
}
