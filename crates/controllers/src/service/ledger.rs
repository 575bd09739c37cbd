//! What we know of each Service besides what the API server has: how far we are with it.

use super::{
    hosts::Fingerprint,
    metrics::{Pass, Pending},
    options::Classes,
    plan::{Step, plan},
    predicates::{self, needs_update},
    write::{self, Annotations},
};
use k8s_openapi::api::core::v1::Service;
use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// What we know of a Service.
#[derive(Debug)]
pub(super) struct Known {
    /// As it was when we last acted on it: what its load balancer was asked to match, and all that is left of it once
    /// it is deleted without the finalizer.
    pub service: Arc<Service>,
    /// How far we are.
    pub phase: Phase,
    /// The hosts that its load balancer was last given, as far as we know.
    pub hosts: Option<Fingerprint>,
    /// Whether the cloud may have something of it.
    pub reach: Reach,
    /// Whether it was last asked for under the settings of today.
    pub settings: Settings,
    /// What its user was warned of by the cloud.
    pub events: Vec<cloud::Event>,
    /// What we wrote last.
    written: Option<Written>,
    /// The change of hosts that it has still to hear of.
    pass: Option<Arc<Pass>>,
}

/// How far we are with a Service.
#[derive(Debug)]
pub(super) enum Phase {
    /// It is being made to match: not tried yet, failed, or the cloud is still working on it.
    Ensuring(Round),
    /// Its hosts are being replaced; if that failed, it has to be made to match as a whole.
    Updating(Round),
    /// It matched.
    Settled,
    /// Only its user can help: until it changes nothing is tried but to keep the hosts of what is there up to date.
    Refused,
    /// Another controller looks after it.
    Elsewhere,
    /// Its load balancer is going away.
    Deleting(Round),
    /// It went without waiting for us, at this time: what it has in the cloud stays, unless another takes its name.
    Departed(Instant),
}

/// Whether the cloud may have something of a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// It was never asked for anything.
    Here,
    /// It may.
    Cloud,
}

/// Under which settings of the cloud a load balancer was last asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settings {
    /// Those of today, or it was not asked for yet.
    Current,
    /// Others, perhaps. It has to be made to match once more, also if somebody is just at it.
    Old,
}

/// One piece of work on a Service, over all its attempts.
#[derive(Debug)]
pub(super) struct Round {
    pub since: Instant,
    pub voice: Voice,
    /// Counts it as pending.
    pub pending: Option<Pending>,
    /// The hosts with which the last attempt failed; none while there is one going on.
    pub failed_with: Option<Fingerprint>,
}

/// Whether the user has been told that work is going on; then its end is told as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    Quiet,
    Told,
}

/// What we wrote, until the informer has caught up with it.
#[derive(Debug)]
struct Written {
    over: Option<String>,
    service: Arc<Service>,
}

/// How long a Service is remembered that went without waiting for us. Afterwards we know as much of it as after a
/// restart: nothing.
const MEMORY: Duration = Duration::from_hours(1);

/// What we know of all Services. An entry lives as long as its Service does, or as there is work left to do about it, and
/// for a while if the cloud may have something of it.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    known: HashMap<String, Known>,
    /// The hosts that all of them were last told of.
    hosts: Option<Fingerprint>,
    /// Those that departed, and when, in this order.
    departed: VecDeque<(Instant, String)>,
}

impl Round {
    pub(super) fn new(voice: Voice) -> Self {
        Self {
            since: Instant::now(),
            voice,
            pending: None,
            failed_with: None,
        }
    }
}

impl Known {
    pub(super) fn new(service: Arc<Service>, phase: Phase) -> Self {
        Self {
            service,
            phase,
            hosts: None,
            reach: Reach::Here,
            settings: Settings::Current,
            events: Vec::new(),
            written: None,
            pass: None,
        }
    }

    /// Whether it has to hear of these hosts: otherwise it has them, or hears of them soon.
    fn is_outdated(&self, hosts: Fingerprint) -> bool {
        match &self.phase {
            Phase::Settled => self.hosts != Some(hosts),
            Phase::Refused => self.hosts != Some(hosts) && predicates::is_served(&self.service),
            Phase::Ensuring(round) | Phase::Updating(round) => round.failed_with.is_some_and(|failed| failed != hosts),
            Phase::Elsewhere | Phase::Deleting(_) | Phase::Departed(_) => false,
        }
    }

    fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Ensuring(_) | Phase::Updating(_) | Phase::Deleting(_))
    }

    /// Whether there is something to do about it once it is gone: its load balancer is going away, or was being made and
    /// nobody may know of it. A Service that was in order before goes only if somebody took the finalizer away, or with
    /// the whole API server's memory: what it has in the cloud stays.
    fn leaves_work(&self) -> bool {
        match &self.phase {
            Phase::Deleting(_) => true,
            Phase::Ensuring(_) => !predicates::is_served(&self.service),
            Phase::Updating(_) | Phase::Settled | Phase::Refused | Phase::Elsewhere | Phase::Departed(_) => false,
        }
    }

    /// The work that is going on.
    pub(super) fn round(&mut self) -> Option<&mut Round> {
        match &mut self.phase {
            Phase::Ensuring(round) | Phase::Updating(round) | Phase::Deleting(round) => Some(round),
            Phase::Settled | Phase::Refused | Phase::Elsewhere | Phase::Departed(_) => None,
        }
    }
}

impl Entries {
    /// Forgets those that departed long ago.
    fn forget_departed(&mut self, now: Instant) {
        while let Some((at, key)) = self
            .departed
            .pop_front_if(|(at, _)| now.saturating_duration_since(*at) >= MEMORY)
        {
            let still = |known: &Known| matches!(known.phase, Phase::Departed(since) if since == at);
            if self.known.get(&key).is_some_and(still) {
                self.known.remove(&key);
            }
        }
    }
}

impl Ledger {
    /// What to do about the Service with this key.
    pub(super) fn plan(&self, key: &str, service: Option<&Service>, classes: &Classes, hosts: Fingerprint) -> Step {
        plan(service, self.lock().known.get(key), classes, hosts)
    }

    /// Takes down that a Service is gone, and says whether that leaves something to do.
    pub(super) fn depart(&self, key: &str) -> bool {
        let (now, mut entries) = (Instant::now(), self.lock());
        entries.forget_departed(now);
        let Some(known) = entries.known.get_mut(key) else {
            return false;
        };
        if known.leaves_work() {
            return true;
        }
        match (known.reach, &known.phase) {
            (Reach::Here, _) => drop(entries.known.remove(key)),
            (Reach::Cloud, Phase::Departed(_)) => {}
            (Reach::Cloud, _) => {
                known.phase = Phase::Departed(now);
                known.pass = None;
                known.written = None;
                entries.departed.push_back((now, key.to_owned()));
            }
        }
        false
    }

    /// The UIDs of all Services that are worked on.
    pub(super) fn busy_uids(&self) -> Vec<String> {
        let entries = self.lock();
        let busy = entries.known.values().filter(|known| known.is_busy());
        busy.filter_map(|known| known.service.metadata.uid.clone()).collect()
    }

    /// Takes down that the settings have changed, so that all Services have to be made to match once more; their keys.
    pub(super) fn reopen(&self) -> Vec<String> {
        let mut entries = self.lock();
        let concerned = entries
            .known
            .iter_mut()
            .filter(|(_, known)| !matches!(known.phase, Phase::Deleting(_) | Phase::Departed(_)));
        let reopen = |(key, known): (&String, &mut Known)| {
            known.settings = Settings::Old;
            key.clone()
        };
        concerned.map(reopen).collect()
    }

    /// Looks at, or changes, what is known of a Service; `None` if nothing is.
    pub(super) fn with<T>(&self, key: &str, change: impl FnOnce(&mut Known) -> T) -> Option<T> {
        self.lock().known.get_mut(key).map(change)
    }

    /// As [`Ledger::with`], starting from this if nothing is known.
    pub(super) fn with_or<T>(&self, key: &str, new: impl FnOnce() -> Known, change: impl FnOnce(&mut Known) -> T) -> T {
        change(self.lock().known.entry(key.to_owned()).or_insert_with(new))
    }

    /// Takes down that a Service is being made to match, and says whether its user is to be told of it now: `first` if
    /// it was not known, not again if this is the same piece of work as before.
    pub(super) fn begin(&self, key: &str, service: &Arc<Service>, first: Voice, classes: &Classes) -> Voice {
        let mut entries = self.lock();
        let Some(known) = entries.known.get_mut(key) else {
            let phase = Phase::Ensuring(Round::new(first));
            entries.known.insert(key.to_owned(), Known::new(service.clone(), phase));
            return first;
        };
        let changed = needs_update(&known.service, service, classes);
        known.service = service.clone();
        let settings = mem::replace(&mut known.settings, Settings::Current);
        if let Phase::Ensuring(round) = &mut known.phase
            && !changed
        {
            round.failed_with = None;
            return Voice::Quiet;
        }
        // Its user did not ask for anything if only the settings have changed.
        let voice = if settings == Settings::Old && !changed {
            Voice::Quiet
        } else {
            Voice::Told
        };
        known.phase = Phase::Ensuring(Round::new(voice));
        voice
    }

    /// Forgets a Service.
    pub(super) fn forget(&self, key: &str) {
        self.lock().known.remove(key);
    }

    /// Whether all Services were told of these hosts, as far as we know.
    pub(super) fn is_current(&self, hosts: Fingerprint) -> bool {
        self.lock().hosts.is_none_or(|told| told == hosts)
    }

    /// The Services that have to hear of new hosts. Those that are being worked on hear of them anyway.
    pub(super) fn outdated(&self, hosts: Fingerprint, pass: &Arc<Pass>) -> Vec<String> {
        let mut entries = self.lock();
        entries.forget_departed(Instant::now());
        entries.hosts = Some(hosts);
        let affected = entries.known.iter_mut().filter(|(_, known)| known.is_outdated(hosts));
        let attach = |(key, known): (&String, &mut Known)| {
            known.pass = Some(pass.clone());
            key.clone()
        };
        affected.map(attach).collect()
    }

    /// The change of hosts that this Service is about to hear of.
    pub(super) fn take_pass(&self, key: &str) -> Option<Arc<Pass>> {
        self.with(key, |known| known.pass.take()).flatten()
    }

    /// It has not heard of it altogether: the cloud is still at it.
    pub(super) fn keep_pass(&self, key: &str, pass: Option<Arc<Pass>>) {
        self.with(key, |known| {
            if !matches!(known.phase, Phase::Deleting(_) | Phase::Departed(_)) {
                known.pass = known.pass.take().or(pass);
            }
        });
    }

    /// The newest that we know of this Service: what we wrote, while the informer has not caught up.
    pub(super) fn newest(&self, key: &str, seen: Arc<Service>) -> Arc<Service> {
        let newest = self.with(key, |known| match &known.written {
            Some(written) if written.over == seen.metadata.resource_version => Some(written.service.clone()),
            _ => {
                known.written = None;
                None
            }
        });
        newest.flatten().unwrap_or(seen)
    }

    /// Takes note of a Service that the informer has now. One that asks for nothing new takes the place of the one we
    /// acted on, so that it is not kept twice.
    pub(super) fn caught_up(&self, key: &str, new: &Arc<Service>, classes: &Classes) {
        self.with(key, |known| {
            known
                .written
                .take_if(|written| written.over != new.metadata.resource_version);
            if known.service.metadata.uid == new.metadata.uid && !needs_update(&known.service, new, classes) {
                known.service = new.clone();
            }
        });
    }

    /// Remembers what we wrote over what the informer had. The annotations among it ask for nothing new.
    pub(super) fn wrote(&self, key: &str, seen: &Service, service: Arc<Service>, annotations: &Annotations) {
        let over = seen.metadata.resource_version.clone();
        self.with(key, |known| {
            known.written = Some(Written { over, service });
            if let Some(annotated) = write::with_annotations(&known.service, annotations) {
                known.service = Arc::new(annotated);
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
