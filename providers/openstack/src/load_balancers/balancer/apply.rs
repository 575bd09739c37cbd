//! Applies one step. Any change makes the whole load balancer immutable until Octavia has completed it, so that only one step can be applied at
//! a time.

use super::{step::Step, tree::Tree};
use crate::api::octavia::{Id, Listener, LoadBalancer, Member, Monitor, NewMember, Octavia, Pool};
use cloud::{Error, Result};
use cloud_http::{Failure, http::StatusCode};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// Applies a step, and returns the expected result.
///
/// # Errors
/// As Octavia answers. The load balancer has to be read again then.
pub(crate) async fn apply(octavia: &Octavia, step: &Step, tree: &Tree) -> Result<Tree> {
    let mut tree = tree.clone();
    match step {
        Step::CreateListener { new, .. } => tree.listeners.push(octavia.create::<Listener>(new).await?),
        Step::UpdateListener { id, change, .. } => {
            octavia.update::<Listener>(id, change).await?;
            for listener in tree.listeners.iter_mut().filter(|listener| listener.id == *id) {
                *listener = merged(listener, change)?;
            }
        }
        Step::DeleteListener { id, .. } => {
            octavia.delete::<Listener>(id).await?;
            forget_listener(&mut tree, id);
        }
        Step::CreatePool { new, .. } => {
            let pool = octavia.create::<Pool>(new).await?;
            add_pool(&mut tree, pool, new.listener_id.as_deref());
        }
        Step::UpdatePool { id, change, .. } => {
            octavia.update::<Pool>(id, change).await?;
            for pool in tree.pools.iter_mut().filter(|pool| pool.id == *id) {
                *pool = merged(pool, change)?;
            }
        }
        Step::DeletePool { id, .. } => {
            octavia.delete::<Pool>(id).await?;
            forget_pool(&mut tree, id);
        }
        Step::SetMembers { .. } | Step::AddMember { .. } | Step::AskMember { .. } | Step::RemoveMember { .. } => {
            apply_to_members(octavia, step, &mut tree).await?;
        }
        Step::CreateMonitor { .. } | Step::UpdateMonitor { .. } | Step::DeleteMonitor { .. } => {
            apply_to_monitor(octavia, step, &mut tree).await?;
        }
        Step::UpdateLoadBalancer { change, .. } => {
            octavia.update::<LoadBalancer>(&tree.balancer.id, change).await?;
            tree.balancer.name = change.name.clone().unwrap_or(tree.balancer.name);
            tree.balancer.tags = change.tags.clone().unwrap_or(tree.balancer.tags);
        }
    }
    Ok(tree)
}

/// Whether another change is still under way: for a child `… is immutable and cannot be updated`, for the load balancer itself `Invalid state
/// PENDING_UPDATE of loadbalancer resource …`.
pub(crate) fn is_immutable(error: &Error) -> bool {
    let Some(failure) = Failure::of(error).filter(|failure| failure.status() == StatusCode::CONFLICT) else {
        return false;
    };
    let text = failure.text().to_ascii_lowercase();
    text.contains("immutable") || text.contains("invalid state pending")
}

/// Whether Octavia or its provider refuses a change in every state of the load balancer: 400 for a value that it does not know, and 501 for one
/// that the provider does not support.
pub(crate) fn is_refused(error: &Error) -> bool {
    let refusals = [
        StatusCode::BAD_REQUEST,
        StatusCode::FORBIDDEN,
        StatusCode::CONFLICT,
        StatusCode::NOT_IMPLEMENTED,
    ];
    let refused = |failure: &Failure| refusals.contains(&failure.status());
    matches!(error, Error::Invalid { .. }) || (Failure::of(error).is_some_and(refused) && !is_immutable(error))
}

/// Whether a change is refused because of the state of the load balancer.
pub(crate) fn is_conflict(error: &Error) -> bool {
    Failure::of(error).is_some_and(|failure| failure.status() == StatusCode::CONFLICT)
}

async fn apply_to_members(octavia: &Octavia, step: &Step, tree: &mut Tree) -> Result<()> {
    match step {
        Step::SetMembers { pool, members, .. } => {
            let pool = known(pool.as_deref())?;
            octavia.set_members(pool, members).await?;
            tree.members
                .insert(pool.to_owned(), members.iter().map(member).collect());
        }
        Step::AddMember { pool, new, .. } => {
            let pool = known(pool.as_deref())?;
            let member = octavia.create_member(pool, new).await?;
            tree.members.entry(pool.to_owned()).or_default().push(member);
        }
        Step::AskMember {
            pool, id, monitor_port, ..
        } => {
            octavia.set_monitor_port(pool, id, *monitor_port).await?;
            let members = tree.members.entry(pool.clone()).or_default().iter_mut();
            members
                .filter(|member| member.id == *id)
                .for_each(|member| member.monitor_port = *monitor_port);
        }
        Step::RemoveMember { pool, id, .. } => {
            octavia.delete_member(pool, id).await?;
            tree.members
                .entry(pool.clone())
                .or_default()
                .retain(|member| member.id != *id);
        }
        _ => {}
    }
    Ok(())
}

async fn apply_to_monitor(octavia: &Octavia, step: &Step, tree: &mut Tree) -> Result<()> {
    match step {
        Step::CreateMonitor { new, .. } => {
            let monitor = octavia.create::<Monitor>(new).await?;
            let pool = tree
                .pools
                .iter_mut()
                .filter(|pool| Some(&pool.id) == new.pool_id.as_ref());
            pool.for_each(|pool| pool.healthmonitor_id = Some(monitor.id.clone()));
            tree.monitors.insert(monitor.id.clone(), monitor);
        }
        Step::UpdateMonitor { id, change, .. } => {
            let whole = tree.monitors.get(id).map(|there| change.whole(there));
            octavia.update::<Monitor>(id, whole.as_ref().unwrap_or(change)).await?;
            if let Some(monitor) = tree.monitors.get_mut(id) {
                *monitor = merged(monitor, change)?;
            }
        }
        Step::DeleteMonitor { id, .. } => {
            octavia.delete::<Monitor>(id).await?;
            tree.monitors.remove(id);
            let pool = tree
                .pools
                .iter_mut()
                .filter(|pool| pool.healthmonitor_id.as_ref() == Some(id));
            pool.for_each(|pool| pool.healthmonitor_id = None);
        }
        _ => {}
    }
    Ok(())
}

/// Only the first step is ever applied, and it needs no object that does not exist yet.
fn known(pool: Option<&str>) -> Result<&str> {
    pool.ok_or_else(|| Error::unusable("the plan", "its pool does not exist yet"))
}

/// An object as it is after a change, which has the fields of the object that change.
fn merged<T: Serialize + DeserializeOwned>(object: &T, change: &impl Serialize) -> Result<T> {
    let merged = || {
        let mut fields: Map<String, Value> = serde_json::from_value(serde_json::to_value(object)?)?;
        fields.extend(serde_json::from_value::<Map<String, Value>>(serde_json::to_value(
            change,
        )?)?);
        serde_json::from_value(Value::Object(fields))
    };
    merged().map_err(|error: serde_json::Error| Error::unavailable("merge of a change", error))
}

fn member(new: &NewMember) -> Member {
    Member {
        id: String::new(),
        name: new.name.clone(),
        address: new.address.clone(),
        protocol_port: new.protocol_port,
        subnet_id: new.subnet_id.clone(),
        monitor_port: new.monitor_port.flatten(),
    }
}

fn add_pool(tree: &mut Tree, mut pool: Pool, listener: Option<&str>) {
    if let Some(listener) = listener {
        if !pool.listeners.iter().any(|of| of.id == listener) {
            pool.listeners.push(Id::of(listener));
        }
        let of = tree.listeners.iter_mut().filter(|there| there.id == listener);
        of.for_each(|there| there.default_pool_id = Some(pool.id.clone()));
    }
    tree.pools.push(pool);
}

fn forget_listener(tree: &mut Tree, id: &str) {
    tree.listeners.retain(|listener| listener.id != id);
    tree.pools
        .iter_mut()
        .for_each(|pool| pool.listeners.retain(|of| of.id != id));
}

fn forget_pool(tree: &mut Tree, id: &str) {
    tree.pools.retain(|pool| pool.id != id);
    tree.members.remove(id);
    let of = tree
        .listeners
        .iter_mut()
        .filter(|listener| listener.default_pool_id.as_deref() == Some(id));
    of.for_each(|listener| listener.default_pool_id = None);
}
