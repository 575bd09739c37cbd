//! Load balancers that a Service used before: once another one serves it, it releases them.

use super::{Cloud, Completion, Condition, Fate, Halt, Request, Use, pending};
use cloud::{Error, Notes, Result};

/// How far a Service has released one load balancer that it used before.
enum Part {
    /// Nothing of the Service is on it any more.
    Released,
    /// The cloud is deleting it.
    Deleting,
    /// It may be in use elsewhere, and is kept as it is.
    Kept,
    /// It is broken, so that nothing can be removed from it.
    Stuck(Error),
}

/// Releases the load balancers that the Service used before the one that serves it now. Answers those that are broken.
pub(super) async fn release_previous<C: Cloud>(
    cloud: &C,
    request: &Request<'_, C>,
    current: &C::Balancer,
    notes: &mut Notes,
) -> Result<Vec<String>, Halt> {
    let mut stuck = Vec::new();
    for id in previous(cloud, request, cloud.id(current)) {
        match release(cloud, request, &id).await? {
            Part::Released | Part::Deleting => cloud.state().released(request.spec, &id),
            Part::Kept => {
                report_kept(cloud, request, &id, notes);
                cloud.state().released(request.spec, &id);
            }
            Part::Stuck(error) => {
                notes.warn("LoadBalancerNotLeft", error.report());
                stuck.push(id);
            }
        }
    }
    Ok(stuck)
}

/// Releases everything that the deleted Service used besides the load balancer that was located.
pub(super) async fn release_others<C: Cloud>(
    cloud: &C,
    request: &Request<'_, C>,
    located: Option<&C::Balancer>,
    notes: &mut Notes,
) -> Result<(), Halt> {
    let mut ids = previous(cloud, request, located.map_or("", |located| cloud.id(located)));
    if let Some(located) = located {
        let others = cloud.others(request, located).await?;
        let more: Vec<_> = others.into_iter().filter(|id| !ids.contains(id)).collect();
        ids.extend(more);
    } else {
        // The cloud has just answered that these do not exist.
        let created = cloud.state().created(request.spec);
        let located_by = cloud.located_by(request);
        ids.retain(|id| Some(id.as_str()) != located_by && Some(id) != created.as_ref());
    }
    for id in ids {
        match release(cloud, request, &id).await? {
            Part::Released => {}
            Part::Deleting => return Err(pending::poll(cloud, &id, "to be deleted")),
            Part::Kept => report_kept(cloud, request, &id, notes),
            Part::Stuck(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Those in the record, and one that was being created when the Service got another.
fn previous<C: Cloud>(cloud: &C, request: &Request<'_, C>, current: &str) -> Vec<String> {
    let record = request.record.as_ref();
    let mut ids = record.map_or_else(Vec::new, |record| record.before(current));
    let created = cloud.state().created(request.spec);
    let created = created.filter(|id| id != current && !ids.contains(id));
    ids.extend(created);
    ids
}

async fn release<C: Cloud>(cloud: &C, request: &Request<'_, C>, id: &str) -> Result<Part, Halt> {
    let Some(balancer) = cloud.get(id).await? else {
        return Ok(Part::Released);
    };
    let (fate, condition) = (
        cloud.fate(request, &balancer, Use::Previous),
        cloud.condition(&balancer),
    );
    match (fate, condition) {
        (_, Condition::Deleted) => return Ok(Part::Released),
        (_, Condition::Deleting) => return Ok(Part::Deleting),
        (Fate::Keep, _) => return Ok(Part::Kept),
        (_, Condition::Ready | Condition::Broken) => {}
        (_, Condition::Busy(what)) => return Err(pending::poll(cloud, id, what)),
    }
    let _claim = cloud.state().claim(id).ok_or_else(|| pending::busy(id))?;
    cloud.state().ready(id);
    if fate == Fate::Delete {
        cloud.delete(request, &balancer).await?;
        return match cloud.completion() {
            Completion::Later => Err(pending::poll(cloud, id, "to be deleted")),
            Completion::AtOnce => Ok(Part::Released),
        };
    }
    match cloud.detach(request, &balancer, Use::Previous).await {
        Ok(()) => Ok(Part::Released),
        Err(Halt::Failed(error)) if condition == Condition::Broken => Ok(Part::Stuck(error)),
        Err(halt) => Err(halt),
    }
}

fn report_kept<C: Cloud>(cloud: &C, request: &Request<'_, C>, id: &str, notes: &mut Notes) {
    let service = &request.spec.service;
    notes.warn(
        "LoadBalancerLeft",
        format!(
            "Service {}/{} does not use load balancer {id} any more, which is named {} but does not have the Service's \
             UID and is kept: delete it if it is not needed",
            service.namespace,
            service.name,
            cloud.name(request.spec)
        ),
    );
}
