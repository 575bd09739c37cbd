//! Routers and their extra routes.

use crate::api::{Call, Service, Session};
use cloud::Result;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A router.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Router {
    /// Its ID.
    pub id: String,
    /// Its extra routes; told only where there can be some.
    #[serde(default)]
    pub routes: Vec<ExtraRoute>,
    /// Grows with each change.
    pub revision_number: Option<u64>,
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
    let body: Option<Body> = session.find(call).await?;
    Ok(body.map(|body| body.router))
}

/// `PUT /routers/{id}` with all routes, only if it is still as it was seen; otherwise the answer is 412.
pub async fn replace_routes(session: &Session, seen: &Router, routes: &[ExtraRoute]) -> Result<Router> {
    let call = Call::put(Service::Network, "router_update", ["routers", &seen.id])
        .json(&json!({"router": {"routes": routes}}))
        .about(format!("router {}", seen.id));
    let call = match seen.revision_number {
        Some(revision) => call.header("if-match", format!("revision_number={revision}")),
        None => call,
    };
    let body: Body = session.json(call).await?;
    Ok(body.router)
}

/// `PUT /routers/{id}/add_extraroutes`: those that are there already are left as they are.
pub async fn add_routes(session: &Session, id: &str, routes: &[ExtraRoute]) -> Result<Router> {
    change(session, id, "add_extraroutes", routes).await
}

/// `PUT /routers/{id}/remove_extraroutes`: those that are not there are left out.
pub async fn remove_routes(session: &Session, id: &str, routes: &[ExtraRoute]) -> Result<Router> {
    change(session, id, "remove_extraroutes", routes).await
}

async fn change(session: &Session, id: &str, action: &str, routes: &[ExtraRoute]) -> Result<Router> {
    let call = Call::put(Service::Network, "router_update", ["routers", id, action])
        .json(&json!({"router": {"routes": routes}}))
        .about(format!("router {id}"));
    let body: Body = session.json(call).await?;
    Ok(body.router)
}

#[derive(Deserialize)]
struct Body {
    router: Router,
}
