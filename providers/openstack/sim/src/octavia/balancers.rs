//! Load balancers.

use super::{
    Common, Context, Octavia, Provisioning, Vip, body,
    common::ids,
    error, immutable, invalid,
    list::{List, select},
    missing,
    pending::Pending,
    tree, vip,
};
use crate::{
    exchange::{Answer, Fields, Outcome, unknown},
    keystone::{Caller, Rights},
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

pub(super) fn answer(octavia: &mut Octavia, context: &mut Context<'_>, method: &str, path: &[&str]) -> Outcome {
    match (method, path) {
        ("GET", []) => list(octavia, context),
        ("GET", [id]) => show(octavia, context, id),
        ("GET", [id, "status" | "statuses"]) => tree::status(octavia, context, id),
        ("GET", [id, "stats"]) => stats(octavia, context, id),
        ("POST", []) => create(octavia, context),
        ("PUT", [id]) => update(octavia, context, id),
        ("PUT", [id, "failover"]) => failover(octavia, context, id),
        ("DELETE", [id]) => delete(octavia, context, id),
        _ => Err(unknown(context.ask)),
    }
}

impl Octavia {
    pub(super) fn balancer(&self, id: &str, caller: &Caller) -> Result<&Balancer, Answer> {
        let found = Uuid::parse_str(id).ok().and_then(|id| self.balancers.get(&id));
        found
            .filter(|balancer| caller.sees(&balancer.common.project))
            .ok_or_else(|| missing("Load Balancer", id))
    }

    pub(super) fn balancer_view(&self, balancer: &Balancer, minor: u32) -> Value {
        let id = balancer.common.id;
        let mut listeners: Vec<_> = self
            .listeners
            .values()
            .filter(|listener| listener.balancer == id)
            .collect();
        listeners.sort_by_key(|listener| listener.common.created);
        let pools = self
            .pools
            .values()
            .filter(|pool| pool.balancer == id)
            .map(|pool| pool.common.id);
        let vip = &balancer.vip;
        balancer.common.complete(
            json!({
                "description": balancer.common.description, "vip_address": vip.address, "vip_port_id": vip.port,
                "vip_subnet_id": vip.subnet, "vip_network_id": vip.network, "vip_qos_policy_id": null, "vip_sg_ids": [],
                "vip_vnic_type": "normal", "additional_vips": vip.additional_view(), "provider": balancer.provider,
                "flavor_id": balancer.flavor, "availability_zone": balancer.zone,
                "listeners": ids(listeners.iter().map(|listener| listener.common.id)), "pools": ids(pools),
            }),
            minor,
        )
    }
}

fn list(octavia: &Octavia, context: &Context<'_>) -> Outcome {
    let minor = context.settings.octavia_minor;
    let list = List {
        many: "loadbalancers",
        filters: &[
            "vip_address",
            "vip_port_id",
            "vip_subnet_id",
            "vip_network_id",
            "provider",
            "flavor_id",
            "availability_zone",
        ],
        limit: context.settings.octavia_page,
    };
    let rows = octavia
        .balancers
        .values()
        .map(|balancer| (&balancer.common, octavia.balancer_view(balancer, minor)))
        .collect();
    list.answer(context.ask, rows)
}

fn show(octavia: &Octavia, context: &Context<'_>, id: &str) -> Outcome {
    let balancer = octavia.balancer(id, &context.ask.caller)?;
    let fields: Vec<&str> = context.ask.query.all("fields").collect();
    let view = octavia.balancer_view(balancer, context.settings.octavia_minor);
    Ok(Answer::ok(json!({"loadbalancer": select(view, &fields)})))
}

fn stats(octavia: &Octavia, context: &Context<'_>, id: &str) -> Outcome {
    octavia.balancer(id, &context.ask.caller)?;
    Ok(Answer::ok(json!({"stats": {
        "bytes_in": 0, "bytes_out": 0, "active_connections": 0, "total_connections": 0, "request_errors": 0,
    }})))
}

const KNOWN: &[&str] = &[
    "name",
    "description",
    "admin_state_up",
    "project_id",
    "tenant_id",
    "vip_address",
    "vip_port_id",
    "vip_subnet_id",
    "vip_network_id",
    "vip_qos_policy_id",
    "vip_sg_ids",
    "additional_vips",
    "provider",
    "flavor_id",
    "availability_zone",
    "tags",
    "listeners",
    "pools",
];

fn create(octavia: &mut Octavia, context: &mut Context<'_>) -> Outcome {
    let minor = context.settings.octavia_minor;
    let fields = body::object(context.ask, "load_balancer", "loadbalancer", KNOWN, minor)?;
    let mut common = Common::new(&context.ask.caller.project, context.now);
    body::common(&mut common, &fields);
    let (provider, flavor, zone) = (
        provider(context, &fields)?,
        flavor(context, &fields)?,
        zone(context, &fields)?,
    );
    context.quota(
        "load_balancer",
        "Load Balancer",
        octavia.balancers.values().map(|balancer| &balancer.common),
        1,
    )?;
    let vip = vip::choose(context, &fields, common.id)?;
    let id = common.id;
    let pending = Some(context.pending());
    let balancer = Balancer {
        common,
        vip,
        provider,
        flavor,
        zone,
        pending,
    };
    octavia.balancers.insert(id, balancer);
    if let Err(refusal) = tree::populate(octavia, context, id, &fields) {
        // As in the real thing, the port of a load balancer that did not come about stays.
        octavia.drop_balancer(id);
        return Err(refusal);
    }
    Ok(Answer::json(
        201,
        json!({"loadbalancer": tree::graph(octavia, id, minor)}),
    ))
}

fn provider(context: &Context<'_>, fields: &Fields) -> Result<String, Answer> {
    let name = body::text(fields, "provider").unwrap_or(&context.settings.octavia_provider);
    if context.settings.octavia_providers.iter().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    Err(error(400, &format!("Provider '{name}' is not enabled.")))
}

fn flavor(context: &Context<'_>, fields: &Fields) -> Result<Option<Uuid>, Answer> {
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

fn zone(context: &Context<'_>, fields: &Fields) -> Result<Option<String>, Answer> {
    match body::text(fields, "availability_zone") {
        Some(name) if !context.settings.octavia_zones.contains(name) => Err(invalid("Invalid availability zone.")),
        name => Ok(name.map(str::to_owned)),
    }
}

fn update(octavia: &mut Octavia, context: &mut Context<'_>, id: &str) -> Outcome {
    let known = [
        "name",
        "description",
        "admin_state_up",
        "tags",
        "vip_qos_policy_id",
        "vip_sg_ids",
    ];
    let fields = body::object(
        context.ask,
        "load_balancer",
        "loadbalancer",
        &known,
        context.settings.octavia_minor,
    )?;
    let balancer = octavia.balancer(id, &context.ask.caller)?;
    let (id, status) = (balancer.common.id, balancer.common.provisioning);
    octavia.begin(context, id, &[]).map_err(|_| busy(status, id))?;
    if let Some(balancer) = octavia.balancers.get_mut(&id) {
        body::common(&mut balancer.common, &fields);
    }
    show(octavia, context, &id.to_string())
}

fn busy(status: Provisioning, id: Uuid) -> Answer {
    error(
        409,
        &format!("Invalid state {} of loadbalancer resource {id}", status.as_str()),
    )
}

fn delete(octavia: &mut Octavia, context: &mut Context<'_>, id: &str) -> Outcome {
    let balancer = octavia.balancer(id, &context.ask.caller)?;
    let (id, status) = (balancer.common.id, balancer.common.provisioning);
    let cascade = context
        .ask
        .query
        .get("cascade")
        .is_some_and(|text| matches!(text.to_lowercase().as_str(), "true" | "1"));
    let has_children = octavia.listeners.values().any(|listener| listener.balancer == id)
        || octavia.pools.values().any(|pool| pool.balancer == id);
    if has_children && !cascade {
        return Err(invalid(&format!("Cannot delete Load Balancer {id} - it has children")));
    }
    if status.is_pending() {
        return Err(busy(status, id));
    }
    let pending = context.pending();
    let balancer = octavia
        .balancers
        .get_mut(&id)
        .ok_or_else(|| immutable("Load Balancer", id))?;
    balancer.common.provisioning = Provisioning::PendingDelete;
    balancer.common.updated = Some(context.now.wall);
    balancer.pending = Some(pending);
    Ok(Answer::empty(204))
}

fn failover(octavia: &mut Octavia, context: &mut Context<'_>, id: &str) -> Outcome {
    let balancer = octavia.balancer(id, &context.ask.caller)?;
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
    Ok(Answer::empty(202))
}
