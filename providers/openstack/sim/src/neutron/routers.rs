//! Routers.

use super::{
    Context, Fixed, Neutron, PortRequest, Route, Standard, Subnet, body, error,
    ports::Wanted,
    resource::{Resource, kept_in},
    routes,
};
use crate::{
    exchange::{Fields, Outcome, Response},
    keystone::Rights,
};
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct Router {
    pub(crate) id: Uuid,
    pub(crate) standard: Standard,
    pub(crate) gateway: Option<Gateway>,
    pub(crate) routes: Vec<Route>,
}

/// The way out.
#[derive(Debug, Clone)]
pub(crate) struct Gateway {
    pub(crate) network: Uuid,
    fixed: Fixed,
    port: Uuid,
}

impl Resource for Router {
    const ONE: &'static str = "router";
    const MANY: &'static str = "routers";
    const FILTERS: &'static [&'static str] = &["flavor_id"];
    const KNOWN: &'static [&'static str] = &[
        "name",
        "description",
        "admin_state_up",
        "external_gateway_info",
        "routes",
        "project_id",
        "tenant_id",
    ];

    kept_in!(routers);

    fn missing(id: &str) -> Response {
        error(404, "RouterNotFound", &format!("Router {id} could not be found"))
    }

    fn view(&self, _: &Neutron, context: &Context<'_>) -> Value {
        let mut view = self.plain();
        if context.ask.caller.rights == Rights::Admin {
            for switch in SWITCHES {
                view[switch] = json!(false);
            }
        }
        view
    }

    fn create(neutron: &mut Neutron, context: &Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
        context.room_for::<Self>(neutron, 1)?;
        let standard = Standard::of(&context.ask.caller.project, fields, context.now.wall);
        let out = match fields.get("external_gateway_info").and_then(Value::as_object) {
            Some(info) => body::id(info, "network_id")?,
            None => None,
        };
        neutron.create_router(standard, out, context.now.wall)
    }

    fn update(neutron: &mut Neutron, context: &Context<'_>, id: Uuid, fields: &Fields) -> Result<(), Response> {
        let routes = fields.get("routes").map(routes::parse).transpose()?;
        if let Some(routes) = &routes {
            neutron.check_routes(id, routes)?;
        }
        if let Some(router) = neutron.routers.get_mut(&id) {
            router.standard.take_over(fields);
            router.routes = routes.unwrap_or_else(|| std::mem::take(&mut router.routes));
            router.standard.touch(context.now.wall);
        }
        Ok(())
    }

    fn delete(neutron: &mut Neutron, _: &Context<'_>, id: Uuid) -> Result<(), Response> {
        let gateway = neutron.routers[&id].gateway.as_ref().map(|gateway| gateway.port);
        let attached = neutron.interfaces(id).filter(|(port, _)| Some(*port) != gateway);
        let attached: Vec<String> = attached.map(|(port, _)| port.to_string()).collect();
        if !attached.is_empty() {
            let message = format!("Router {id} has ports still attached: {}", attached.join(", "));
            return Err(error(409, "RouterInUse", &message));
        }
        if let Some(port) = gateway {
            neutron.drop_port(port);
        }
        neutron.routers.remove(&id);
        Ok(())
    }

    fn own(neutron: &mut Neutron, context: &Context<'_>, method: &str, path: &[&str]) -> Option<Outcome> {
        Some(match (method, path) {
            ("PUT", [id, "add_router_interface"]) => plug(neutron, context, id),
            ("PUT", [id, "remove_router_interface"]) => unplug(neutron, context, id),
            ("PUT", [id, "add_extraroutes"]) => routes::change(neutron, context, id, routes::Change::Add),
            ("PUT", [id, "remove_extraroutes"]) => routes::change(neutron, context, id, routes::Change::Remove),
            _ => return None,
        })
    }
}

/// What only some are shown, and none has.
const SWITCHES: [&str; 4] = [
    "distributed",
    "ha",
    "enable_default_route_ecmp",
    "enable_default_route_bfd",
];

impl Router {
    /// The view of a router.
    fn plain(&self) -> Value {
        let gateway = self.gateway.as_ref().map(|gateway| {
            let fixed = json!([{"subnet_id": gateway.fixed.subnet, "ip_address": gateway.fixed.address}]);
            json!({"network_id": gateway.network, "external_fixed_ips": fixed, "enable_snat": true})
        });
        self.standard.complete(json!({
            "id": self.id, "admin_state_up": true, "status": "ACTIVE", "external_gateway_info": gateway,
            "availability_zones": [], "availability_zone_hints": [], "routes": self.routes, "flavor_id": null,
        }))
    }

    /// A router without the policy that hides a part of it; the answer to a change of its routes is such a one.
    pub(super) fn whole(&self) -> Value {
        let mut view = self.plain();
        view["gw_port_id"] = json!(self.gateway.as_ref().map(|gateway| gateway.port));
        view["ha_vr_id"] = json!(0);
        for switch in SWITCHES {
            view[switch] = json!(false);
        }
        view["enable_snat"] = json!(true);
        view
    }
}

impl Neutron {
    /// Connects a subnet with a router, at the subnet's gateway.
    pub(crate) fn connect(&mut self, router: Uuid, subnet: Uuid, now: jiff::Timestamp) -> Result<Uuid, Response> {
        let found = self
            .subnets
            .get(&subnet)
            .ok_or_else(|| Subnet::missing(&subnet.to_string()))?;
        let project = Arc::clone(&found.standard.project);
        let mut request = PortRequest::new(found.network, &project);
        request.device_id = router.to_string();
        request.device_owner = Arc::from("network:router_interface");
        request.fixed = vec![
            found
                .gateway
                .map_or(Wanted::Any(subnet), |address| Wanted::This(Some(subnet), address)),
        ];
        request.port_security = Some(false);
        let port = self.create_port(request, now)?;
        if let Some(router) = self.routers.get_mut(&router) {
            router.standard.touch(now);
        }
        Ok(port)
    }

    /// Makes a router, with a way out if it is to have one.
    pub(crate) fn create_router(
        &mut self,
        standard: Standard,
        out: Option<Uuid>,
        now: jiff::Timestamp,
    ) -> Result<Uuid, Response> {
        let id = Uuid::new_v4();
        let gateway = out.map(|network| self.open(id, network, now)).transpose()?;
        let revision = if gateway.is_some() { 2 } else { 1 };
        let router = Router {
            id,
            standard: standard.revision(revision),
            gateway,
            routes: Vec::new(),
        };
        self.routers.insert(id, router);
        Ok(id)
    }

    fn open(&mut self, router: Uuid, network: Uuid, now: jiff::Timestamp) -> Result<Gateway, Response> {
        let mut request = PortRequest::new(network, &Arc::from(""));
        request.device_id = router.to_string();
        request.device_owner = Arc::from("network:router_gateway");
        request.port_security = Some(false);
        let port = self.create_port(request, now)?;
        let fixed = self.ports[&port].fixed.first().copied();
        let fixed = fixed.ok_or_else(|| error(400, "BadRequest", "Bad router request: the network has no subnet"))?;
        Ok(Gateway { network, fixed, port })
    }

    /// The subnets that a router is connected with, and their ports.
    pub(super) fn interfaces(&self, router: Uuid) -> impl Iterator<Item = (Uuid, Fixed)> {
        let ports = self.ports_of(&router.to_string()).collect::<Vec<_>>();
        ports
            .into_iter()
            .flat_map(|port| port.fixed.iter().map(|fixed| (port.id, *fixed)).collect::<Vec<_>>())
    }
}

fn subnet_of(context: &Context<'_>) -> Result<Uuid, Response> {
    let fields = context
        .ask
        .json()
        .and_then(|body| body.as_object().cloned())
        .unwrap_or_default();
    body::required_id(&fields, "subnet_id")
}

fn plug(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let router = neutron.find::<Router>(id, &context.ask.caller)?.id;
    let subnet = subnet_of(context)?;
    neutron.find::<Subnet>(&subnet.to_string(), &context.ask.caller)?;
    if neutron.interfaces(router).any(|(_, fixed)| fixed.subnet == subnet) {
        let message = format!("Bad router request: Router already has a port on subnet {subnet}.");
        return Err(error(400, "BadRequest", &message));
    }
    let port = neutron.connect(router, subnet, context.now.wall)?;
    Ok(interface(neutron, router, port, subnet))
}

fn unplug(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let router = neutron.find::<Router>(id, &context.ask.caller)?;
    let subnet = subnet_of(context)?;
    let cidr = neutron.find::<Subnet>(&subnet.to_string(), &context.ask.caller)?.cidr;
    let id = router.id;
    if router.routes.iter().any(|route| cidr.contains(&route.nexthop)) {
        let message = format!(
            "Router interface for subnet {subnet} on router {id} cannot be deleted, as it is required by one or more routes."
        );
        return Err(error(409, "RouterInterfaceInUseByRoute", &message));
    }
    let found = neutron.interfaces(id).find(|(_, fixed)| fixed.subnet == subnet);
    let missing = || {
        error(
            404,
            "RouterInterfaceNotFoundForSubnet",
            &format!("Router {id} has no interface on subnet {subnet}"),
        )
    };
    let (port, _) = found.ok_or_else(missing)?;
    let answer = interface(neutron, id, port, subnet);
    neutron.drop_port(port);
    if let Some(router) = neutron.routers.get_mut(&id) {
        router.standard.touch(context.now.wall);
    }
    Ok(answer)
}

fn interface(neutron: &Neutron, router: Uuid, port: Uuid, subnet: Uuid) -> Response {
    let (found, owner) = (neutron.ports.get(&port), neutron.routers.get(&router));
    Response::ok(json!({
        "id": router, "project_id": owner.map(|router| &router.standard.project), "port_id": port,
        "network_id": found.map(|port| port.network), "subnet_id": subnet, "subnet_ids": [subnet],
    }))
}
