//! Applying steps.

use super::{Applied, Cloud, Completeness, Completion, Digest, Halt, Record, Request, ensure::Match, pending};
use cloud::{Error, Notes, Result};
use std::{collections::VecDeque, sync::Arc};
use tracing::info;

/// What came of a step.
pub(super) enum Effect {
    Changed,
    Conflict,
    Refused,
}

/// Applies one step after the other, and reads the load balancer that results.
pub(super) async fn apply_all<C: Cloud>(
    cloud: &C,
    request: &Request<'_, C>,
    balancer: &C::Balancer,
    observed: &C::Observed,
    steps: &[C::Step],
    mut completeness: Completeness,
    notes: &mut Notes,
) -> Result<Match<C>, Halt> {
    let id = cloud.id(balancer);
    for step in steps {
        match apply(cloud, request, balancer, Some(observed), step, notes).await? {
            Effect::Changed => {}
            Effect::Conflict => return Err(pending::busy(id)),
            Effect::Refused => completeness = Completeness::Partial,
        }
    }
    let changed = cloud.get(id).await?;
    let gone = || Halt::changed(format!("load balancer {id}"));
    Ok(Match {
        completeness,
        observed: None,
        changed: Some(changed.ok_or_else(gone)?),
    })
}

/// Applies a step, and remembers what came of it.
pub(super) async fn apply<C: Cloud>(
    cloud: &C,
    request: &Request<'_, C>,
    balancer: &C::Balancer,
    observed: Option<&C::Observed>,
    step: &C::Step,
    notes: &mut Notes,
) -> Result<Effect, Halt> {
    let (state, id) = (cloud.state(), cloud.id(balancer));
    if state.is_futile(step) {
        let what = format!("load balancer {id} ({step})");
        return Err(Error::unusable(what, "the cloud accepted this change twice, and nothing changed").into());
    }
    let applied = cloud.apply(request, balancer, observed, step).await;
    match applied {
        Ok(Applied::Changed(changed)) => {
            info!(id, %step, "changed load balancer");
            state.made(step);
            match changed {
                Some(changed) => state.changed(id, Arc::new(changed)),
                None => state.invalidate(id),
            }
            cloud.applied(request, balancer, step, notes);
            Ok(Effect::Changed)
        }
        Ok(Applied::Conflict) => {
            state.invalidate(id);
            Ok(Effect::Conflict)
        }
        Ok(Applied::Refused) => {
            state.invalidate(id);
            Ok(Effect::Refused)
        }
        Err(halt) => {
            state.invalidate(id);
            Err(halt)
        }
    }
}

/// Applies one step of a deletion, and answers what to wait for. For [`Cloud::delete`] and [`Cloud::detach`].
pub async fn apply_step<C: Cloud>(
    cloud: &C,
    request: &Request<'_, C>,
    balancer: &C::Balancer,
    observed: &C::Observed,
    step: &C::Step,
) -> Halt {
    let id = cloud.id(balancer);
    match apply(cloud, request, balancer, Some(observed), step, &mut Notes::default()).await {
        Ok(Effect::Changed) => pending::poll(cloud, id, &format!("({step})")),
        Ok(Effect::Conflict | Effect::Refused) => pending::busy(id),
        Err(halt) => halt,
    }
}

/// The steps of a change of hosts on a load balancer that need not be read: nothing but the hosts has changed since it matched.
pub(super) fn host_change<C: Cloud>(
    cloud: &C,
    request: &Request<'_, C>,
    record: Option<&Record>,
    desired: &C::Desired,
    id: &str,
    version: &str,
    digest: &Digest,
) -> Option<VecDeque<C::Step>> {
    if let Some(left) = cloud.state().take_host_change(id, digest) {
        return Some(left);
    }
    let record = record?;
    let known = record.matches_but_for_hosts(digest, id, version) && !record.targets.is_empty();
    known.then(|| cloud.host_steps(request, desired, &record.targets))?
}

pub(super) async fn change_hosts<C: Cloud>(
    cloud: &C,
    request: &Request<'_, C>,
    balancer: &C::Balancer,
    digest: &Digest,
    mut steps: VecDeque<C::Step>,
    notes: &mut Notes,
) -> Result<Match<C>, Halt> {
    let id = cloud.id(balancer);
    while let Some(step) = steps.pop_front() {
        match apply(cloud, request, balancer, None, &step, notes).await? {
            Effect::Changed if cloud.completion() == Completion::AtOnce => {}
            Effect::Changed => {
                cloud.state().keep_host_change(id, digest, steps);
                return Err(pending::poll(cloud, id, &format!("({step})")));
            }
            // The load balancer is read, which shows why.
            Effect::Conflict | Effect::Refused => return Err(pending::busy(id)),
        }
    }
    Ok(Match::known())
}
