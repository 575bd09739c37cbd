//! Ports as requests create and change them.

use super::{Pair, Port, Request, Status, Wanted};
use crate::{
    exchange::{Fields, Response},
    neutron::{Context, Group, Neutron, bad_request, body, error, resource::Resource},
};
use serde_json::Value;
use std::{net::IpAddr, sync::Arc};
use uuid::Uuid;

pub(super) fn create(neutron: &mut Neutron, context: &Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
    let network = body::required_id(fields, "network_id")?;
    context.room_for::<Port>(neutron, 1)?;
    let mut request = Request::new(network, &context.ask.caller.project);
    let text = |name: &str| body::text(fields, name).unwrap_or_default();
    (request.name, request.device_id) = (text("name").into(), text("device_id").into());
    request.device_owner = body::text(fields, "device_owner").unwrap_or_default().into();
    request.admin_up = body::switch(fields, "admin_state_up").unwrap_or(true);
    request.port_security = body::switch(fields, "port_security_enabled");
    request.fixed = wanted(fields)?;
    request.groups = groups(neutron, fields)?;
    let id = neutron.create_port(request, context.now.wall)?;
    let port = neutron
        .ports
        .get_mut(&id)
        .ok_or_else(|| Port::missing(&id.to_string()))?;
    port.standard.take_over(fields);
    if let Some(pairs) = pairs(fields, port)? {
        port.pairs = pairs;
    }
    Ok(id)
}

pub(super) fn update(neutron: &mut Neutron, context: &Context<'_>, id: Uuid, fields: &Fields) -> Result<(), Response> {
    if fields.contains_key("allowed_address_pairs") && !context.is_on("allowed-address-pairs") {
        return Err(bad_request("Unrecognized attribute(s) 'allowed_address_pairs'"));
    }
    let groups = groups(neutron, fields)?;
    let port = neutron
        .ports
        .get_mut(&id)
        .ok_or_else(|| Port::missing(&id.to_string()))?;
    let port_security = body::switch(fields, "port_security_enabled").unwrap_or(port.secured);
    let pairs = pairs(fields, port)?;
    secure(
        port_security,
        pairs.as_ref().unwrap_or(&port.pairs),
        groups.as_deref().map_or(Groups::There(&port.groups), Groups::Wanted),
    )?;
    port.secured = port_security;
    port.pairs = pairs.unwrap_or_else(|| std::mem::take(&mut port.pairs));
    port.groups = groups.unwrap_or_else(|| std::mem::take(&mut port.groups));
    port.standard.take_over(fields);
    port.admin_up = body::switch(fields, "admin_state_up").unwrap_or(port.admin_up);
    port.standard.touch(context.now.wall);
    if let Some(device) = body::text(fields, "device_id") {
        neutron.move_port(id, device);
    }
    Ok(())
}

impl Neutron {
    /// Makes a port that of a server.
    pub(crate) fn plug_port(&mut self, id: Uuid, server: &str, owner: &Arc<str>) {
        self.move_port(id, server);
        if let Some(port) = self.ports.get_mut(&id) {
            port.device_owner = Arc::clone(owner);
            port.status = Status::Active;
            port.host = "compute-0".into();
        }
    }

    /// Makes a port that of another device.
    pub(crate) fn move_port(&mut self, id: Uuid, device: &str) {
        let Some(port) = self.ports.get_mut(&id) else { return };
        let old = std::mem::replace(&mut port.device_id, device.into());
        if let Some(ports) = self.devices.get_mut(&old) {
            ports.retain(|other| *other != id);
        }
        self.devices.entry(device.into()).or_default().push(id);
    }
}

/// The security groups of a port.
#[derive(Clone, Copy)]
enum Groups<'a> {
    /// Are to be these.
    Wanted(&'a [Uuid]),
    /// Are these.
    There(&'a [Uuid]),
}

/// Without port security there is nothing to secure.
fn secure(port_security: bool, pairs: &[Pair], groups: Groups<'_>) -> Result<(), Response> {
    if port_security {
        return Ok(());
    }
    if !pairs.is_empty() {
        let message = "Port Security must be enabled in order to have allowed address pairs on a port.";
        return Err(error(409, "AddressPairAndPortSecurityRequired", message));
    }
    match groups {
        Groups::Wanted(groups) if !groups.is_empty() => {
            let message =
                "Port security must be enabled and port must have an IP address in order to use security groups.";
            Err(error(400, "PortSecurityAndIPRequiredForSecurityGroups", message))
        }
        Groups::There(groups) if !groups.is_empty() => {
            let message = "Port has security group associated. Cannot disable port security or IP address until security group \
                           is removed.";
            Err(error(409, "PortSecurityPortHasSecurityGroup", message))
        }
        _ => Ok(()),
    }
}

fn wanted(fields: &Fields) -> Result<Vec<Wanted>, Response> {
    let given = fields.get("fixed_ips").and_then(Value::as_array).into_iter().flatten();
    given
        .map(|one| {
            let one = one.as_object().cloned().unwrap_or_default();
            let subnet = body::id(&one, "subnet_id")?;
            let bad = |text: &str| {
                bad_request(&format!(
                    "Invalid input for fixed_ips. Reason: '{text}' is not a valid IP address."
                ))
            };
            match (body::text(&one, "ip_address"), subnet) {
                (Some(text), subnet) => text
                    .parse()
                    .map(|address| Wanted::This(subnet, address))
                    .map_err(|_| bad(text)),
                (None, Some(subnet)) => Ok(Wanted::Any(subnet)),
                (None, None) => Err(bad("")),
            }
        })
        .collect()
}

fn groups(neutron: &Neutron, fields: &Fields) -> Result<Option<Vec<Uuid>>, Response> {
    let Some(given) = fields.get("security_groups").and_then(Value::as_array) else {
        return Ok(None);
    };
    let find = |text: &Value| {
        let text = text.as_str().unwrap_or_default();
        let id = Uuid::parse_str(text).ok().filter(|id| neutron.groups.contains_key(id));
        id.ok_or_else(|| Group::missing(text))
    };
    given.iter().map(find).collect::<Result<Vec<_>, _>>().map(Some)
}

fn pairs(fields: &Fields, port: &Port) -> Result<Option<Vec<Pair>>, Response> {
    let Some(given) = fields.get("allowed_address_pairs").and_then(Value::as_array) else {
        return Ok(None);
    };
    let mac = port.mac_text();
    let mut pairs: Vec<Pair> = Vec::new();
    for one in given {
        let address = one["ip_address"].as_str().unwrap_or_default();
        if address.parse::<ipnet::IpNet>().is_err() && address.parse::<IpAddr>().is_err() {
            let message =
                format!("Invalid input for allowed_address_pairs. Reason: '{address}' is not a valid IP subnet.");
            return Err(bad_request(&message));
        }
        let pair = Pair {
            address: address.into(),
            mac: one["mac_address"].as_str().unwrap_or(&mac).into(),
        };
        if pairs.contains(&pair) {
            let message = format!(
                "Request contains duplicate address pair: mac_address {} ip_address {address}.",
                pair.mac
            );
            return Err(error(400, "DuplicateAddressPairInRequest", &message));
        }
        pairs.push(pair);
    }
    Ok(Some(pairs))
}
