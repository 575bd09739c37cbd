//! Subnets.

use super::{
    Context, Neutron, Standard,
    address::{Pool, gateway, ranges},
    bad_request, body, error,
    list::{List, select},
    standard::Resource,
};
use crate::{
    exchange::{Answer, Fields, Outcome, unknown},
    keystone::Caller,
};
use ipnet::IpNet;
use serde_json::{Value, json};
use std::net::IpAddr;
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct Subnet {
    pub(crate) id: Uuid,
    pub(crate) network: Uuid,
    pub(crate) standard: Standard,
    pub(crate) cidr: IpNet,
    pub(crate) gateway: Option<IpAddr>,
    pub(super) dhcp: bool,
    pub(super) nameservers: Vec<String>,
    pub(super) pool: Pool,
    /// Whether its network is external, and so everybody sees it.
    pub(super) external: bool,
}

impl Resource for Subnet {
    const MANY: &'static str = "subnets";
    const FILTERS: &'static [&'static str] = &[
        "network_id",
        "ip_version",
        "cidr",
        "gateway_ip",
        "enable_dhcp",
        "router:external",
        "subnetpool_id",
        "ipv6_ra_mode",
        "ipv6_address_mode",
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
        error(404, "SubnetNotFound", &format!("Subnet {id} could not be found."))
    }

    fn visible(&self, caller: &Caller) -> bool {
        self.external || caller.sees(&self.standard.project)
    }
}

impl Subnet {
    /// A subnet of a network, with Neutron's choice of everything else.
    pub(crate) fn new(network: &super::Network, standard: Standard, cidr: IpNet, gateway: Option<IpAddr>) -> Self {
        Self {
            id: Uuid::new_v4(),
            network: network.id,
            standard: standard.revision(0),
            cidr: cidr.trunc(),
            gateway,
            dhcp: true,
            nameservers: Vec::new(),
            pool: Pool::new(&ranges(cidr.trunc(), gateway)),
            external: network.external || network.shared,
        }
    }

    /// Gives out all addresses that are left.
    pub(crate) fn exhaust(&mut self) {
        self.pool.close();
    }

    fn view(&self) -> Value {
        let pools: Vec<Value> = self
            .pool
            .ranges()
            .map(|(start, end)| json!({"start": start, "end": end}))
            .collect();
        self.standard.complete(json!({
            "id": self.id, "network_id": self.network, "ip_version": if self.cidr.addr().is_ipv4() { 4 } else { 6 },
            "subnetpool_id": null, "enable_dhcp": self.dhcp, "ipv6_ra_mode": null, "ipv6_address_mode": null,
            "gateway_ip": self.gateway, "cidr": self.cidr, "allocation_pools": pools, "host_routes": [],
            "dns_nameservers": self.nameservers, "router:external": self.external, "service_types": [],
        }))
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
    pub(super) fn subnet(&self, id: &str, caller: &Caller) -> Result<&Subnet, Answer> {
        let found = Uuid::parse_str(id).ok().and_then(|id| self.subnets.get(&id));
        found
            .filter(|subnet| subnet.visible(caller))
            .ok_or_else(|| Subnet::missing(id))
    }
}

fn list(neutron: &Neutron, context: &Context<'_>) -> Outcome {
    let list = List {
        rows: neutron.subnets.values().collect(),
        passed: &[],
        limit: context.settings.neutron_page,
    };
    list.answer(context.ask, Subnet::view)
}

fn show(neutron: &Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let fields: Vec<&str> = context.ask.query.all("fields").collect();
    Ok(Answer::ok(
        json!({"subnet": select(neutron.subnet(id, &context.ask.caller)?.view(), &fields)}),
    ))
}

const KNOWN: &[&str] = &[
    "name",
    "description",
    "network_id",
    "ip_version",
    "cidr",
    "gateway_ip",
    "enable_dhcp",
    "allocation_pools",
    "dns_nameservers",
    "project_id",
    "tenant_id",
];

fn create(neutron: &mut Neutron, context: &Context<'_>) -> Outcome {
    let fields = body::resource(context.ask, "subnet", KNOWN)?;
    context.quota("subnet", neutron.subnets.values().map(|subnet| &subnet.standard), 1)?;
    let network_id = body::required_id(&fields, "network_id")?;
    let text = body::text(&fields, "cidr").unwrap_or_default();
    let cidr: IpNet = text.parse().map_err(|_| {
        bad_request(&format!(
            "Invalid input for cidr. Reason: '{text}' is not a valid IP subnet."
        ))
    })?;
    let overlaps =
        |other: &Subnet| other.network == network_id && (other.cidr.contains(&cidr) || cidr.contains(&other.cidr));
    if neutron.subnets.values().any(overlaps) {
        let message =
            format!("Requested subnet with cidr: {cidr} for network: {network_id} overlaps with another subnet.");
        return Err(body::invalid(&message));
    }
    let network = neutron
        .networks
        .get_mut(&network_id)
        .filter(|network| network.visible(&context.ask.caller));
    let network = network.ok_or_else(|| super::Network::missing(&network_id.to_string()))?;
    network.standard.touch(context.now.wall);
    let subnet = build(network, context, &fields, cidr);
    let view = subnet.view();
    neutron.subnets.insert(subnet.id, subnet);
    Ok(Answer::json(201, json!({"subnet": view})))
}

fn build(network: &super::Network, context: &Context<'_>, fields: &Fields, cidr: IpNet) -> Subnet {
    let gateway = match fields.get("gateway_ip") {
        None => Some(gateway(cidr)),
        Some(value) => value.as_str().and_then(|text| text.parse().ok()),
    };
    let mut standard = Standard::new(
        &network.standard.project,
        body::text(fields, "name").unwrap_or_default(),
        context.now.wall,
    );
    standard.description = body::text(fields, "description").unwrap_or_default().into();
    let mut subnet = Subnet::new(network, standard, cidr, gateway);
    subnet.dhcp = body::switch(fields, "enable_dhcp").unwrap_or(true);
    if let Some(pools) = fields.get("allocation_pools").and_then(Value::as_array) {
        let end = |pool: &Value, name: &str| pool[name].as_str().and_then(|text| text.parse::<IpAddr>().ok());
        let given: Vec<(IpAddr, IpAddr)> = pools
            .iter()
            .filter_map(|pool| Some((end(pool, "start")?, end(pool, "end")?)))
            .collect();
        subnet.pool = Pool::new(&given);
    }
    if let Some(servers) = fields.get("dns_nameservers").and_then(Value::as_array) {
        subnet.nameservers = servers.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    }
    subnet
}

fn update(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let fields = body::resource(context.ask, "subnet", KNOWN)?;
    let id = neutron.subnet(id, &context.ask.caller)?.id;
    if let Some(subnet) = neutron.subnets.get_mut(&id) {
        context.guard(&subnet.standard)?;
        if let Some(name) = body::text(&fields, "name") {
            subnet.standard.name = name.into();
        }
        if let Some(description) = body::text(&fields, "description") {
            subnet.standard.description = description.into();
        }
        subnet.standard.touch(context.now.wall);
    }
    show(neutron, context, &id.to_string())
}

fn delete(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let subnet = neutron.subnet(id, &context.ask.caller)?;
    if subnet.pool.is_used() {
        let message = format!(
            "Unable to complete operation on subnet {id}: One or more ports have an IP allocation from this subnet."
        );
        return Err(error(409, "SubnetInUse", &message));
    }
    let id = subnet.id;
    neutron.subnets.remove(&id);
    Ok(Answer::empty(204))
}
