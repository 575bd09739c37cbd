//! Deleting the load balancer of a Service, or detaching the Service from one that others use.

use super::{
    Cloud, Completion, Condition, Fate, Halt, Request, Scope, Use, halt::progress, pending, record,
    release::release_others,
};
use cloud::{Noted, Notes, Progress, Result, Spec};

/// Deletes the load balancer of a Service and everything that came with it. What does not exist is a success.
///
/// # Errors
/// As the cloud answers.
pub async fn delete<C: Cloud>(cloud: &C, spec: &Spec) -> Result<Noted<Progress<()>>> {
    drop(cloud.state().turn(spec));
    let request = Request::new(cloud, spec, Scope::Deletion).await?;
    let mut notes = Notes::default();
    let result = delete_all(cloud, &request, &mut notes).await;
    progress(result, notes)
}

async fn delete_all<C: Cloud>(cloud: &C, request: &Request<'_, C>, notes: &mut Notes) -> Result<(), Halt> {
    cloud.before_delete(request).await?;
    let (state, spec) = (cloud.state(), request.spec);
    let Some(balancer) = cloud.locate(request).await? else {
        return match state.may_appear(spec) {
            Some(left) => Err(pending::unanswered(&cloud.name(spec), left)),
            None => conclude(cloud, request, None, notes).await,
        };
    };
    state.appeared(spec);
    match release_current(cloud, request, &balancer).await? {
        Fate::Delete => conclude(cloud, request, None, notes).await,
        Fate::Detach | Fate::Keep => conclude(cloud, request, Some(&balancer), notes).await,
    }
}

async fn release_current<C: Cloud>(cloud: &C, request: &Request<'_, C>, balancer: &C::Balancer) -> Result<Fate, Halt> {
    let (state, id) = (cloud.state(), cloud.id(balancer));
    let fate = cloud.fate(request, balancer, Use::Current);
    if fate == Fate::Keep {
        return Ok(fate);
    }
    let _claim = state.claim(id).ok_or_else(|| pending::busy(id))?;
    match cloud.condition(balancer) {
        Condition::Ready | Condition::Broken => state.ready(id),
        Condition::Busy(what) => return Err(pending::poll(cloud, id, what)),
        Condition::Deleting | Condition::Deleted => return Err(pending::poll(cloud, id, "to be deleted")),
    }
    if fate == Fate::Delete {
        cloud.delete(request, balancer).await?;
        state.deleted(request.spec);
        return match cloud.completion() {
            Completion::Later => Err(pending::poll(cloud, id, "to be deleted")),
            Completion::AtOnce => Ok(fate),
        };
    }
    cloud.detach(request, balancer, Use::Current).await?;
    Ok(fate)
}

/// Once nothing of the Service is on the load balancer (`kept`, if it still exists): releases all others, and what else is left.
async fn conclude<C: Cloud>(
    cloud: &C,
    request: &Request<'_, C>,
    kept: Option<&C::Balancer>,
    notes: &mut Notes,
) -> Result<(), Halt> {
    if let Some(kept) = kept {
        cloud.remarks(request, kept, notes);
    }
    release_others(cloud, request, kept, notes).await?;
    cloud.clean_up(request, kept, notes).await?;
    cloud.state().forget_service(request.spec);
    if request.spec.annotations.contains_key(record::ANNOTATION) {
        notes.remove(record::ANNOTATION);
    }
    Ok(())
}
