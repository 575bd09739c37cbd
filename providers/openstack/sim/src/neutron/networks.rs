//! Networks.

use super::{
    Context, Neutron, Standard, body, error,
    list::{List, select},
    standard::Resource,
};
use crate::{
    exchange::{Answer, Outcome, unknown},
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
    const MANY: &'static str = "networks";
    const FILTERS: &'static [&'static str] = &[
        "router:external",
        "shared",
        "mtu",
        "port_security_enabled",
        "is_default",
        "subnets",
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
        error(404, "NetworkNotFound", &format!("Network {id} could not be found."))
    }

    fn visible(&self, caller: &Caller) -> bool {
        self.shared || self.external || caller.sees(&self.standard.project)
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
    fn network(&self, id: &str, caller: &Caller) -> Result<&Network, Answer> {
        let found = Uuid::parse_str(id).ok().and_then(|id| self.networks.get(&id));
        found
            .filter(|network| network.visible(caller))
            .ok_or_else(|| Network::missing(id))
    }

    fn network_view(&self, network: &Network, caller: &Caller) -> Value {
        let subnets: Vec<Uuid> = self
            .subnets
            .values()
            .filter(|subnet| subnet.network == network.id)
            .map(|subnet| subnet.id)
            .collect();
        let mut view = network.standard.complete(json!({
            "id": network.id, "admin_state_up": true, "mtu": network.mtu, "status": "ACTIVE", "subnets": subnets,
            "shared": network.shared, "router:external": network.external, "port_security_enabled": network.port_security,
            "dns_domain": network.dns_domain, "vlan_transparent": false, "qinq": false, "availability_zone_hints": [],
            "availability_zones": [], "ipv4_address_scope": null, "ipv6_address_scope": null,
        }));
        if network.external {
            view["is_default"] = json!(false);
        }
        if caller.rights == Rights::Admin {
            view["provider:network_type"] = json!(if network.external { "flat" } else { "vxlan" });
            view["provider:physical_network"] = if network.external { json!("ext") } else { Value::Null };
            view["provider:segmentation_id"] = if network.external { Value::Null } else { json!(1) };
        }
        view
    }
}

fn list(neutron: &Neutron, context: &Context<'_>) -> Outcome {
    let list = List {
        rows: neutron.networks.values().collect(),
        passed: &[],
        limit: context.settings.neutron_page,
    };
    list.answer(context.ask, |network| {
        neutron.network_view(network, &context.ask.caller)
    })
}

fn show(neutron: &Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let network = neutron.network(id, &context.ask.caller)?;
    let fields: Vec<&str> = context.ask.query.all("fields").collect();
    Ok(Answer::ok(
        json!({"network": select(neutron.network_view(network, &context.ask.caller), &fields)}),
    ))
}

const KNOWN: &[&str] = &[
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

fn create(neutron: &mut Neutron, context: &Context<'_>) -> Outcome {
    let fields = body::resource(context.ask, "network", KNOWN)?;
    context.quota("network", neutron.networks.values().map(|network| &network.standard), 1)?;
    let project = body::text(&fields, "project_id").map_or_else(|| context.ask.caller.project.clone(), Into::into);
    let mut standard = Standard::new(
        &project,
        body::text(&fields, "name").unwrap_or_default(),
        context.now.wall,
    );
    standard.description = body::text(&fields, "description").unwrap_or_default().into();
    let external = body::switch(&fields, "router:external").unwrap_or_default();
    let network = Network {
        id: Uuid::new_v4(),
        standard,
        shared: body::switch(&fields, "shared").unwrap_or_default(),
        external,
        port_security: body::switch(&fields, "port_security_enabled").unwrap_or(true),
        mtu: if external { 1500 } else { 1450 },
        dns_domain: body::text(&fields, "dns_domain").unwrap_or_default().to_owned(),
    };
    let mut view = neutron.network_view(&network, &context.ask.caller);
    view["is_default"] = json!(false);
    neutron.networks.insert(network.id, network);
    Ok(Answer::json(201, json!({"network": view})))
}

fn update(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let fields = body::resource(context.ask, "network", KNOWN)?;
    let id = neutron.network(id, &context.ask.caller)?.id;
    if let Some(network) = neutron.networks.get_mut(&id) {
        context.guard(&network.standard)?;
        if let Some(name) = body::text(&fields, "name") {
            network.standard.name = name.into();
        }
        if let Some(description) = body::text(&fields, "description") {
            network.standard.description = description.into();
        }
        network.shared = body::switch(&fields, "shared").unwrap_or(network.shared);
        network.standard.touch(context.now.wall);
    }
    show(neutron, context, &id.to_string())
}

fn delete(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let id = neutron.network(id, &context.ask.caller)?.id;
    let on_it: Vec<String> = neutron
        .ports
        .values()
        .filter(|port| port.network == id)
        .map(|port| port.id.to_string())
        .collect();
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
    Ok(Answer::empty(204))
}
