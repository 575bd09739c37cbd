//! Taking one step. Octavia makes the whole load balancer immutable by any change until that is done, so one step is all
//! that can be taken at a time.

use super::{step::Step, tree::Tree};
use crate::api::octavia::{
    Id, Listener, ListenerChange, Member, Monitor, MonitorChange, NewMember, Octavia, Pool, PoolChange,
};
use cloud::{Error, Result};
use cloud_http::{Failure, http::StatusCode};

/// Takes a step, and gives what should be there then.
///
/// # Errors
/// As Octavia answers. What is there is to be read again then.
pub(crate) async fn apply(octavia: &Octavia, step: &Step, tree: &Tree) -> Result<Tree> {
    let mut tree = tree.clone();
    match step {
        Step::CreateListener { new, .. } => tree.listeners.push(octavia.create_listener(new).await?),
        Step::UpdateListener { id, change, .. } => {
            octavia.update_listener(id, change).await?;
            tree.listeners
                .iter_mut()
                .filter(|there| there.id == *id)
                .for_each(|there| update_listener(there, change));
        }
        Step::DeleteListener { id, .. } => {
            octavia.delete_listener(id).await?;
            forget_listener(&mut tree, id);
        }
        Step::CreatePool { new, .. } => {
            let pool = octavia.create_pool(new).await?;
            add_pool(&mut tree, pool, new.listener_id.as_deref());
        }
        Step::UpdatePool { id, change, .. } => {
            octavia.update_pool(id, change).await?;
            tree.pools
                .iter_mut()
                .filter(|there| there.id == *id)
                .for_each(|there| update_pool(there, change));
        }
        Step::DeletePool { id, .. } => {
            octavia.delete_pool(id).await?;
            forget_pool(&mut tree, id);
        }
        Step::SetMembers { .. } | Step::AddMember { .. } | Step::AskMember { .. } | Step::RemoveMember { .. } => {
            apply_to_members(octavia, step, &mut tree).await?;
        }
        Step::CreateMonitor { .. } | Step::UpdateMonitor { .. } | Step::DeleteMonitor { .. } => {
            apply_to_monitor(octavia, step, &mut tree).await?;
        }
        Step::UpdateLoadBalancer { change, .. } => {
            octavia.update_load_balancer(&tree.balancer.id, change).await?;
            tree.balancer.name = change.name.clone().unwrap_or(tree.balancer.name);
            tree.balancer.tags = change.tags.clone().unwrap_or(tree.balancer.tags);
        }
    }
    Ok(tree)
}

/// Whether Octavia says that somebody else's change, or our last one, is still under way: of a child `… is immutable and
/// cannot be updated`, of the load balancer itself `Invalid state PENDING_UPDATE of loadbalancer resource …`.
pub(crate) fn is_immutable(error: &Error) -> bool {
    let Some(failure) = Failure::of(error).filter(|failure| failure.status() == StatusCode::CONFLICT) else {
        return false;
    };
    let text = failure.text().to_ascii_lowercase();
    text.contains("immutable") || text.contains("invalid state pending")
}

/// Whether Octavia or the provider of the load balancer will not do what it is asked, whatever the state of the load
/// balancer: it says 400 to a word that it does not know, and 501 to one that the provider has not.
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

/// Whether it is the state of the load balancer that something is refused for.
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
            octavia.ask_member(pool, id, *monitor_port).await?;
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
            let monitor = octavia.create_monitor(new).await?;
            let pool = tree
                .pools
                .iter_mut()
                .filter(|pool| Some(&pool.id) == new.pool_id.as_ref());
            pool.for_each(|pool| pool.healthmonitor_id = Some(monitor.id.clone()));
            tree.monitors.insert(monitor.id.clone(), monitor);
        }
        Step::UpdateMonitor { id, change, .. } => {
            let whole = tree.monitors.get(id).map(|there| change.whole(there));
            octavia.update_monitor(id, whole.as_ref().unwrap_or(change)).await?;
            if let Some(there) = tree.monitors.get_mut(id) {
                update_monitor(there, change);
            }
        }
        Step::DeleteMonitor { id, .. } => {
            octavia.delete_monitor(id).await?;
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

/// Only the first step is ever taken, and it hangs on nothing that is yet to be made.
fn known(pool: Option<&str>) -> Result<&str> {
    pool.ok_or_else(|| Error::unusable("the plan", "its pool does not exist yet"))
}

fn update_listener(there: &mut Listener, change: &ListenerChange) {
    let ListenerChange {
        name,
        connection_limit,
        default_tls_container_ref,
        insert_headers,
        timeout_client_data,
        timeout_member_connect,
        timeout_member_data,
        timeout_tcp_inspect,
        tags,
        allowed_cidrs,
    } = change;
    set(&mut there.name, name.as_ref());
    set(&mut there.connection_limit, connection_limit.as_ref());
    set(&mut there.default_tls_container_ref, default_tls_container_ref.as_ref());
    set(&mut there.insert_headers, insert_headers.as_ref());
    there.timeout_client_data = timeout_client_data.or(there.timeout_client_data);
    there.timeout_member_connect = timeout_member_connect.or(there.timeout_member_connect);
    there.timeout_member_data = timeout_member_data.or(there.timeout_member_data);
    there.timeout_tcp_inspect = timeout_tcp_inspect.or(there.timeout_tcp_inspect);
    set(&mut there.tags, tags.as_ref());
    set(&mut there.allowed_cidrs, allowed_cidrs.as_ref());
}

fn update_pool(there: &mut Pool, change: &PoolChange) {
    let PoolChange {
        name,
        lb_algorithm,
        session_persistence,
        tags,
    } = change;
    set(&mut there.name, name.as_ref());
    set(&mut there.lb_algorithm, lb_algorithm.as_ref());
    set(&mut there.session_persistence, session_persistence.as_ref());
    set(&mut there.tags, tags.as_ref());
}

fn update_monitor(there: &mut Monitor, change: &MonitorChange) {
    let MonitorChange {
        name,
        delay,
        timeout,
        max_retries,
        max_retries_down,
    } = change;
    set(&mut there.name, name.as_ref());
    set(&mut there.delay, delay.as_ref());
    set(&mut there.timeout, timeout.as_ref());
    set(&mut there.max_retries, max_retries.as_ref());
    set(&mut there.max_retries_down, max_retries_down.as_ref());
}

fn set<T: Clone>(there: &mut T, new: Option<&T>) {
    if let Some(new) = new {
        there.clone_from(new);
    }
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
