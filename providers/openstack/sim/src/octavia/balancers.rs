//! Load balancers.

use super::{
    Common, Context, Listener, Octavia, Provisioning, Vip, body,
    common::ids,
    error, invalid,
    pending::Pending,
    resource::{Resource, kept_in},
    tree, vip,
};
use crate::{
    exchange::{Fields, Outcome, Response},
    keystone::Rights,
};
use serde_json::{Value, json};
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct Balancer {
    pub(crate) common: Common,
    pub(crate) vip: Vip,
    pub(crate) provider: String,
    pub(crate) flavor: Option<Uuid>,
    pub(crate) zone: Option<String>,
    pub(crate) pending: Option<Pending>,
}

impl Resource for Balancer {
    const ONE: &'static str = "loadbalancer";
    const MANY: &'static str = "loadbalancers";
    const NAME: &'static str = "Load Balancer";
    const ARGUMENT: &'static str = "load_balancer";
    const QUOTA: &'static str = "load_balancer";
    const FILTERS: &'static [&'static str] = &[
        "vip_address",
        "vip_port_id",
        "vip_subnet_id",
        "vip_network_id",
        "provider",
        "flavor_id",
        "availability_zone",
    ];
    const KNOWN: &'static [&'static str] = &[
        "name",
        "description",
        "admin_state_up",
        "tags",
        "vip_qos_policy_id",
        "vip_sg_ids",
    ];
    const AT_BIRTH: &'static [&'static str] = &[
        "project_id",
        "tenant_id",
        "vip_address",
        "vip_port_id",
        "vip_subnet_id",
        "vip_network_id",
        "additional_vips",
        "provider",
        "flavor_id",
        "availability_zone",
        "listeners",
        "pools",
    ];

    kept_in!(balancers);

    fn view(&self, octavia: &Octavia, minor: u32) -> Value {
        let (id, vip) = (self.common.id, &self.vip);
        let listeners = octavia.listeners_on(id);
        let pools = octavia.pools.values().filter(|pool| pool.balancer == id);
        self.common.complete(
            json!({
                "description": self.common.description, "vip_address": vip.address, "vip_port_id": vip.port,
                "vip_subnet_id": vip.subnet, "vip_network_id": vip.network, "vip_qos_policy_id": null, "vip_sg_ids": [],
                "vip_vnic_type": "normal", "additional_vips": vip.additional_view(), "provider": self.provider,
                "flavor_id": self.flavor, "availability_zone": self.zone,
                "listeners": ids(listeners.iter().map(|listener| listener.common.id)),
                "pools": ids(pools.map(|pool| pool.common.id)),
            }),
            minor,
        )
    }

    fn newborn(&self, octavia: &Octavia, minor: u32) -> Value {
        tree::graph(octavia, self, minor)
    }

    fn create(octavia: &mut Octavia, context: &mut Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
        let mut common = Common::new(&context.ask.caller.project, context.now);
        body::common(&mut common, fields);
        let (provider, flavor, zone) = (
            provider(context, fields)?,
            flavor(context, fields)?,
            zone(context, fields)?,
        );
        context.room_for::<Self>(octavia, 1)?;
        let balancer = Self {
            vip: vip::choose(context, fields, common.id)?,
            common,
            provider,
            flavor,
            zone,
            pending: Some(context.pending()),
        };
        let id = octavia.keep(balancer);
        if let Err(refusal) = tree::populate(octavia, context, id, fields) {
            // As in the real Octavia, the port of a load balancer that could not be created is kept.
            octavia.drop_balancer(id);
            return Err(refusal);
        }
        Ok(id)
    }

    fn update(octavia: &mut Octavia, context: &mut Context<'_>, id: Uuid, fields: &Fields) -> Result<(), Response> {
        let status = octavia.balancers[&id].common.provisioning;
        octavia.begin(context, id, &[]).map_err(|_| busy(status, id))?;
        if let Some(balancer) = octavia.balancers.get_mut(&id) {
            body::common(&mut balancer.common, fields);
        }
        Ok(())
    }

    fn begin_deletion(octavia: &mut Octavia, context: &mut Context<'_>, id: Uuid) -> Result<(), Response> {
        let cascade = context.ask.query.get("cascade");
        let cascade = cascade.is_some_and(|text| matches!(text.to_lowercase().as_str(), "true" | "1"));
        let has_children = octavia.listeners.values().any(|listener| listener.balancer == id)
            || octavia.pools.values().any(|pool| pool.balancer == id);
        if has_children && !cascade {
            return Err(invalid(&format!("Cannot delete Load Balancer {id} - it has children")));
        }
        let status = octavia.balancers[&id].common.provisioning;
        if status.is_pending() {
            return Err(busy(status, id));
        }
        let pending = context.pending();
        if let Some(balancer) = octavia.balancers.get_mut(&id) {
            balancer.common.updated = Some(context.now.wall);
            balancer.pending = Some(pending);
        }
        Ok(())
    }

    fn own(octavia: &mut Octavia, context: &mut Context<'_>, method: &str, path: &[&str]) -> Option<Outcome> {
        Some(match (method, path) {
            ("GET", [id, "status" | "statuses"]) => tree::status(octavia, context, id),
            ("GET", [id, "stats"]) => stats(octavia, context, id),
            ("PUT", [id, "failover"]) => failover(octavia, context, id),
            _ => return None,
        })
    }
}

impl Octavia {
    /// The listeners of a load balancer, oldest first.
    pub(super) fn listeners_on(&self, balancer: Uuid) -> Vec<&Listener> {
        let all = self.listeners.values();
        let mut listeners: Vec<_> = all.filter(|listener| listener.balancer == balancer).collect();
        listeners.sort_by_key(|listener| listener.common.created);
        listeners
    }
}

fn stats(octavia: &Octavia, context: &Context<'_>, id: &str) -> Outcome {
    octavia.find::<Balancer>(id, context)?;
    Ok(Response::ok(json!({"stats": {
        "bytes_in": 0, "bytes_out": 0, "active_connections": 0, "total_connections": 0, "request_errors": 0,
    }})))
}

fn provider(context: &Context<'_>, fields: &Fields) -> Result<String, Response> {
    let name = body::text(fields, "provider").unwrap_or(&context.settings.octavia_provider);
    if context.settings.octavia_providers.iter().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    Err(error(400, &format!("Provider '{name}' is not enabled.")))
}

fn flavor(context: &Context<'_>, fields: &Fields) -> Result<Option<Uuid>, Response> {
    let Some(id) = body::id(fields, "flavor_id")? else {
        return Ok(None);
    };
    if context.settings.octavia_flavors.contains(&id.to_string()) {
        return Ok(Some(id));
    }
    Err(error(
        400,
        &format!("The selected flavor is not allowed in this deployment: {id}"),
    ))
}

fn zone(context: &Context<'_>, fields: &Fields) -> Result<Option<String>, Response> {
    match body::text(fields, "availability_zone") {
        Some(name) if !context.settings.octavia_zones.contains(name) => Err(invalid("Invalid availability zone.")),
        name => Ok(name.map(str::to_owned)),
    }
}

fn busy(status: Provisioning, id: Uuid) -> Response {
    error(
        409,
        &format!("Invalid state {} of loadbalancer resource {id}", status.as_str()),
    )
}

fn failover(octavia: &mut Octavia, context: &mut Context<'_>, id: &str) -> Outcome {
    let balancer = octavia.find::<Balancer>(id, context)?;
    let (id, status) = (balancer.common.id, balancer.common.provisioning);
    if context.ask.caller.rights == Rights::Member {
        return Err(error(403, "Policy does not allow this request to be performed."));
    }
    if status.is_pending() {
        return Err(busy(status, id));
    }
    let pending = context.pending();
    if let Some(balancer) = octavia.balancers.get_mut(&id) {
        balancer.common.change();
        balancer.pending = Some(pending);
    }
    Ok(Response::empty(202))
}
