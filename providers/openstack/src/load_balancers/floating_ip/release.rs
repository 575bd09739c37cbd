//! Releases floating IPs when a load balancer is deleted.

use super::{
    apply::{delete, find_by_address, observe},
    has, is_for, is_marked,
};
use crate::{
    api::{Session, neutron::floating_ips::FloatingIp},
    load_balancers::settings::Retention,
};
use cloud::{Result, ServiceRef};
use provider_kit::load_balancer::Halt;
use tracing::warn;

/// Releases the floating IPs of a load balancer that is about to be deleted. Those that this program created are deleted, unless they are to be
/// kept; all others are detached when Octavia deletes the port.
///
/// # Errors
/// As the cloud answers; the load balancer must not be deleted then, or they cannot be found any more.
pub(crate) async fn release(api: &Session, port: &str, retention: Retention) -> Result<(), Halt> {
    if retention == Retention::Detach {
        return Ok(());
    }
    for fip in observe(api, port).await?.iter().filter(|fip| is_marked(fip)) {
        match retention {
            Retention::Unknown => log_kept(fip),
            Retention::Delete | Retention::Detach => delete(api, fip).await?,
        }
    }
    Ok(())
}

/// Deletes the floating IPs of a load balancer that never worked and is about to be deleted, also if they are to be kept: no client knows them.
/// Those with `wanted` addresses are detached and used again.
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

/// Deletes a floating IP that was created for a load balancer which could not be created. If this fails, it is only logged: the first error is
/// reported.
pub(crate) async fn give_back(api: &Session, fip: &FloatingIp) {
    if let Err(error) = delete(api, fip).await {
        warn!(
            address = fip.floating_ip_address,
            error = error.report(),
            "cannot release a floating IP"
        );
    }
}

/// An address that was kept on purpose is known to clients. If it was not, the user can delete it.
fn log_kept(fip: &FloatingIp) {
    warn!(
        address = fip.floating_ip_address,
        id = fip.id,
        "kept a floating IP: its Service does not exist any more, so it is not known whether it is to be kept"
    );
}

/// Deletes the floating IPs of a load balancer that another program deleted: those that were created for this Service, are not attached, and
/// have an address that the Service had or asks for. The description alone is not enough: an earlier Service of the same name may have kept one
/// on purpose.
///
/// # Errors
/// As the cloud answers.
pub(crate) async fn forget(
    api: &Session,
    service: &ServiceRef,
    known: &[&str],
    retention: Retention,
) -> Result<(), Halt> {
    if retention != Retention::Delete {
        return Ok(());
    }
    let found = find_by_address(api, known).await?;
    for fip in found.iter().filter(|fip| is_for(fip, service)) {
        delete(api, fip).await?;
    }
    Ok(())
}
