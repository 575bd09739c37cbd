//! Networks.

use super::{
    Context, Neutron, Standard, body, error,
    resource::{Resource, kept_in},
};
use crate::{
    exchange::{Fields, Response},
    keystone::{Caller, Rights},
};
use serde_json::{Value, json};
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct Network {
    pub(crate) id: Uuid,
    pub(crate) standard: Standard,
    pub(crate) shared: bool,
    pub(crate) external: bool,
    pub(crate) port_security: bool,
    pub(crate) mtu: u32,
    pub(crate) dns_domain: String,
}

impl Resource for Network {
    const ONE: &'static str = "network";
    const MANY: &'static str = "networks";
    const FILTERS: &'static [&'static str] = &[
        "router:external",
        "shared",
        "mtu",
        "port_security_enabled",
        "is_default",
        "subnets",
    ];
    const KNOWN: &'static [&'static str] = &[
        "name",
        "description",
        "admin_state_up",
        "shared",
        "router:external",
        "port_security_enabled",
        "mtu",
        "dns_domain",
        "project_id",
        "tenant_id",
        "provider:network_type",
        "provider:physical_network",
        "provider:segmentation_id",
    ];

    kept_in!(networks);

    fn missing(id: &str) -> Response {
        error(404, "NetworkNotFound", &format!("Network {id} could not be found."))
    }

    fn visible(&self, caller: &Caller) -> bool {
        self.shared || self.external || caller.sees(&self.standard.project)
    }

    fn view(&self, neutron: &Neutron, context: &Context<'_>) -> Value {
        let subnets = neutron.subnets.values().filter(|subnet| subnet.network == self.id);
        let subnets: Vec<Uuid> = subnets.map(|subnet| subnet.id).collect();
        let mut view = self.standard.complete(json!({
            "id": self.id, "admin_state_up": true, "mtu": self.mtu, "status": "ACTIVE", "subnets": subnets,
            "shared": self.shared, "router:external": self.external, "port_security_enabled": self.port_security,
            "dns_domain": self.dns_domain, "vlan_transparent": false, "qinq": false, "availability_zone_hints": [],
            "availability_zones": [], "ipv4_address_scope": null, "ipv6_address_scope": null,
        }));
        if self.external {
            view["is_default"] = json!(false);
        }
        if context.ask.caller.rights == Rights::Admin {
            view["provider:network_type"] = json!(if self.external { "flat" } else { "vxlan" });
            view["provider:physical_network"] = if self.external { json!("ext") } else { Value::Null };
            view["provider:segmentation_id"] = if self.external { Value::Null } else { json!(1) };
        }
        view
    }

    fn newborn(view: &mut Value) {
        view["is_default"] = json!(false);
    }

    fn create(neutron: &mut Neutron, context: &Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
        context.room_for::<Self>(neutron, 1)?;
        let project = body::text(fields, "project_id").map_or_else(|| context.ask.caller.project.clone(), Into::into);
        let external = body::switch(fields, "router:external").unwrap_or_default();
        if external && context.ask.caller.rights == Rights::Member {
            let message = "(rule:create_network and rule:create_network:router:external) is disallowed by policy";
            return Err(error(403, "PolicyNotAuthorized", message));
        }
        let network = Self {
            id: Uuid::new_v4(),
            standard: Standard::of(&project, fields, context.now.wall),
            shared: body::switch(fields, "shared").unwrap_or_default(),
            external,
            port_security: body::switch(fields, "port_security_enabled").unwrap_or(true),
            mtu: if external { 1500 } else { 1450 },
            dns_domain: body::text(fields, "dns_domain").unwrap_or_default().to_owned(),
        };
        let id = network.id;
        neutron.networks.insert(id, network);
        Ok(id)
    }

    fn update(neutron: &mut Neutron, context: &Context<'_>, id: Uuid, fields: &Fields) -> Result<(), Response> {
        if let Some(network) = neutron.networks.get_mut(&id) {
            network.standard.take_over(fields);
            network.shared = body::switch(fields, "shared").unwrap_or(network.shared);
            network.standard.touch(context.now.wall);
        }
        Ok(())
    }

    fn delete(neutron: &mut Neutron, _: &Context<'_>, id: Uuid) -> Result<(), Response> {
        let on_it = neutron.ports.values().filter(|port| port.network == id);
        let on_it: Vec<String> = on_it.map(|port| port.id.to_string()).collect();
        if !on_it.is_empty() {
            let message = format!(
                "Unable to complete operation on network {id}. There are one or more ports still in use on the network, id for \
                 these ports is: {}.",
                on_it.join(",")
            );
            return Err(error(409, "NetworkInUse", &message));
        }
        neutron.subnets.retain(|_, subnet| subnet.network != id);
        neutron.networks.remove(&id);
        Ok(())
    }
}
