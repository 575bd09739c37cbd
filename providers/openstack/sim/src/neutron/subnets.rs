//! Subnets.

use super::{
    Context, Network, Neutron, Standard,
    address::{Pool, gateway, ranges},
    bad_request, body, error,
    resource::{Resource, kept_in},
};
use crate::{
    exchange::{Fields, Response},
    keystone::Caller,
};
use ipnet::IpNet;
use serde_json::{Value, json};
use std::{net::IpAddr, sync::Arc};
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
    /// Whether its network is external, and so visible to all projects.
    pub(super) external: bool,
}

impl Resource for Subnet {
    const ONE: &'static str = "subnet";
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
    const KNOWN: &'static [&'static str] = &[
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

    kept_in!(subnets);

    fn missing(id: &str) -> Response {
        error(404, "SubnetNotFound", &format!("Subnet {id} could not be found."))
    }

    fn visible(&self, caller: &Caller) -> bool {
        self.external || caller.sees(&self.standard.project)
    }

    fn view(&self, _: &Neutron, _: &Context<'_>) -> Value {
        let pools = self.pool.ranges();
        let pools: Vec<Value> = pools.map(|(start, end)| json!({"start": start, "end": end})).collect();
        self.standard.complete(json!({
            "id": self.id, "network_id": self.network, "ip_version": if self.cidr.addr().is_ipv4() { 4 } else { 6 },
            "subnetpool_id": null, "enable_dhcp": self.dhcp, "ipv6_ra_mode": null, "ipv6_address_mode": null,
            "gateway_ip": self.gateway, "cidr": self.cidr, "allocation_pools": pools, "host_routes": [],
            "dns_nameservers": self.nameservers, "router:external": self.external, "service_types": [],
        }))
    }

    fn create(neutron: &mut Neutron, context: &Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
        context.room_for::<Self>(neutron, 1)?;
        let network = body::required_id(fields, "network_id")?;
        let text = body::text(fields, "cidr").unwrap_or_default();
        let cidr: IpNet = text.parse().map_err(|_| {
            bad_request(&format!(
                "Invalid input for cidr. Reason: '{text}' is not a valid IP subnet."
            ))
        })?;
        let overlaps =
            |other: &Self| other.network == network && (other.cidr.contains(&cidr) || cidr.contains(&other.cidr));
        if neutron.subnets.values().any(overlaps) {
            let message =
                format!("Requested subnet with cidr: {cidr} for network: {network} overlaps with another subnet.");
            return Err(body::invalid(&message));
        }
        let network = neutron.find_mut::<Network>(&network.to_string(), &context.ask.caller)?;
        network.standard.touch(context.now.wall);
        let subnet = build(network, context, fields, cidr);
        let id = subnet.id;
        neutron.subnets.insert(id, subnet);
        Ok(id)
    }

    fn delete(neutron: &mut Neutron, _: &Context<'_>, id: Uuid) -> Result<(), Response> {
        if neutron.subnets[&id].pool.is_used() {
            let message = format!(
                "Unable to complete operation on subnet {id}: One or more ports have an IP allocation from this subnet."
            );
            return Err(error(409, "SubnetInUse", &message));
        }
        neutron.subnets.remove(&id);
        Ok(())
    }
}

impl Neutron {
    /// Gives a network to another project, which shares it with all projects.
    pub(crate) fn give_network(&mut self, id: Uuid, project: &Arc<str>) {
        if let Some(network) = self.networks.get_mut(&id) {
            (network.standard.project, network.shared) = (Arc::clone(project), true);
        }
        for subnet in self.subnets.values_mut().filter(|subnet| subnet.network == id) {
            (subnet.standard.project, subnet.external) = (Arc::clone(project), true);
        }
        for port in self.ports.values_mut().filter(|port| port.network == id) {
            port.network_owner = Arc::clone(project);
        }
    }
}

impl Subnet {
    /// A subnet of a network, with Neutron's choice of everything else.
    pub(crate) fn new(network: &Network, standard: Standard, cidr: IpNet, gateway: Option<IpAddr>) -> Self {
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
}

fn build(network: &Network, context: &Context<'_>, fields: &Fields, cidr: IpNet) -> Subnet {
    let gateway = match fields.get("gateway_ip") {
        None => Some(gateway(cidr)),
        Some(value) => value.as_str().and_then(|text| text.parse().ok()),
    };
    let standard = Standard::of(&network.standard.project, fields, context.now.wall);
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
