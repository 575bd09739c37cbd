//! Keystone: authentication and the catalog.

mod auth;
mod catalog;
mod credentials;
mod directory;
mod scope;
mod token;

pub(crate) use catalog::at;
pub use catalog::{Endpoint, Location};
pub(crate) use directory::{Domain, Identity, Project, Trust, User, new_credential, new_id};
pub(crate) use token::Token;

use crate::{
    errors::keystone_error,
    exchange::{Ask, Outcome, Response, unknown},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;

/// The caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) user: Arc<str>,
    pub(crate) user_id: Arc<str>,
    pub(crate) project: Arc<str>,
    pub(crate) rights: Rights,
}

/// What a caller may see and do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Rights {
    /// What is his project's.
    #[default]
    Member,
    /// Everything.
    Admin,
}

impl Default for Caller {
    fn default() -> Self {
        let empty: Arc<str> = Arc::from("");
        Self {
            user: Arc::clone(&empty),
            user_id: Arc::clone(&empty),
            project: empty,
            rights: Rights::Member,
        }
    }
}

impl Caller {
    /// Whether he sees what belongs to this project.
    pub(crate) fn sees(&self, project: &str) -> bool {
        self.rights == Rights::Admin || &*self.project == project
    }
}

/// Answers a request to Keystone.
pub(crate) fn answer(identity: &mut Identity, ask: &Ask, now: Timestamp) -> Outcome {
    match (ask.method.as_str(), ask.segments().as_slice()) {
        ("GET", []) => Ok(versions(ask)),
        ("GET", ["v3"]) => Ok(Response::ok(json!({"version": version(ask)}))),
        ("POST", ["v3", "auth", "tokens"]) => auth::create(identity, ask, now),
        ("GET" | "HEAD", ["v3", "auth", "tokens"]) => auth::show(identity, ask, now),
        ("DELETE", ["v3", "auth", "tokens"]) => auth::revoke(identity, ask, now),
        ("GET", ["v3", "auth", "catalog"]) => auth::catalog(identity, ask, now),
        ("POST", ["v3", "users", user, "application_credentials"]) => credentials::create(identity, ask, user, now),
        ("GET", ["v3", "users", user, "application_credentials"]) => credentials::list(identity, ask, user, now),
        ("DELETE", ["v3", "users", _, "application_credentials", id]) => credentials::delete(identity, ask, id, now),
        _ => Err(unknown(ask)),
    }
}

/// Without a reason, so that it does not reveal which part was wrong.
pub(crate) fn denied(ask: &Ask) -> Response {
    keystone_error(
        401,
        "Unauthorized",
        "The request you have made requires authentication.",
    )
    .header("WWW-Authenticate", format!("Keystone uri=\"{}/v3\"", ask.base))
}

fn bad_request(what: &str) -> Response {
    let rest = "The server could not comply with the request since it is either malformed or otherwise incorrect. The client \
                is assumed to be in error.";
    keystone_error(400, "Bad Request", &format!("{what} {rest}"))
}

fn versions(ask: &Ask) -> Response {
    Response::json(300, json!({"versions": {"values": [version(ask)]}})).header("Location", format!("{}/v3/", ask.base))
}

fn version(ask: &Ask) -> Value {
    json!({
        "id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
        "links": [{"rel": "self", "href": format!("{}/v3/", ask.base)}],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}],
    })
}
