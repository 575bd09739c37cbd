//! What becomes of floating IPs when a balancer goes.

use super::{
    act::{delete, observe, others},
    has, is_marked, is_ours,
};
use crate::{
    api::{Session, neutron::floating_ips::FloatingIp},
    load_balancers::settings::Kept,
};
use cloud::{Result, ServiceRef};
use provider_kit::load_balancer::Halt;
use tracing::warn;

/// Gives up the floating IPs of a balancer that is about to be deleted. Those that we made go, unless they are to be kept;
/// all others come off by themselves when the balancer's port goes.
///
/// # Errors
/// As the cloud answers; the balancer must not be deleted then, or nobody finds them again.
pub(crate) async fn release(api: &Session, port: &str, kept: Kept) -> Result<(), Halt> {
    if kept == Kept::Detached {
        return Ok(());
    }
    for fip in observe(api, port).await?.iter().filter(|fip| is_marked(fip)) {
        match kept {
            Kept::Unsaid => tell_left(fip),
            Kept::WithBalancer | Kept::Detached => delete(api, fip).await?,
        }
    }
    Ok(())
}

/// Gives up the floating IPs of a balancer that never served anybody and is about to be deleted, to be kept or not: nobody
/// knows them. Those that are `wanted`, by their addresses, come off and are used again.
///
/// # Errors
/// As [`release`].
pub(crate) async fn abandon(api: &Session, port: &str, wanted: &[&str]) -> Result<(), Halt> {
    let is_wanted = |fip: &FloatingIp| wanted.iter().any(|ip| has(fip, ip));
    let attached = observe(api, port).await?;
    for fip in attached.iter().filter(|fip| is_marked(fip) && !is_wanted(fip)) {
        delete(api, fip).await?;
    }
    Ok(())
}

/// Gives back a floating IP that was made for a balancer which could not be made. That this fails, too, is only logged: the
/// user is told what went wrong first.
pub(crate) async fn give_back(api: &Session, fip: &FloatingIp) {
    if let Err(error) = delete(api, fip).await {
        warn!(
            address = fip.floating_ip_address,
            error = error.report(),
            "cannot give back a floating IP"
        );
    }
}

/// Whoever kept an address on purpose has told others of it; whoever did not can delete it by hand.
fn tell_left(fip: &FloatingIp) {
    warn!(
        address = fip.floating_ip_address,
        id = fip.id,
        "left a floating IP: its Service is gone, and nobody can say whether it is to be kept"
    );
}

/// Deletes the floating IPs that a balancer left which somebody else deleted: those that we made for this Service, that
/// lead nowhere, and whose address the Service is known to have had or asks for. A description alone is not enough: an
/// earlier Service of the same name may have left one on purpose.
///
/// # Errors
/// As the cloud answers.
pub(crate) async fn forget(api: &Session, service: &ServiceRef, known: &[&str], kept: Kept) -> Result<(), Halt> {
    if kept != Kept::WithBalancer {
        return Ok(());
    }
    let found = others(api, known).await?;
    for fip in found.iter().filter(|fip| is_ours(fip, service)) {
        delete(api, fip).await?;
    }
    Ok(())
}
