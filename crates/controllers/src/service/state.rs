//! What the controller remembers of each Service, besides what the API server stores.

use super::{
    hosts::Fingerprint,
    metrics::{HostChange, Pending},
    options::Classes,
    spec::predicates::{self, needs_update},
    write::{self, Annotations},
};
use k8s_openapi::{api::core::v1::Service, jiff::Timestamp};
use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How long the state of a Service is kept that was deleted without waiting for its load balancer. Afterwards the
/// controller knows as much of it as after a restart: nothing.
const KEEP_GONE: Duration = Duration::from_hours(1);

/// The longest time between two reports of the same wait.
const LONGEST_SILENCE: Duration = Duration::from_mins(30);

/// What the controller remembers of a Service.
#[derive(Debug)]
pub(super) struct ServiceState {
    /// The Service of the last step: the load balancer was reconciled with it, and it is all that is left of a Service
    /// that was deleted without the finalizer.
    pub service: Arc<Service>,
    /// The progress.
    pub phase: Phase,
    /// The hosts that the load balancer has, as far as known.
    pub hosts: Option<Fingerprint>,
    /// Whether the cloud may have objects of the Service.
    pub cloud_objects: CloudObjects,
    /// The cloud's settings at the last call to ensure the load balancer.
    pub settings: CloudSettings,
    /// The cloud's events that were last emitted.
    pub events: Vec<cloud::Event>,
    written: Option<Written>,
    /// The change of hosts that the load balancer does not have yet.
    host_change: Option<Arc<HostChange>>,
}

/// The progress with a Service.
#[derive(Debug)]
pub(super) enum Phase {
    /// The load balancer is being ensured: not tried yet, failed, or pending in the cloud.
    Ensuring(Operation),
    /// The hosts are being replaced; after a failure the whole load balancer is ensured.
    UpdatingHosts(Operation),
    /// The load balancer matches the Service.
    Ready,
    /// The cloud rejected the Service: until it changes, only the hosts of an existing load balancer are updated.
    Rejected,
    /// Another controller implements the load balancer.
    OtherController,
    /// The load balancer is being deleted.
    Deleting(Operation),
    /// The Service was deleted at this time without waiting for its load balancer, which is kept unless another Service
    /// takes the name.
    Gone(Instant),
}

/// Whether the cloud may have objects of a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloudObjects {
    /// The cloud was never called for it.
    None,
    /// It may.
    MayExist,
}

/// The cloud's settings at the last call to ensure a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloudSettings {
    /// The current ones, or there was no call yet.
    Current,
    /// Older ones, perhaps: the load balancer has to be ensured again, even if a worker is doing that now.
    Outdated,
}

/// One change of a load balancer, over all attempts.
#[derive(Debug)]
pub(super) struct Operation {
    pub started: Instant,
    /// The same moment, for reports.
    since: Timestamp,
    /// For how long it had been pending when an event last reported that.
    reported: Option<Duration>,
    pub announced: Announced,
    /// Counts it as pending.
    pub pending: Option<Pending>,
    /// The hosts of the last attempt if it failed; `None` during an attempt.
    pub failed_with: Option<Fingerprint>,
}

/// Whether an event has announced an operation; then another event reports its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Announced {
    No,
    Yes,
}

/// The Service as the controller wrote it, until the informer has caught up.
#[derive(Debug)]
struct Written {
    /// The resource version in the informer at the time of the write.
    over: Option<String>,
    service: Arc<Service>,
}

/// The states of all Services, by key. A state lives as long as its Service, or as long as there is work left, and for
/// [`KEEP_GONE`] if the cloud may have objects of it.
#[derive(Debug, Default)]
pub(super) struct ServiceStates(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    services: HashMap<String, ServiceState>,
    /// The hosts that were last passed to all Services.
    hosts: Option<Fingerprint>,
    /// The keys of Services in [`Phase::Gone`], in order of time.
    gone: VecDeque<(Instant, String)>,
}

impl Operation {
    pub(super) fn new(announced: Announced) -> Self {
        Self {
            started: Instant::now(),
            since: Timestamp::now(),
            reported: None,
            announced,
            pending: None,
            failed_with: None,
        }
    }

    /// Since when it has been pending, if an event is to report that now: after `first`, and later each time less often.
    pub(super) fn report_wait(&mut self, first: Duration) -> Option<Timestamp> {
        let waited = self.started.elapsed();
        if waited < next_report(first, self.reported) {
            return None;
        }
        self.reported = Some(waited);
        Some(self.since)
    }

    /// The time until its condition (after `patience`) or an event is to report it.
    pub(super) fn until_report(&self, patience: Duration, first: Duration) -> Option<Duration> {
        let waited = self.started.elapsed();
        let reports = [patience, next_report(first, self.reported)].into_iter();
        reports
            .filter_map(|at| at.checked_sub(waited))
            .filter(|left| !left.is_zero())
            .min()
    }
}

/// The age of a wait at which it is reported next.
fn next_report(first: Duration, reported: Option<Duration>) -> Duration {
    reported.map_or(first, |last| (last * 4).min(last + LONGEST_SILENCE))
}

impl ServiceState {
    pub(super) fn new(service: Arc<Service>, phase: Phase) -> Self {
        Self {
            service,
            phase,
            hosts: None,
            cloud_objects: CloudObjects::None,
            settings: CloudSettings::Current,
            events: Vec::new(),
            written: None,
            host_change: None,
        }
    }

    /// The operation in progress.
    pub(super) fn operation(&mut self) -> Option<&mut Operation> {
        match &mut self.phase {
            Phase::Ensuring(operation) | Phase::UpdatingHosts(operation) | Phase::Deleting(operation) => {
                Some(operation)
            }
            Phase::Ready | Phase::Rejected | Phase::OtherController | Phase::Gone(_) => None,
        }
    }

    /// Whether these hosts are a reason to reconcile. An attempt in progress or to come uses them anyway.
    fn is_outdated(&self, hosts: Fingerprint) -> bool {
        match &self.phase {
            Phase::Ready => self.hosts != Some(hosts),
            Phase::Rejected => self.hosts != Some(hosts) && predicates::has_ingress(&self.service),
            Phase::Ensuring(operation) | Phase::UpdatingHosts(operation) => {
                operation.failed_with.is_some_and(|failed| failed != hosts)
            }
            Phase::OtherController | Phase::Deleting(_) | Phase::Gone(_) => false,
        }
    }

    fn is_busy(&self) -> bool {
        matches!(
            self.phase,
            Phase::Ensuring(_) | Phase::UpdatingHosts(_) | Phase::Deleting(_)
        )
    }

    /// Whether the load balancer has to be deleted after the Service does not exist any more: its deletion has begun, or it
    /// was being created. In other phases the Service waits for its finalizer, so it disappears only if the finalizer was
    /// removed or the API server lost its data; the load balancer is kept then.
    fn leaves_work(&self) -> bool {
        match &self.phase {
            Phase::Deleting(_) => true,
            Phase::Ensuring(_) => !predicates::has_ingress(&self.service),
            Phase::UpdatingHosts(_) | Phase::Ready | Phase::Rejected | Phase::OtherController | Phase::Gone(_) => false,
        }
    }
}

impl Inner {
    fn forget_gone(&mut self, now: Instant) {
        while let Some((at, key)) = self
            .gone
            .pop_front_if(|(at, _)| now.saturating_duration_since(*at) >= KEEP_GONE)
        {
            let is_still_gone = |state: &ServiceState| matches!(state.phase, Phase::Gone(since) if since == at);
            if self.services.get(&key).is_some_and(is_still_gone) {
                self.services.remove(&key);
            }
        }
    }
}

impl ServiceStates {
    /// Reads the state of a Service.
    pub(super) fn read<T>(&self, key: &str, read: impl FnOnce(Option<&ServiceState>) -> T) -> T {
        read(self.lock().services.get(key))
    }

    /// Changes the state of a Service; `None` if there is none.
    pub(super) fn with<T>(&self, key: &str, change: impl FnOnce(&mut ServiceState) -> T) -> Option<T> {
        self.lock().services.get_mut(key).map(change)
    }

    /// Changes the state of a Service, after it is created if there is none.
    pub(super) fn with_or<T>(
        &self,
        key: &str,
        new: impl FnOnce() -> ServiceState,
        change: impl FnOnce(&mut ServiceState) -> T,
    ) -> T {
        change(self.lock().services.entry(key.to_owned()).or_insert_with(new))
    }

    /// Records that a Service does not exist any more; returns whether there is work left.
    pub(super) fn gone(&self, key: &str) -> bool {
        let (now, mut inner) = (Instant::now(), self.lock());
        inner.forget_gone(now);
        let Some(state) = inner.services.get_mut(key) else {
            return false;
        };
        if state.leaves_work() {
            return true;
        }
        match (state.cloud_objects, &state.phase) {
            (CloudObjects::None, _) => drop(inner.services.remove(key)),
            (CloudObjects::MayExist, Phase::Gone(_)) => {}
            (CloudObjects::MayExist, _) => {
                state.phase = Phase::Gone(now);
                state.host_change = None;
                state.written = None;
                inner.gone.push_back((now, key.to_owned()));
            }
        }
        false
    }

    /// The UIDs of all Services with an operation in progress.
    pub(super) fn busy_uids(&self) -> Vec<String> {
        let inner = self.lock();
        let busy = inner.services.values().filter(|state| state.is_busy());
        busy.filter_map(|state| state.service.metadata.uid.clone()).collect()
    }

    /// Records that the cloud's settings have changed; returns the keys of the Services to be ensured again.
    pub(super) fn settings_changed(&self) -> Vec<String> {
        let mut inner = self.lock();
        let affected = inner
            .services
            .iter_mut()
            .filter(|(_, state)| !matches!(state.phase, Phase::Deleting(_) | Phase::Gone(_)));
        let mark = |(key, state): (&String, &mut ServiceState)| {
            state.settings = CloudSettings::Outdated;
            key.clone()
        };
        affected.map(mark).collect()
    }

    /// Has every load balancer that matches its Service ensured again; returns the keys of the Services.
    pub(super) fn resync(&self) -> Vec<String> {
        let mut inner = self.lock();
        let ready = inner
            .services
            .iter_mut()
            .filter(|(_, state)| matches!(state.phase, Phase::Ready));
        let mark = |(key, state): (&String, &mut ServiceState)| {
            state.settings = CloudSettings::Outdated;
            key.clone()
        };
        ready.map(mark).collect()
    }

    /// Records that a load balancer is being ensured; returns whether an event is to announce that: `first` for a Service
    /// without a state, and no second time for the same operation.
    pub(super) fn begin_ensure(
        &self,
        key: &str,
        service: &Arc<Service>,
        first: Announced,
        classes: &Classes,
    ) -> Announced {
        let mut inner = self.lock();
        let Some(state) = inner.services.get_mut(key) else {
            let phase = Phase::Ensuring(Operation::new(first));
            let state = ServiceState::new(service.clone(), phase);
            inner.services.insert(key.to_owned(), state);
            return first;
        };
        let changed = needs_update(&state.service, service, classes);
        state.service = service.clone();
        let settings = mem::replace(&mut state.settings, CloudSettings::Current);
        if let Phase::Ensuring(operation) = &mut state.phase
            && !changed
        {
            operation.failed_with = None;
            return Announced::No;
        }
        // A change of the settings alone is not announced: the user of the Service did not request anything.
        let announced = if settings == CloudSettings::Outdated && !changed {
            Announced::No
        } else {
            Announced::Yes
        };
        state.phase = Phase::Ensuring(Operation::new(announced));
        announced
    }

    pub(super) fn forget(&self, key: &str) {
        self.lock().services.remove(key);
    }

    /// Whether these are the hosts that were last passed to all Services.
    pub(super) fn is_current(&self, hosts: Fingerprint) -> bool {
        self.lock().hosts.is_none_or(|last| last == hosts)
    }

    /// Passes new hosts to all Services; returns the keys of those to be reconciled.
    pub(super) fn outdated(&self, hosts: Fingerprint, change: &Arc<HostChange>) -> Vec<String> {
        let mut inner = self.lock();
        inner.forget_gone(Instant::now());
        inner.hosts = Some(hosts);
        let outdated = inner.services.iter_mut().filter(|(_, state)| state.is_outdated(hosts));
        let attach = |(key, state): (&String, &mut ServiceState)| {
            state.host_change = Some(change.clone());
            key.clone()
        };
        outdated.map(attach).collect()
    }

    /// The change of hosts that the next attempt applies.
    pub(super) fn take_host_change(&self, key: &str) -> Option<Arc<HostChange>> {
        self.with(key, |state| state.host_change.take()).flatten()
    }

    /// Keeps a change of hosts that is still pending in the cloud.
    pub(super) fn keep_host_change(&self, key: &str, change: Option<Arc<HostChange>>) {
        self.with(key, |state| {
            if !matches!(state.phase, Phase::Deleting(_) | Phase::Gone(_)) {
                state.host_change = state.host_change.take().or(change);
            }
        });
    }

    /// The newest version of this Service: the controller's own write, while the informer has not caught up with it.
    pub(super) fn newest(&self, key: &str, cached: Arc<Service>) -> Arc<Service> {
        let newest = self.with(key, |state| match &state.written {
            Some(written) if written.over == cached.metadata.resource_version => Some(written.service.clone()),
            _ => {
                state.written = None;
                None
            }
        });
        newest.flatten().unwrap_or(cached)
    }

    /// Records a Service from the informer. If it asks for nothing new, it replaces the one of the last step, so that it
    /// is not kept in memory twice.
    pub(super) fn cached(&self, key: &str, new: &Arc<Service>, classes: &Classes) {
        self.with(key, |state| {
            state
                .written
                .take_if(|written| written.over != new.metadata.resource_version);
            if state.service.metadata.uid == new.metadata.uid && !needs_update(&state.service, new, classes) {
                state.service = new.clone();
            }
        });
    }

    /// Records a write over the informer's version. The annotations in it ask for nothing new.
    pub(super) fn wrote(&self, key: &str, cached: &Service, service: Arc<Service>, annotations: &Annotations) {
        let over = cached.metadata.resource_version.clone();
        self.with(key, |state| {
            state.written = Some(Written { over, service });
            if let Some(annotated) = write::with_annotations(&state.service, annotations) {
                state.service = Arc::new(annotated);
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
