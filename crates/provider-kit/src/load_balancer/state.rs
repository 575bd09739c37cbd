//! What a process remembers of load balancers, so that it neither reads twice nor repeats what has no effect. All of it may be lost at any
//! time: the cloud and the record on the Service are the truth.

use super::{Digest, admission::Admission};
use cloud::{ServiceRef, Spec};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Few clouds complete a change in less than this.
const FIRST_POLL: Duration = Duration::from_secs(1);
const LAST_POLL: Duration = Duration::from_secs(5);

/// A load balancer that is not ready after this is reported as stuck, and polled rarely.
const STUCK: Duration = Duration::from_mins(15);
const STUCK_POLL: Duration = Duration::from_secs(30);

/// A poll that is late by this will not happen: the Service does not need it any more.
const FORGOTTEN: Duration = Duration::from_secs(30);

/// Back-off between attempts to create a load balancer that ends up broken.
const FIRST_RETRY: Duration = Duration::from_secs(5);
const LAST_RETRY: Duration = Duration::from_mins(5);

/// What a process remembers of the load balancers of one cloud, by [`super::Cloud::Observed`] and [`super::Cloud::Step`].
#[derive(Debug)]
pub struct State<O, S>(Mutex<Inner<O, S>>);

#[derive(Debug)]
struct Inner<O, S> {
    /// By the cloud's ID.
    balancers: HashMap<String, Balancer<O, S>>,
    services: HashMap<ServiceKey, Service>,
    /// Load balancers that are being changed right now.
    claimed: HashSet<String>,
    /// By [`Step::target`]: the last change, how often it was applied in a row, and when last.
    changes: HashMap<String, (S, u32, Instant)>,
    admission: Admission<ServiceKey>,
}

/// Two clusters can have a Service of the same UID, if one was restored from the other's backup.
pub(super) type ServiceKey = (String, String);

#[derive(Debug)]
struct Balancer<O, S> {
    observed: Option<(Basis, Arc<O>)>,
    pending: Option<Pending>,
    /// What was read before this is out of date.
    changed_at: Option<Instant>,
    /// It was created complete, for this digest.
    created_for: Option<Digest>,
    /// What is left of a change of hosts towards this digest.
    host_change: Option<(Digest, VecDeque<S>)>,
    /// When it was deleted.
    gone: Option<Instant>,
}

/// A load balancer that is not ready.
#[derive(Debug, Clone, Copy)]
struct Pending {
    since: Instant,
    next_poll: Instant,
}

#[derive(Debug, Default)]
struct Service {
    /// The load balancer that is being created for it.
    creating: Option<String>,
    /// Until when a load balancer may still appear whose creation was not answered.
    unanswered_until: Option<Instant>,
    /// How often in a row its load balancer ended up broken, and when last.
    failures: Option<(u32, Instant)>,
    deletion: Deletion,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Deletion {
    #[default]
    None,
    /// This process deleted its load balancer.
    Requested,
}

/// How the content of a load balancer is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    /// It was read when the load balancer had this version.
    Read(String),
    /// It was read, and then changed by this process.
    Assumed,
}

/// How many load balancers are not ready, and are polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polls {
    /// Several: one list is cheaper than reading each of them.
    Many,
    /// At most this one.
    One,
}

/// One change of a load balancer. Its `Display` is what logs, events and dry runs print.
pub trait Step: std::fmt::Display + Clone + PartialEq + Send + Sync {
    /// The part of the cloud that is changed, if the change is one that some clouds accept without effect: it is applied at most twice in a row.
    fn target(&self) -> Option<String> {
        None
    }
}

impl<O, S> Default for State<O, S> {
    fn default() -> Self {
        Self(Mutex::new(Inner {
            balancers: HashMap::new(),
            services: HashMap::new(),
            claimed: HashSet::new(),
            changes: HashMap::new(),
            admission: Admission::default(),
        }))
    }
}

impl<O, S> Default for Balancer<O, S> {
    fn default() -> Self {
        Self {
            observed: None,
            pending: None,
            changed_at: None,
            created_for: None,
            host_change: None,
            gone: None,
        }
    }
}

/// Load balancers, by their ID.
impl<O, S: Step> State<O, S> {
    /// The content of a load balancer, if it has not changed since it was read.
    pub fn observed(&self, id: &str, version: &str) -> Option<(Basis, Arc<O>)> {
        let inner = self.lock();
        let (basis, observed) = inner.balancers.get(id)?.observed.as_ref()?;
        let holds = match basis {
            Basis::Read(read) => read == version,
            Basis::Assumed => true,
        };
        holds.then(|| (basis.clone(), Arc::clone(observed)))
    }

    /// The content was read at this version.
    pub fn read(&self, id: &str, version: String, observed: Arc<O>) {
        self.balancer(id, |known| known.observed = Some((Basis::Read(version), observed)));
    }

    /// This process changed it, and it should have this content now.
    pub fn changed(&self, id: &str, observed: Arc<O>) {
        self.balancer(id, |known| {
            known.observed = Some((Basis::Assumed, observed));
            known.changed_at = Some(Instant::now());
        });
    }

    /// Its content has to be read again.
    pub fn invalidate(&self, id: &str) {
        self.balancer(id, |known| {
            known.observed = None;
            known.host_change = None;
            known.changed_at = Some(Instant::now());
        });
    }

    /// Its content is read again when it is next needed: its version does not show every change.
    pub fn unread(&self, id: &str) {
        self.balancer(id, |known| known.observed = None);
    }

    /// An object that refers to it was changed: lists from before this are out of date.
    pub fn touched(&self, id: &str) {
        self.balancer(id, |known| known.changed_at = Some(Instant::now()));
    }

    /// A list that is older than this is out of date for this load balancer.
    pub fn changed_at(&self, id: &str) -> Option<Instant> {
        self.lock().balancers.get(id)?.changed_at
    }

    /// It is being created complete, for this digest.
    pub fn created_for(&self, id: &str, digest: &Digest) {
        self.balancer(id, |known| {
            known.created_for = Some(digest.clone());
            known.changed_at = Some(Instant::now());
        });
    }

    /// Whether it was created complete for this digest; the answer is `true` only once, since others may change it later.
    pub fn take_created_for(&self, id: &str, digest: &Digest) -> bool {
        self.balancer(id, |known| known.created_for.take().as_ref() == Some(digest))
    }

    /// What is left of the change of hosts towards this digest.
    pub fn take_host_change(&self, id: &str, digest: &Digest) -> Option<VecDeque<S>> {
        let (towards, steps) = self.balancer(id, |known| known.host_change.take())?;
        (towards == *digest).then_some(steps)
    }

    /// A part of a change of hosts was applied: these steps are left.
    pub fn keep_host_change(&self, id: &str, digest: &Digest, left: VecDeque<S>) {
        self.balancer(id, |known| {
            known.observed = None;
            known.host_change = Some((digest.clone(), left));
            known.changed_at = Some(Instant::now());
        });
    }

    /// The time until the next poll of a load balancer that is not ready: short at first, then longer. It is polled together with another one
    /// that is polled at about the same time, so that one list serves both.
    pub fn poll(&self, id: &str) -> Duration {
        let now = Instant::now();
        let mut inner = self.lock();
        let known = inner.balancers.entry(id.to_owned()).or_default();
        known.changed_at = Some(now);
        let since = known.pending.map_or(now, |pending| pending.since);
        let wait = match now.duration_since(since) {
            age if age > STUCK => STUCK_POLL,
            age => (age / 5).clamp(FIRST_POLL, LAST_POLL),
        };
        let about = now + wait / 2..now + wait * 5 / 4;
        let together = inner.polls_besides(id).filter(|poll| about.contains(poll)).max();
        let next_poll = together.unwrap_or(now + wait);
        inner.balancers.entry(id.to_owned()).or_default().pending = Some(Pending { since, next_poll });
        next_poll.duration_since(now)
    }

    /// Whether other load balancers are polled besides this one.
    pub fn polls(&self, id: &str) -> Polls {
        let inner = self.lock();
        let is_pending = inner.balancers.get(id).is_some_and(|known| known.pending.is_some());
        let mut others = inner.polls_besides(id);
        if is_pending && others.any(|poll| poll.elapsed() < FORGOTTEN) {
            Polls::Many
        } else {
            Polls::One
        }
    }

    /// Whether it is not ready for so long that it is probably stuck.
    pub fn is_stuck(&self, id: &str) -> bool {
        let inner = self.lock();
        let pending = inner.balancers.get(id).and_then(|known| known.pending);
        pending.is_some_and(|pending| pending.since.elapsed() > STUCK)
    }

    /// It is ready, or broken: it is not polled any more.
    pub fn ready(&self, id: &str) {
        if let Some(known) = self.lock().balancers.get_mut(id) {
            known.pending = None;
        }
    }

    /// It does not exist any more.
    pub fn forget(&self, id: &str) {
        self.lock().balancers.remove(id);
    }

    /// It does not exist any more, and lists from before this, which may show it, are out of date. That is forgotten after a while.
    pub fn gone(&self, id: &str) {
        let now = Instant::now();
        let mut inner = self.lock();
        let is_recent = |gone: Instant| now.duration_since(gone) < FORGOTTEN;
        inner.balancers.retain(|_, known| known.gone.is_none_or(is_recent));
        let known = Balancer {
            changed_at: Some(now),
            gone: Some(now),
            ..Balancer::default()
        };
        inner.balancers.insert(id.to_owned(), known);
    }

    /// Keeps other workers from changing it at the same time. `None` if one does.
    pub fn claim(&self, id: &str) -> Option<Claim<'_, O, S>> {
        let free = self.lock().claimed.insert(id.to_owned());
        free.then(|| Claim {
            state: self,
            id: id.to_owned(),
        })
    }

    fn balancer<T>(&self, id: &str, change: impl FnOnce(&mut Balancer<O, S>) -> T) -> T {
        let mut inner = self.lock();
        let known = inner.balancers.entry(id.to_owned()).or_default();
        known.gone = None;
        change(known)
    }
}

/// Services.
impl<O, S: Step> State<O, S> {
    /// This load balancer is being created for a Service.
    pub fn creating(&self, spec: &Spec, id: &str) {
        self.service(spec, |service| {
            service.creating = Some(id.to_owned());
            service.deletion = Deletion::None;
        });
    }

    /// The load balancer that this process created for a Service.
    pub fn created(&self, spec: &Spec) -> Option<String> {
        self.lock().services.get(&key(spec))?.creating.clone()
    }

    /// The Service does not use this load balancer any more.
    pub fn released(&self, spec: &Spec, id: &str) {
        self.service(spec, |service| service.creating.take_if(|creating| creating == id));
    }

    /// The creation of a load balancer was not answered within this time: the cloud may need as long again.
    pub fn unanswered(&self, spec: &Spec, waited: Duration) {
        self.service(spec, |service| service.unanswered_until = Some(Instant::now() + waited));
    }

    /// How long a load balancer may still appear whose creation was not answered.
    pub fn may_appear(&self, spec: &Spec) -> Option<Duration> {
        let until = self.lock().services.get(&key(spec))?.unanswered_until?;
        let left = until.duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// The load balancer of a Service has appeared.
    pub fn appeared(&self, spec: &Spec) {
        self.service(spec, |service| service.unanswered_until = None);
    }

    /// The load balancer of a Service ended up broken after its creation.
    pub fn failed(&self, spec: &Spec) {
        self.service(spec, |service| {
            let times = service.failures.map_or(0, |(times, _)| times);
            service.failures = Some((times + 1, Instant::now()));
        });
    }

    /// The load balancer of a Service works.
    pub fn succeeded(&self, spec: &Spec) {
        if let Some(service) = self.lock().services.get_mut(&key(spec)) {
            service.failures = None;
        }
    }

    /// How often the load balancer of a Service ended up broken, if it is too early to create it again.
    pub fn too_early(&self, spec: &Spec) -> Option<u32> {
        let (times, last) = self.lock().services.get(&key(spec))?.failures?;
        let doubled = FIRST_RETRY.saturating_mul(2_u32.saturating_pow(times.saturating_sub(1)));
        (last.elapsed() < doubled.min(LAST_RETRY)).then_some(times)
    }

    /// This process deleted the load balancer of a Service.
    pub fn deleted(&self, spec: &Spec) {
        self.service(spec, |service| service.deletion = Deletion::Requested);
    }

    /// Whether this process deleted the load balancer of a Service.
    pub fn is_deleted(&self, spec: &Spec) -> bool {
        let inner = self.lock();
        let service = inner.services.get(&key(spec));
        service.is_some_and(|service| service.deletion == Deletion::Requested)
    }

    /// Nothing is left of a Service.
    pub fn forget_service(&self, spec: &Spec) {
        self.lock().services.remove(&key(spec));
    }

    pub(super) fn admission<T>(&self, change: impl FnOnce(&mut Admission<ServiceKey>) -> T) -> T {
        change(&mut self.lock().admission)
    }

    fn service<T>(&self, spec: &Spec, change: impl FnOnce(&mut Service) -> T) -> T {
        change(self.lock().services.entry(key(spec)).or_default())
    }
}

/// Changes that a cloud accepts without effect.
impl<O, S: Step> State<O, S> {
    /// Records that this step was applied.
    pub fn made(&self, step: &S) {
        let Some(target) = step.target() else { return };
        let mut inner = self.lock();
        let entry = inner.changes.entry(target);
        let entry = entry.or_insert_with(|| (step.clone(), 0, Instant::now()));
        let times = if entry.0 == *step { entry.1 + 1 } else { 1 };
        *entry = (step.clone(), times, Instant::now());
    }

    /// Whether the cloud accepted this change twice a short while ago, and nothing changed.
    pub fn is_futile(&self, step: &S) -> bool {
        let Some(target) = step.target() else { return false };
        let inner = self.lock();
        let last = inner.changes.get(&target);
        last.is_some_and(|(last, times, when)| last == step && *times > 1 && when.elapsed() < LAST_RETRY)
    }

    /// These targets are what they should be.
    pub fn effective(&self, is_target: impl Fn(&str) -> bool) {
        self.lock().changes.retain(|target, _| !is_target(target));
    }

    fn lock(&self) -> MutexGuard<'_, Inner<O, S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O, S> Inner<O, S> {
    /// When load balancers that are not ready are polled next, except for one of them.
    fn polls_besides(&self, id: &str) -> impl Iterator<Item = Instant> {
        let others = self.balancers.iter().filter(move |(other, _)| *other != id);
        others.filter_map(|(_, known)| known.pending.map(|pending| pending.next_poll))
    }
}

/// The right to change a load balancer, until it is dropped.
#[derive(Debug)]
pub struct Claim<'a, O, S> {
    state: &'a State<O, S>,
    id: String,
}

impl<O, S> Drop for Claim<'_, O, S> {
    fn drop(&mut self) {
        let inner = self.state.0.lock();
        inner.unwrap_or_else(PoisonError::into_inner).claimed.remove(&self.id);
    }
}

pub(super) fn key(spec: &Spec) -> ServiceKey {
    let Spec {
        cluster,
        service: ServiceRef { uid, .. },
        ..
    } = spec;
    (cluster.clone(), uid.clone())
}

#[cfg(test)]
mod tests;
