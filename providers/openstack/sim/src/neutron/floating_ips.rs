//! Floating IPs.

use super::{
    Context, Neutron, Port, Standard, body, error,
    ports::Wanted,
    resource::{Resource, kept_in},
};
use crate::{
    exchange::{Fields, Response},
    keystone::Rights,
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
    /// The last report of the agent, which follows the answer to a change.
    status: &'static str,
}

impl Resource for FloatingIp {
    const ONE: &'static str = "floatingip";
    const MANY: &'static str = "floatingips";
    const FILTERS: &'static [&'static str] = &[
        "floating_network_id",
        "floating_ip_address",
        "port_id",
        "fixed_ip_address",
        "router_id",
    ];
    const KNOWN: &'static [&'static str] = &[
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

    kept_in!(floating_ips);

    fn missing(id: &str) -> Response {
        error(
            404,
            "FloatingIPNotFound",
            &format!("Floating IP {id} could not be found"),
        )
    }

    fn view(&self, neutron: &Neutron, _: &Context<'_>) -> Value {
        let details = self.port.and_then(|id| neutron.ports.get(&id)).map(details);
        let mut view = self.standard.complete(json!({
            "id": self.id, "floating_ip_address": self.address, "floating_network_id": self.network,
            "router_id": self.router, "port_id": self.port, "fixed_ip_address": self.fixed,
            "status": self.status, "port_details": details, "dns_domain": "", "dns_name": "", "port_forwardings": [],
        }));
        if let Value::Object(fields) = &mut view {
            fields.remove("name");
        }
        view
    }

    fn before_look(neutron: &mut Neutron, _: &Context<'_>, which: Option<Uuid>) {
        let all = neutron.floating_ips.values_mut();
        all.filter(|one| which.is_none_or(|id| one.id == id))
            .for_each(Self::report);
    }

    fn create(neutron: &mut Neutron, context: &Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
        let network = body::required_id(fields, "floating_network_id")?;
        context.room_for::<Self>(neutron, 1)?;
        let subnet = body::id(fields, "subnet_id")?;
        let wanted = match body::text(fields, "floating_ip_address") {
            Some(_) if context.ask.caller.rights == Rights::Member => return Err(forbidden()),
            Some(text) => text.parse().ok().map(|address| Wanted::This(subnet, address)),
            None => subnet.map(Wanted::Any),
        };
        let port = port(neutron, context, fields)?;
        let mut standard = Standard::of(&context.ask.caller.project, fields, context.now.wall);
        standard.name = "".into();
        let id = neutron.create_floating_ip(standard, network, wanted)?;
        if port.is_some() {
            neutron
                .attach(id, port, context.now.wall)
                .inspect_err(|_| neutron.drop_floating_ip(id))?;
            let born = |floating: &mut Self| floating.standard.revision = 0;
            neutron.floating_ips.entry(id).and_modify(born);
        }
        Ok(id)
    }

    fn update(neutron: &mut Neutron, context: &Context<'_>, id: Uuid, fields: &Fields) -> Result<(), Response> {
        neutron.floating_ips.entry(id).and_modify(Self::report);
        if fields.contains_key("port_id") {
            let port = port(neutron, context, fields)?;
            neutron.attach(id, port, context.now.wall)?;
        }
        let take_over = |floating: &mut Self| floating.standard.take_over(fields);
        neutron.floating_ips.entry(id).and_modify(take_over);
        Ok(())
    }

    fn delete(neutron: &mut Neutron, _: &Context<'_>, id: Uuid) -> Result<(), Response> {
        neutron.drop_floating_ip(id);
        Ok(())
    }
}

/// The port that a floating IP is to be on, which must be there.
fn port(neutron: &Neutron, context: &Context<'_>, fields: &Fields) -> Result<Option<Uuid>, Response> {
    let port = body::id(fields, "port_id")?;
    if let Some(port) = port {
        neutron.find::<Port>(&port.to_string(), &context.ask.caller)?;
    }
    Ok(port)
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

impl Neutron {
    /// Makes a floating IP that is on no port.
    pub(crate) fn create_floating_ip(
        &mut self,
        standard: Standard,
        network: Uuid,
        wanted: Option<Wanted>,
    ) -> Result<Uuid, Response> {
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

    fn any_v4(&mut self, network: Uuid) -> Result<super::Fixed, Response> {
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

    /// Attaches a floating IP to a port, or detaches it.
    pub(crate) fn attach(&mut self, id: Uuid, port: Option<Uuid>, now: Timestamp) -> Result<(), Response> {
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
    fn target(&self, floating: &FloatingIp, port: Uuid) -> Result<(Uuid, IpAddr, Uuid), Response> {
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

fn forbidden() -> Response {
    let message = "(rule:create_floatingip and rule:create_floatingip:floating_ip_address) is disallowed by policy";
    error(403, "PolicyNotAuthorized", message)
}
