//! Creating a load balancer, and making it match.

use super::{
    Basis, Cloud, Completeness, Completion, Condition, Content, Created, Digest, Halt, Record, Request, Scope,
    admission::Outcome,
    halt::progress,
    pending,
    release::release_previous,
    steps::{Effect, apply, apply_all, change_hosts, host_change},
    turn::Turn,
};
use cloud::{Error, Noted, Notes, Progress, Result, Spec, Status};
use std::sync::Arc;
use tokio::time::Instant;
use tracing::{debug, info};

/// A load balancer on which no step is left.
pub(super) struct Match<C: Cloud> {
    pub completeness: Completeness,
    /// `None` if nothing had to be read, or if it was changed since.
    pub observed: Option<Arc<C::Observed>>,
    /// The load balancer, if it was changed since it was located.
    pub changed: Option<C::Balancer>,
}

impl<C: Cloud> Match<C> {
    /// Everything matches, which is known without reading it.
    pub fn known() -> Self {
        Self {
            completeness: Completeness::Complete,
            observed: None,
            changed: None,
        }
    }
}

/// Creates the load balancer of a Service, or makes it match.
///
/// # Errors
/// As the cloud answers, or [`Error::Invalid`] if the Service asks for something impossible.
pub async fn ensure<C: Cloud>(cloud: &C, spec: &Spec) -> Result<Noted<Progress<Status>>> {
    let turn = cloud.state().turn(spec);
    let request = Request::new(cloud, spec, Scope::All).await?;
    let mut notes = Notes::default();
    let result = ensure_in_turn(cloud, &request, &turn, &mut notes).await;
    if let Err(Halt::Pending { poll_after, .. }) = &result {
        turn.keep(*poll_after);
    }
    progress(result, notes)
}

/// Does not even search for the load balancer of a new Service before its turn.
async fn ensure_in_turn<C: Cloud>(
    cloud: &C,
    request: &Request<'_, C>,
    turn: &Turn<'_, C::Observed, C::Step>,
    notes: &mut Notes,
) -> Result<Status, Halt> {
    if is_new(cloud, request) {
        turn.begin()?;
    }
    if let Some(balancer) = cloud.locate(request).await? {
        return make_match(cloud, request, &balancer, notes).await;
    }
    turn.begin()?;
    let id = create(cloud, request).await?;
    let created = || pending::poll(cloud, &id, "to be created");
    match cloud.completion() {
        Completion::Later => Err(created()),
        Completion::AtOnce => {
            let balancer = cloud.get(&id).await?.ok_or_else(created)?;
            make_match(cloud, request, &balancer, notes).await
        }
    }
}

/// Whether nothing suggests that a Service has a load balancer.
fn is_new<C: Cloud>(cloud: &C, request: &Request<'_, C>) -> bool {
    let Request { spec, record, .. } = request;
    let named = cloud.located_by(request).map(str::to_owned);
    let known = named.or_else(|| cloud.state().created(spec));
    record.is_none() && known.is_none() && spec.status.ingress.is_empty()
}

/// Replaces the hosts on every existing port. [`ensure`] reports what is wrong with anything else.
///
/// # Errors
/// [`Error::NotFound`] if there is no load balancer, or, once the hosts match, if a part of it is missing.
pub async fn update_hosts<C: Cloud>(cloud: &C, spec: &Spec) -> Result<Noted<Progress<Status>>> {
    let request = Request::new(cloud, spec, Scope::Hosts).await?;
    let mut notes = Notes::default();
    let Some(balancer) = cloud.locate(&request).await? else {
        return Err(Error::not_found(format!("load balancer {}", cloud.name(spec))));
    };
    let result = make_match(cloud, &request, &balancer, &mut notes).await;
    progress(result, notes)
}

/// Creates a load balancer, and returns its ID.
async fn create<C: Cloud>(cloud: &C, request: &Request<'_, C>) -> Result<String, Halt> {
    let (state, spec) = (cloud.state(), request.spec);
    if let Some(times) = state.too_early(spec) {
        let what = format!("load balancer {}", cloud.name(spec));
        let reason = format!("it ended in an error state {times} times in a row; it is created again later");
        return Err(Error::unusable(what, reason).into());
    }
    if let Some(left) = state.may_appear(spec) {
        return Err(pending::unanswered(&cloud.name(spec), left));
    }
    let sent = Instant::now();
    match cloud.create(request).await {
        Err(halt) => {
            state.answered(Outcome::Refused, sent);
            Err(halt)
        }
        Ok(Created { id, content }) => {
            state.answered(Outcome::Created, sent);
            info!(id, name = cloud.name(spec), "created load balancer");
            state.creating(spec, &id);
            if content == Content::Complete {
                state.created_for(&id, &cloud.digest(request));
            }
            Ok(id)
        }
    }
}

async fn make_match<C: Cloud>(
    cloud: &C,
    request: &Request<'_, C>,
    balancer: &C::Balancer,
    notes: &mut Notes,
) -> Result<Status, Halt> {
    let (state, id) = (cloud.state(), cloud.id(balancer));
    if request.scope == Scope::All {
        cloud.admit(request, balancer)?;
    }
    match cloud.condition(balancer) {
        Condition::Ready => state.ready(id),
        Condition::Broken => {
            // It is not waited for any more.
            state.ready(id);
            return Err(cloud.repair(request, balancer).await);
        }
        Condition::Busy(what) => return Err(pending::poll(cloud, id, what)),
        Condition::Deleting | Condition::Deleted => return Err(pending::poll(cloud, id, "to be deleted")),
    }
    let _claim = state.claim(id).ok_or_else(|| pending::busy(id))?;
    let digest = cloud.digest(request);
    let matching = synchronize(cloud, request, balancer, &digest, notes).await?;
    state.succeeded(request.spec);
    let balancer = matching.changed.as_ref().unwrap_or(balancer);
    let status = finish(cloud, request, balancer, &digest, &matching, notes).await?;
    match matching.completeness {
        Completeness::Missing(part) => Err(Error::not_found(format!("{part} of load balancer {id}")).into()),
        Completeness::Complete | Completeness::Partial => Ok(status),
    }
}

/// Applies the first step, if there is one, or all of them.
async fn synchronize<C: Cloud>(
    cloud: &C,
    request: &Request<'_, C>,
    balancer: &C::Balancer,
    digest: &Digest,
    notes: &mut Notes,
) -> Result<Match<C>, Halt> {
    let (state, id, version) = (cloud.state(), cloud.id(balancer), cloud.version(balancer));
    let record = request.record.as_ref().filter(|_| cloud.is_marked(request, balancer));
    if record.is_some_and(|record| record.matches(digest, id, &version)) || state.take_created_for(id, digest) {
        return Ok(Match::known());
    }
    let desired = cloud.desired(request, balancer).await?;
    if let Some(steps) = host_change(cloud, request, record, &desired, id, &version, digest) {
        return change_hosts(cloud, request, balancer, digest, steps, notes).await;
    }
    loop {
        let (basis, observed) = observe(cloud, balancer).await?;
        let all = cloud.plan(request, &observed, &desired)?;
        let planned = all.len();
        let mut refused = Notes::default();
        let steps = cloud.possible(&observed, all, &mut refused);
        match (steps.first(), basis) {
            (Some(_), _) if cloud.completion() == Completion::AtOnce => {
                debug!(id, steps = %listed(&steps), "planned");
                // The steps of a change of hosts add nothing that is missing.
                let completeness = match request.scope {
                    Scope::Hosts => cloud.completeness(request, &observed, &desired),
                    Scope::All | Scope::Deletion => Completeness::Complete,
                };
                notes.events.extend(refused.events);
                return apply_all(cloud, request, balancer, &observed, &steps, completeness, notes).await;
            }
            (Some(step), _) => {
                debug!(id, steps = %listed(&steps), "planned");
                match apply(cloud, request, balancer, Some(&observed), step, notes).await? {
                    Effect::Changed => return Err(pending::poll(cloud, id, &format!("({step})"))),
                    Effect::Conflict => return Err(pending::busy(id)),
                    // The others can be applied nevertheless.
                    Effect::Refused => {}
                }
            }
            // What is only assumed is read before it is called finished.
            (None, Basis::Assumed) => state.invalidate(id),
            (None, Basis::Read(_)) => {
                notes.events.extend(refused.events);
                let completeness = if planned > 0 {
                    Completeness::Partial
                } else {
                    cloud.completeness(request, &observed, &desired)
                };
                return Ok(Match {
                    completeness,
                    observed: Some(observed),
                    changed: None,
                });
            }
        }
    }
}

/// What is on the load balancer: as it was read, or as it should be after the changes of this process.
async fn observe<C: Cloud>(cloud: &C, balancer: &C::Balancer) -> Result<(Basis, Arc<C::Observed>), Halt> {
    let (state, id, version) = (cloud.state(), cloud.id(balancer), cloud.version(balancer));
    if let Some((basis, observed)) = state.observed(id, &version) {
        return Ok((basis, cloud.refresh(observed, balancer)));
    }
    let observed = Arc::new(cloud.observe(balancer).await?);
    state.read(id, version.clone(), Arc::clone(&observed));
    Ok((Basis::Read(version), observed))
}

/// Everything around the load balancer.
async fn finish<C: Cloud>(
    cloud: &C,
    request: &Request<'_, C>,
    balancer: &C::Balancer,
    digest: &Digest,
    matching: &Match<C>,
    notes: &mut Notes,
) -> Result<Status, Halt> {
    let finished = cloud.finish(request, balancer, notes).await?;
    let id = cloud.id(balancer);
    let stored = request.record.as_ref().filter(|record| record.id == id);
    // A change of hosts does not change the load balancer: a full reconcile releases previous ones.
    let previous = match request.scope {
        Scope::Hosts => stored.map_or_else(Vec::new, |record| record.previous.clone()),
        Scope::All | Scope::Deletion => release_previous(cloud, request, balancer, notes).await?,
    };
    let record = Record {
        previous,
        ignored_ip: finished.ignored_ip,
        targets: cloud.targets(request, balancer, matching.observed.as_deref()),
        ..Record::new(id, cloud.ownership(request, balancer))
    };
    match (&matching.completeness, request.scope) {
        (Completeness::Complete, Scope::Hosts) if stored.is_none() => {}
        (Completeness::Complete, _) => record
            .synced(digest, cloud.version(balancer))
            .write(request.spec, notes),
        (_, Scope::Hosts) => {}
        // What was refused is tried and reported once by every process.
        (Completeness::Partial | Completeness::Missing(_), _) => record.write(request.spec, notes),
    }
    cloud.remarks(request, balancer, notes);
    Ok(finished.status)
}

fn listed<S: ToString>(steps: &[S]) -> String {
    steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
