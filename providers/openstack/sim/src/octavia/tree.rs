//! Load balancers with everything in them: created and shown at once.

use super::{Balancer, Context, Listener, Member, Monitor, Octavia, Pool, body, pools::fits, resource::Resource};
use crate::exchange::{Fields, Outcome, Response};
use serde_json::{Value, json};
use uuid::Uuid;

/// Creates the children in the request for a new load balancer.
pub(super) fn populate(
    octavia: &mut Octavia,
    context: &Context<'_>,
    balancer: Uuid,
    fields: &Fields,
) -> Result<(), Response> {
    let mut named: Vec<(String, Uuid)> = Vec::new();
    for one in objects(fields, "pools") {
        let pool = add_pool(octavia, context, balancer, &one)?;
        named.push((body::text(&one, "name").unwrap_or_default().to_owned(), pool));
    }
    for one in objects(fields, "listeners") {
        context.room_for::<Listener>(octavia, 1)?;
        let mut listener = Listener::parse(octavia, context, balancer, &one)?;
        if let Some(wanted) = one.get("default_pool").and_then(Value::as_object) {
            let by_name = named
                .iter()
                .find(|(name, _)| wanted.len() == 1 && body::text(wanted, "name") == Some(name));
            let pool = match by_name {
                Some((_, pool)) => *pool,
                None => add_pool(octavia, context, balancer, wanted)?,
            };
            fits(listener.protocol, octavia.pools[&pool].protocol)?;
            listener.default_pool = Some(pool);
        }
        octavia.keep(listener);
    }
    Ok(())
}

fn add_pool(octavia: &mut Octavia, context: &Context<'_>, balancer: Uuid, fields: &Fields) -> Result<Uuid, Response> {
    context.room_for::<Pool>(octavia, 1)?;
    let pool = Pool::parse(octavia, context, balancer, fields)?;
    let id = octavia.keep(pool);
    for one in objects(fields, "members") {
        context.room_for::<Member>(octavia, 1)?;
        let member = Member::parse(context, id, &one)?;
        member.only(octavia)?;
        octavia.keep(member);
    }
    if let Some(wanted) = fields.get("healthmonitor").and_then(Value::as_object) {
        context.room_for::<Monitor>(octavia, 1)?;
        let monitor = Monitor::parse(octavia, context, id, wanted)?;
        octavia.keep(monitor);
    }
    Ok(id)
}

fn objects(fields: &Fields, name: &str) -> Vec<Fields> {
    body::list(fields, name)
        .filter_map(|one| one.as_object().cloned())
        .collect()
}

/// A load balancer as the answer to its creation shows it.
pub(super) fn graph(octavia: &Octavia, balancer: &Balancer, minor: u32) -> Value {
    let id = balancer.common.id;
    let mut view = balancer.view(octavia, minor);
    let listeners = octavia.listeners.values().filter(|listener| listener.balancer == id);
    view["listeners"] = listeners
        .map(|listener| without(listener.view(octavia, minor), &["loadbalancers"]))
        .collect();
    let pools = octavia.pools.values().filter(|pool| pool.balancer == id);
    view["pools"] = pools.map(|pool| pool_graph(octavia, pool, minor)).collect();
    view
}

fn pool_graph(octavia: &Octavia, pool: &Pool, minor: u32) -> Value {
    let id = pool.common.id;
    let mut view = without(pool.view(octavia, minor), &["loadbalancers", "healthmonitor_id"]);
    view["members"] = octavia
        .members
        .values()
        .filter(|member| member.pool == id)
        .map(|member| member.view(octavia, minor))
        .collect();
    let monitor = octavia.monitors.values().find(|monitor| monitor.pool == id);
    view["healthmonitor"] = json!(monitor.map(|monitor| without(monitor.view(octavia, minor), &["pools"])));
    view
}

fn without(mut view: Value, names: &[&str]) -> Value {
    if let Value::Object(fields) = &mut view {
        fields.retain(|name, _| !names.contains(&name.as_str()));
    }
    view
}

/// The states of a load balancer and of everything in it.
pub(super) fn status(octavia: &Octavia, context: &Context<'_>, id: &str) -> Outcome {
    let balancer = octavia.find::<Balancer>(id, context)?;
    let id = balancer.common.id;
    let mut view = states(&balancer.common);
    view["listeners"] = octavia
        .listeners_on(id)
        .into_iter()
        .map(|listener| listener_states(octavia, listener))
        .collect();
    Ok(Response::ok(json!({"statuses": {"loadbalancer": view}})))
}

fn listener_states(octavia: &Octavia, listener: &Listener) -> Value {
    let mut view = states(&listener.common);
    let pool = listener.default_pool.and_then(|id| octavia.pools.get(&id));
    view["pools"] = pool.into_iter().map(|pool| pool_states(octavia, pool)).collect();
    view
}

fn pool_states(octavia: &Octavia, pool: &Pool) -> Value {
    let id = pool.common.id;
    let mut view = states(&pool.common);
    if let Some(monitor) = octavia.monitors.values().find(|monitor| monitor.pool == id) {
        view["health_monitor"] = states(&monitor.common);
        view["health_monitor"]["type"] = json!(monitor.kind);
    }
    let member = |member: &Member| {
        let mut view = states(&member.common);
        view["address"] = json!(member.address);
        view["protocol_port"] = json!(member.port);
        view
    };
    view["members"] = octavia
        .members
        .values()
        .filter(|member| member.pool == id)
        .map(member)
        .collect();
    view
}

fn states(common: &super::Common) -> Value {
    json!({
        "id": common.id, "name": common.name, "provisioning_status": common.provisioning.as_str(),
        "operating_status": common.operating.as_str(),
    })
}
