//! Floating IPs.

use super::{
    Context, Neutron, Port, Standard, body, error,
    list::{List, select},
    ports::Wanted,
    standard::Resource,
};
use crate::{
    exchange::{Answer, Outcome, unknown},
    keystone::{Caller, Rights},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::net::IpAddr;
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct FloatingIp {
    pub(crate) id: Uuid,
    pub(crate) standard: Standard,
    pub(crate) network: Uuid,
    pub(crate) subnet: Uuid,
    pub(crate) address: IpAddr,
    pub(crate) port: Option<Uuid>,
    pub(crate) fixed: Option<IpAddr>,
    pub(crate) router: Option<Uuid>,
    /// What the last report of the agent said; it comes just after the answer to a change.
    status: &'static str,
}

impl Resource for FloatingIp {
    const MANY: &'static str = "floatingips";
    const FILTERS: &'static [&'static str] = &[
        "floating_network_id",
        "floating_ip_address",
        "port_id",
        "fixed_ip_address",
        "router_id",
    ];

    fn id(&self) -> Uuid {
        self.id
    }

    fn standard(&self) -> &Standard {
        &self.standard
    }

    fn standard_mut(&mut self) -> &mut Standard {
        &mut self.standard
    }

    fn missing(id: &str) -> Answer {
        error(
            404,
            "FloatingIPNotFound",
            &format!("Floating IP {id} could not be found"),
        )
    }
}

impl FloatingIp {
    /// Takes it off its port.
    pub(crate) fn detach(&mut self) {
        (self.port, self.fixed, self.router) = (None, None, None);
    }

    /// The agent reports.
    fn report(&mut self) {
        let status = if self.port.is_some() { "ACTIVE" } else { "DOWN" };
        if self.status != status {
            self.status = status;
            self.standard.revision += 1;
        }
    }
}

pub(super) fn answer(neutron: &mut Neutron, context: &Context<'_>, method: &str, path: &[&str]) -> Outcome {
    match (method, path) {
        ("GET", []) => list(neutron, context),
        ("GET", [id]) => show(neutron, context, id),
        ("POST", []) => create(neutron, context),
        ("PUT", [id]) => update(neutron, context, id),
        ("DELETE", [id]) => delete(neutron, context, id),
        _ => Err(unknown(context.ask)),
    }
}

impl Neutron {
    fn floating_ip(&self, id: &str, caller: &Caller) -> Result<&FloatingIp, Answer> {
        let found = Uuid::parse_str(id).ok().and_then(|id| self.floating_ips.get(&id));
        found
            .filter(|floating| floating.visible(caller))
            .ok_or_else(|| FloatingIp::missing(id))
    }

    fn floating_view(&self, floating: &FloatingIp) -> Value {
        let details = floating.port.and_then(|id| self.ports.get(&id)).map(details);
        let mut view = floating.standard.complete(json!({
            "id": floating.id, "floating_ip_address": floating.address, "floating_network_id": floating.network,
            "router_id": floating.router, "port_id": floating.port, "fixed_ip_address": floating.fixed,
            "status": floating.status, "port_details": details, "dns_domain": "", "dns_name": "", "port_forwardings": [],
        }));
        if let Value::Object(fields) = &mut view {
            fields.remove("name");
        }
        view
    }

    /// Makes a floating IP that is on no port.
    pub(crate) fn create_floating_ip(
        &mut self,
        standard: Standard,
        network: Uuid,
        wanted: Option<Wanted>,
    ) -> Result<Uuid, Answer> {
        let missing = || super::Network::missing(&network.to_string());
        if !self.networks.get(&network).ok_or_else(missing)?.external {
            let message = format!("Bad floatingip request: Network {network} is not a valid external network.");
            return Err(error(400, "BadRequest", &message));
        }
        let fixed = match wanted {
            Some(wanted) => self.take(network, wanted)?,
            None => self.any_v4(network)?,
        };
        let floating = FloatingIp {
            id: Uuid::new_v4(),
            standard: standard.revision(0),
            network,
            subnet: fixed.subnet,
            address: fixed.address,
            port: None,
            fixed: None,
            router: None,
            status: "DOWN",
        };
        let id = floating.id;
        self.floating_ips.insert(id, floating);
        Ok(id)
    }

    fn any_v4(&mut self, network: Uuid) -> Result<super::Fixed, Answer> {
        let subnets: Vec<Uuid> = self
            .subnets
            .values()
            .filter(|subnet| subnet.network == network && subnet.cidr.addr().is_ipv4())
            .map(|subnet| subnet.id)
            .collect();
        let full = error(
            409,
            "IpAddressGenerationFailure",
            &format!("No more IP addresses available on network {network}."),
        );
        subnets
            .into_iter()
            .map(|subnet| self.take(network, Wanted::Any(subnet)))
            .find(Result::is_ok)
            .unwrap_or(Err(full))
    }

    /// Puts a floating IP on a port, or takes it off.
    pub(crate) fn attach(&mut self, id: Uuid, port: Option<Uuid>, now: Timestamp) -> Result<(), Answer> {
        let missing = || FloatingIp::missing(&id.to_string());
        let floating = self.floating_ips.get(&id).ok_or_else(missing)?;
        let target = match port {
            Some(port) => Some(self.target(floating, port)?),
            None => None,
        };
        let floating = self.floating_ips.get_mut(&id).ok_or_else(missing)?;
        floating.detach();
        if let Some((port, fixed, router)) = target {
            (floating.port, floating.fixed, floating.router) = (Some(port), Some(fixed), Some(router));
        }
        floating.standard.touch(now);
        Ok(())
    }

    /// The address of a port that a floating IP can stand for, and the router in between.
    fn target(&self, floating: &FloatingIp, port: Uuid) -> Result<(Uuid, IpAddr, Uuid), Answer> {
        let found = self.ports.get(&port).ok_or_else(|| Port::missing(&port.to_string()))?;
        let fixed = found.fixed.iter().find(|fixed| fixed.address.is_ipv4());
        let bad = || {
            error(
                400,
                "BadRequest",
                &format!("Bad floatingip request: Port {port} does not have fixed IPv4 addresses."),
            )
        };
        let fixed = fixed.ok_or_else(bad)?;
        let taken = |other: &&FloatingIp| {
            other.id != floating.id && other.port == Some(port) && other.network == floating.network
        };
        if self.floating_ips.values().any(|other| taken(&other)) {
            let message = format!(
                "Cannot associate floating IP {} ({}) with port {port} using fixed IP {}, as that fixed IP already has a floating \
                 IP on external network {}.",
                floating.address, floating.id, fixed.address, floating.network
            );
            return Err(error(409, "FloatingIPPortAlreadyAssociated", &message));
        }
        let between = |router: &&super::Router| {
            router
                .gateway
                .as_ref()
                .is_some_and(|gateway| gateway.network == floating.network)
                && self
                    .interfaces(router.id)
                    .any(|(_, interface)| interface.subnet == fixed.subnet)
        };
        let message = format!(
            "External network {} is not reachable from subnet {}.  Therefore, cannot associate Port {port} with a Floating IP.",
            floating.network, fixed.subnet
        );
        let router = self.routers.values().find(between);
        let router = router.ok_or_else(|| error(404, "ExternalGatewayForFloatingIPNotFound", &message))?;
        Ok((port, fixed.address, router.id))
    }

    /// The floating IPs on a port.
    pub(crate) fn floating_on(&self, port: &Port) -> impl Iterator<Item = &FloatingIp> {
        let id = port.id;
        self.floating_ips
            .values()
            .filter(move |floating| floating.port == Some(id))
    }

    /// Removes a floating IP.
    pub(crate) fn drop_floating_ip(&mut self, id: Uuid) {
        let Some(floating) = self.floating_ips.remove(&id) else {
            return;
        };
        if let Some(subnet) = self.subnets.get_mut(&floating.subnet) {
            subnet.pool.give_back(floating.address);
        }
    }
}

fn details(port: &Port) -> Value {
    json!({
        "name": port.standard.name, "network_id": port.network, "mac_address": port.mac_text(),
        "admin_state_up": port.admin_up, "status": port.status.as_str(), "device_id": port.device_id,
        "device_owner": port.device_owner,
    })
}

fn list(neutron: &mut Neutron, context: &Context<'_>) -> Outcome {
    neutron.floating_ips.values_mut().for_each(FloatingIp::report);
    let list = List {
        rows: neutron.floating_ips.values().collect(),
        passed: &[],
        limit: context.settings.neutron_page,
    };
    list.answer(context.ask, |floating| neutron.floating_view(floating))
}

fn show(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let id = neutron.floating_ip(id, &context.ask.caller)?.id;
    neutron.floating_ips.entry(id).and_modify(FloatingIp::report);
    let fields: Vec<&str> = context.ask.query.all("fields").collect();
    Ok(Answer::ok(
        json!({"floatingip": select(neutron.floating_view(&neutron.floating_ips[&id]), &fields)}),
    ))
}

const KNOWN: &[&str] = &[
    "floating_network_id",
    "floating_ip_address",
    "subnet_id",
    "port_id",
    "fixed_ip_address",
    "description",
    "project_id",
    "tenant_id",
    "dns_name",
    "dns_domain",
];

fn create(neutron: &mut Neutron, context: &Context<'_>) -> Outcome {
    let fields = body::resource(context.ask, "floatingip", KNOWN)?;
    let network = body::required_id(&fields, "floating_network_id")?;
    context.quota(
        "floatingip",
        neutron.floating_ips.values().map(|floating| &floating.standard),
        1,
    )?;
    let subnet = body::id(&fields, "subnet_id")?;
    let wanted = match body::text(&fields, "floating_ip_address") {
        Some(_) if context.ask.caller.rights == Rights::Member => return Err(forbidden()),
        Some(text) => text.parse().ok().map(|address| Wanted::This(subnet, address)),
        None => subnet.map(Wanted::Any),
    };
    let port = body::id(&fields, "port_id")?;
    if let Some(port) = port {
        neutron.port(&port.to_string(), &context.ask.caller)?;
    }
    let mut standard = Standard::new(&context.ask.caller.project, "", context.now.wall);
    standard.description = body::text(&fields, "description").unwrap_or_default().into();
    let id = neutron.create_floating_ip(standard, network, wanted)?;
    if port.is_some() {
        neutron
            .attach(id, port, context.now.wall)
            .inspect_err(|_| neutron.drop_floating_ip(id))?;
        neutron
            .floating_ips
            .entry(id)
            .and_modify(|floating| floating.standard.revision = 0);
    }
    let view = neutron.floating_view(&neutron.floating_ips[&id]);
    Ok(Answer::json(201, json!({"floatingip": view})))
}

fn forbidden() -> Answer {
    let message = "(rule:create_floatingip and rule:create_floatingip:floating_ip_address) is disallowed by policy";
    error(403, "PolicyNotAuthorized", message)
}

fn update(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let fields = body::resource(context.ask, "floatingip", KNOWN)?;
    let floating = neutron.floating_ip(id, &context.ask.caller)?;
    context.guard(&floating.standard)?;
    let id = floating.id;
    neutron.floating_ips.entry(id).and_modify(FloatingIp::report);
    if fields.contains_key("port_id") {
        let port = body::id(&fields, "port_id")?;
        if let Some(port) = port {
            neutron.port(&port.to_string(), &context.ask.caller)?;
        }
        neutron.attach(id, port, context.now.wall)?;
    }
    if let Some(description) = body::text(&fields, "description") {
        neutron
            .floating_ips
            .entry(id)
            .and_modify(|floating| floating.standard.description = description.into());
    }
    Ok(Answer::ok(
        json!({"floatingip": neutron.floating_view(&neutron.floating_ips[&id])}),
    ))
}

fn delete(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let floating = neutron.floating_ip(id, &context.ask.caller)?;
    context.guard(&floating.standard)?;
    let id = floating.id;
    neutron.drop_floating_ip(id);
    Ok(Answer::empty(204))
}
