//! The address of a load balancer.

use super::{Context, body, error, invalid};
use crate::{
    exchange::{Fields, Response},
    neutron::{PortRequest, Subnet, Wanted},
};
use serde_json::{Value, json};
use std::{net::IpAddr, sync::Arc};
use uuid::Uuid;

/// Where a load balancer is reached.
#[derive(Debug, Clone)]
pub(crate) struct Vip {
    pub(crate) address: IpAddr,
    pub(crate) port: Uuid,
    pub(crate) subnet: Uuid,
    pub(crate) network: Uuid,
    /// Further addresses, each with its subnet.
    pub(crate) additional: Vec<(Uuid, IpAddr)>,
    /// Whether the port was created for the load balancer, and is deleted with it.
    pub(crate) owned: bool,
}

impl Vip {
    pub(super) fn additional_view(&self) -> Value {
        let view = |(subnet, address): &(Uuid, IpAddr)| json!({"subnet_id": subnet, "ip_address": address, "port_id": self.port});
        self.additional.iter().map(view).collect()
    }
}

/// Finds or creates the port of a new load balancer.
pub(super) fn choose(context: &mut Context<'_>, fields: &Fields, balancer: Uuid) -> Result<Vip, Response> {
    if let Some(port) = body::id(fields, "vip_port_id")? {
        return on_port(context, port);
    }
    let (subnet, network) = (body::id(fields, "vip_subnet_id")?, body::id(fields, "vip_network_id")?);
    let wanted = body::text(fields, "vip_address")
        .map(|_| body::address(fields, "vip_address"))
        .transpose()?;
    let subnet = match (subnet, network) {
        (Some(id), _) => find_subnet(context, id)?,
        (None, Some(network)) => subnet_on(context, network, wanted)?,
        (None, None) => {
            return Err(invalid(
                "VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.",
            ));
        }
    };
    let (subnet, network) = (subnet.id, subnet.network);
    let mut addresses = vec![wanted.map_or(Wanted::Any(subnet), |address| Wanted::This(Some(subnet), address))];
    for one in body::list(fields, "additional_vips") {
        addresses.push(further(context, one)?);
    }
    make(context, balancer, network, addresses)
}

fn on_port(context: &Context<'_>, port: Uuid) -> Result<Vip, Response> {
    let found = context
        .neutron
        .ports
        .get(&port)
        .filter(|port| context.ask.caller.sees(&port.standard.project));
    let found = found.ok_or_else(|| error(400, &format!("Port {port} not found.")))?;
    let first = found
        .fixed
        .first()
        .ok_or_else(|| invalid("VIP port's subnet could not be determined."))?;
    Ok(Vip {
        address: first.address,
        port,
        subnet: first.subnet,
        network: found.network,
        additional: Vec::new(),
        owned: false,
    })
}

fn find_subnet<'a>(context: &'a Context<'_>, id: Uuid) -> Result<&'a Subnet, Response> {
    context
        .neutron
        .subnets
        .get(&id)
        .ok_or_else(|| error(400, &format!("Subnet {id} not found.")))
}

/// A subnet of IPv4, or else any.
fn subnet_on<'a>(context: &'a Context<'_>, network: Uuid, wanted: Option<IpAddr>) -> Result<&'a Subnet, Response> {
    if !context.neutron.networks.contains_key(&network) {
        return Err(error(400, &format!("Network {network} not found.")));
    }
    let on_it = || {
        let fits = move |subnet: &&Subnet| wanted.is_none_or(|address| subnet.cidr.contains(&address));
        context
            .neutron
            .subnets
            .values()
            .filter(move |subnet| subnet.network == network)
            .filter(fits)
    };
    let found = on_it()
        .find(|subnet| subnet.cidr.addr().is_ipv4())
        .or_else(|| on_it().next());
    found.ok_or_else(|| invalid("Supplied network does not contain a subnet."))
}

fn further(context: &Context<'_>, one: &Value) -> Result<Wanted, Response> {
    let fields = one.as_object().cloned().unwrap_or_default();
    let missing = || invalid("Additional VIPs must include a subnet_id.");
    let subnet = find_subnet(context, body::id(&fields, "subnet_id")?.ok_or_else(missing)?)?;
    Ok(match body::text(&fields, "ip_address") {
        Some(_) => Wanted::This(Some(subnet.id), body::address(&fields, "ip_address")?),
        None => Wanted::Any(subnet.id),
    })
}

fn make(context: &mut Context<'_>, balancer: Uuid, network: Uuid, addresses: Vec<Wanted>) -> Result<Vip, Response> {
    let mut request = PortRequest::new(network, &context.ask.caller.project);
    request.name = format!("octavia-lb-{balancer}");
    request.device_id = format!("lb-{balancer}");
    request.device_owner = Arc::from("Octavia");
    request.admin_up = false;
    request.fixed = addresses;
    let broken = |_| {
        let message = format!(
            "Error creating neutron port on network {network} due to ConflictException('ConflictException: 409')."
        );
        error(500, &message)
    };
    let port = context.neutron.create_port(request, context.now.wall).map_err(broken)?;
    let mut fixed = context
        .neutron
        .ports
        .get(&port)
        .map(|port| port.fixed.clone())
        .unwrap_or_default()
        .into_iter();
    let first = fixed
        .next()
        .ok_or_else(|| invalid("Supplied network does not contain a subnet."))?;
    Ok(Vip {
        address: first.address,
        port,
        subnet: first.subnet,
        network,
        additional: fixed.map(|fixed| (fixed.subnet, fixed.address)).collect(),
        owned: true,
    })
}
