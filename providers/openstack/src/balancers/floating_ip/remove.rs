//! What becomes of floating IPs when a balancer goes.

use super::{
    act::{delete, observe, others},
    is_marked, is_ours,
};
use crate::{api::Session, balancers::settings::Kept};
use cloud::{Result, ServiceRef};

/// Gives up the floating IPs of a balancer that is about to be deleted. Those that we made go, unless they are to be kept;
/// all others come off by themselves when the balancer's port goes.
///
/// # Errors
/// As the cloud answers; the balancer must not be deleted then, or nobody finds them again.
pub(crate) async fn release(api: &Session, port: &str, kept: Kept) -> Result<()> {
    if kept == Kept::Kept {
        return Ok(());
    }
    for fip in observe(api, port).await?.iter().filter(|fip| is_marked(fip)) {
        delete(api, fip).await?;
    }
    Ok(())
}

/// Deletes the floating IPs that a balancer left which somebody else deleted: those that we made for this Service, that
/// lead nowhere, and whose address the Service is known to have had or asks for. A description alone is not enough: an
/// earlier Service of the same name may have left one on purpose.
///
/// # Errors
/// As the cloud answers.
pub(crate) async fn forget(api: &Session, service: &ServiceRef, known: &[&str], kept: Kept) -> Result<()> {
    if kept == Kept::Kept {
        return Ok(());
    }
    let found = others(api, known).await?;
    for fip in found.iter().filter(|fip| is_ours(fip, service)) {
        delete(api, fip).await?;
    }
    Ok(())
}
