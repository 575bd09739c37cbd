//! Routers and their extra routes.

use crate::api::{Call, Resource, Service, Session};
use cloud::Result;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A router.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Router {
    /// Its ID.
    pub id: String,
    /// Its extra routes; missing if the cloud does not have them.
    #[serde(default)]
    pub routes: Vec<ExtraRoute>,
    /// Grows with each change.
    pub revision_number: Option<u64>,
}

impl Resource for Router {
    const ONE: &'static str = "router";
    const ALL: &'static str = "routers";
}

/// A route of a router. Two with the same destination are possible.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ExtraRoute {
    /// A CIDR.
    pub destination: String,
    /// An IP on a subnet of the router.
    pub nexthop: String,
}

/// `GET /routers/{id}`
pub async fn router(session: &Session, id: &str) -> Result<Option<Router>> {
    let call = Call::get(Service::Network, "router_get", ["routers", id]).about(format!("router {id}"));
    session.find_object(call).await
}

/// `PUT /routers/{id}` with all routes, only if it has not changed since it was read; otherwise the answer is 412.
pub async fn replace_routes(session: &Session, seen: &Router, routes: &[ExtraRoute]) -> Result<Router> {
    let call = Call::put(Service::Network, "router_update", ["routers", &seen.id])
        .json(&json!({"router": {"routes": routes}}))
        .about(format!("router {}", seen.id));
    session.object(call.if_revision(seen.revision_number)).await
}

/// `PUT /routers/{id}/add_extraroutes`: existing ones are kept.
pub async fn add_routes(session: &Session, id: &str, routes: &[ExtraRoute]) -> Result<Router> {
    change(session, id, "add_extraroutes", routes).await
}

/// `PUT /routers/{id}/remove_extraroutes`: missing ones are ignored.
pub async fn remove_routes(session: &Session, id: &str, routes: &[ExtraRoute]) -> Result<Router> {
    change(session, id, "remove_extraroutes", routes).await
}

async fn change(session: &Session, id: &str, action: &str, routes: &[ExtraRoute]) -> Result<Router> {
    let call = Call::put(Service::Network, "router_update", ["routers", id, action])
        .json(&json!({"router": {"routes": routes}}))
        .about(format!("router {id}"));
    session.object(call).await
}
