//! Ports.

mod change;
mod create;
mod view;

pub(crate) use create::{Request, Wanted};

use super::{
    Context, Fixed, Neutron, Standard, error,
    resource::{Resource, kept_in},
};
use crate::{
    exchange::{Fields, Response},
    keystone::Caller,
};
use serde_json::Value;
use std::sync::Arc;
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct Port {
    pub(crate) id: Uuid,
    pub(crate) network: Uuid,
    /// The project of its network, which sees it, too.
    pub(crate) network_owner: Arc<str>,
    pub(crate) standard: Standard,
    pub(crate) mac: [u8; 6],
    pub(crate) fixed: Vec<Fixed>,
    pub(crate) device_id: Box<str>,
    pub(crate) device_owner: Arc<str>,
    pub(crate) status: Status,
    pub(crate) admin_up: bool,
    pub(crate) groups: Vec<Uuid>,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) secured: bool,
    pub(crate) dns_name: Box<str>,
    pub(crate) host: Box<str>,
}

/// An address besides its own that a port may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) address: Box<str>,
    pub(crate) mac: Box<str>,
}

/// Whether a port works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Active,
    Down,
}

impl Status {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Down => "DOWN",
        }
    }
}

impl Port {
    pub(crate) fn mac_text(&self) -> String {
        self.mac.map(|byte| format!("{byte:02x}")).join(":")
    }
}

impl Resource for Port {
    const ONE: &'static str = "port";
    const MANY: &'static str = "ports";
    const FILTERS: &'static [&'static str] = &[
        "network_id",
        "device_id",
        "device_owner",
        "mac_address",
        "fixed_ips",
        "security_groups",
        "port_security_enabled",
        "binding:host_id",
        "binding:vnic_type",
        "dns_name",
    ];
    const KNOWN: &'static [&'static str] = &[
        "network_id",
        "name",
        "description",
        "admin_state_up",
        "device_id",
        "device_owner",
        "fixed_ips",
        "security_groups",
        "allowed_address_pairs",
        "port_security_enabled",
        "mac_address",
        "project_id",
        "tenant_id",
        "dns_name",
        "binding:host_id",
        "binding:vnic_type",
        "binding:profile",
    ];

    kept_in!(ports);

    fn missing(id: &str) -> Response {
        error(404, "PortNotFound", &format!("Port {id} could not be found."))
    }

    fn visible(&self, caller: &Caller) -> bool {
        caller.sees(&self.standard.project) || caller.sees(&self.network_owner)
    }

    fn view(&self, neutron: &Neutron, context: &Context<'_>) -> Value {
        view::view(self, neutron, context)
    }

    fn candidates<'a>(neutron: &'a Neutron, context: &Context<'_>) -> (Vec<&'a Self>, &'static [&'static str]) {
        let query = &context.ask.query;
        let mut rows: Vec<&Self> = if query.get("device_id").is_some() {
            let devices = query.all("device_id");
            devices.flat_map(|device| neutron.ports_of(device)).collect()
        } else {
            neutron.ports.values().collect()
        };
        rows.retain(|port| quick(port, query));
        rows.sort_unstable_by_key(|port| port.id);
        rows.dedup_by_key(|port| port.id);
        (rows, QUICK)
    }

    fn create(neutron: &mut Neutron, context: &Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
        change::create(neutron, context, fields)
    }

    fn update(neutron: &mut Neutron, context: &Context<'_>, id: Uuid, fields: &Fields) -> Result<(), Response> {
        change::update(neutron, context, id, fields)
    }

    fn delete(neutron: &mut Neutron, _: &Context<'_>, id: Uuid) -> Result<(), Response> {
        let owner = &neutron.ports[&id].device_owner;
        if owner.starts_with("network:router") {
            let message = format!("Port {id} cannot be deleted directly via the port API: has device owner {owner}.");
            return Err(error(409, "ServicePortInUse", &message));
        }
        neutron.drop_port(id);
        Ok(())
    }
}

impl Neutron {
    /// The ports of a device, in the order of their IDs.
    pub(crate) fn ports_of(&self, device: &str) -> impl Iterator<Item = &Port> {
        self.devices
            .get(device)
            .into_iter()
            .flatten()
            .filter_map(|id| self.ports.get(id))
    }

    /// Removes a port and everything that hangs on it.
    pub(crate) fn drop_port(&mut self, id: Uuid) {
        let Some(port) = self.ports.remove(&id) else { return };
        if let Some(ports) = self.devices.get_mut(&port.device_id) {
            ports.retain(|other| *other != id);
            if ports.is_empty() {
                self.devices.remove(&port.device_id);
            }
        }
        for fixed in &port.fixed {
            if let Some(subnet) = self.subnets.get_mut(&fixed.subnet) {
                subnet.pool.give_back(fixed.address);
            }
        }
        for floating in self
            .floating_ips
            .values_mut()
            .filter(|floating| floating.port == Some(id))
        {
            floating.detach();
        }
        for trunk in self.trunks.values_mut() {
            trunk.subports.retain(|sub| sub.port != id);
        }
        self.trunks.retain(|_, trunk| trunk.port != id);
    }
}

/// The filters that need no view of a port.
const QUICK: &[&str] = &[
    "device_id",
    "network_id",
    "id",
    "device_owner",
    "security_groups",
    "name",
    "status",
];

fn quick(port: &Port, query: &fakecloud::Query) -> bool {
    QUICK.iter().all(|name| {
        let mut wanted = query.all(name).peekable();
        wanted.peek().is_none()
            || wanted.any(|wanted| match *name {
                "device_id" => &*port.device_id == wanted,
                "device_owner" => &*port.device_owner == wanted,
                "name" => &*port.standard.name == wanted,
                "status" => port.status.as_str() == wanted,
                "network_id" => Uuid::parse_str(wanted) == Ok(port.network),
                "id" => Uuid::parse_str(wanted) == Ok(port.id),
                _ => Uuid::parse_str(wanted).is_ok_and(|group| port.groups.contains(&group)),
            })
    })
}
