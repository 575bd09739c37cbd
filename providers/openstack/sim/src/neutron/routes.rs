//! The extra routes of routers.

use super::{Context, Neutron, Router, bad_request, error, resource::Resource};
use crate::exchange::{Outcome, Response};
use ipnet::IpNet;
use serde::Serialize;
use serde_json::{Value, json};
use std::net::IpAddr;
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Route {
    pub(crate) destination: IpNet,
    pub(crate) nexthop: IpAddr,
}

/// What to do with routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Add,
    Remove,
}

/// Adds or removes routes in one step.
pub(super) fn change(neutron: &mut Neutron, context: &Context<'_>, id: &str, change: Change) -> Outcome {
    if !context.is_on("extraroute-atomic") {
        return Err(super::nothing());
    }
    let router = neutron.find::<Router>(id, &context.ask.caller)?;
    let body = context.ask.json().unwrap_or_default();
    let given = parse_strictly(&body["router"]["routes"])?;
    let mut routes = router.routes.clone();
    match change {
        Change::Add => {
            for route in given {
                if !routes.contains(&route) {
                    routes.push(route);
                }
            }
        }
        Change::Remove => routes.retain(|route| !given.contains(route)),
    }
    let (id, changed) = (router.id, routes != router.routes);
    neutron.check_routes(id, &routes)?;
    let router = neutron
        .routers
        .get_mut(&id)
        .ok_or_else(|| Router::missing(&id.to_string()))?;
    if changed {
        router.routes = routes;
        router.standard.touch(context.now.wall);
    }
    Ok(Response::ok(json!({"router": router.whole()})))
}

impl Neutron {
    /// A next hop must lie in a subnet that the router is connected with.
    pub(super) fn check_routes(&self, router: Uuid, routes: &[Route]) -> Result<(), Response> {
        let near: Vec<IpNet> = self
            .interfaces(router)
            .filter_map(|(_, fixed)| self.subnets.get(&fixed.subnet).map(|subnet| subnet.cidr))
            .collect();
        if routes
            .iter()
            .all(|route| near.iter().any(|cidr| cidr.contains(&route.nexthop)))
        {
            return Ok(());
        }
        let one = |route: &Route| {
            format!(
                "{{'destination': '{}', 'nexthop': '{}'}}",
                route.destination, route.nexthop
            )
        };
        let all: Vec<String> = routes.iter().map(one).collect();
        let message = format!(
            "Invalid format for routes: [{}], the nexthop is not connected with router",
            all.join(", ")
        );
        Err(error(400, "InvalidRoutes", &message))
    }
}

/// The routes of a PUT on the router.
pub(super) fn parse(given: &Value) -> Result<Vec<Route>, Response> {
    read(given, |text| {
        bad_request(&format!(
            "Invalid input for routes. Reason: '{text}' is not a valid CIDR."
        ))
    })
}

fn parse_strictly(given: &Value) -> Result<Vec<Route>, Response> {
    read(given, |text| {
        error(400, "AddrFormatError", &format!("invalid IPNetwork {text}"))
    })
}

fn read(given: &Value, bad: impl Fn(&str) -> Response) -> Result<Vec<Route>, Response> {
    let text = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
    let route = |one: &Value| {
        let (destination, nexthop) = (text(one, "destination"), text(one, "nexthop"));
        Ok(Route {
            destination: destination.parse().map_err(|_| bad(&destination))?,
            nexthop: nexthop.parse().map_err(|_| bad(&nexthop))?,
        })
    };
    given.as_array().into_iter().flatten().map(route).collect()
}
