//! Ensures that a load balancer matches its Service.

use super::{Attempt, Reconciler, Wrote, is_reconciled};
use crate::service::{
    error::Error,
    spec::{self, predicates},
    state::{Announced, CloudObjects, Operation, Phase},
    status::conditions::Readiness,
    write,
};
use cloud::{BadRanges, LoadBalancers, Noted, Notes, Progress, Spec, Status};
use k8s_openapi::jiff::Timestamp;
use runtime::queue::Next;
use std::{mem, time::Duration};
use tokio::time::Instant;
use tracing::info;

const ENSURE: &str = "ensure load balancer";
const UPDATE: &str = "update load balancer hosts";

impl Reconciler {
    /// Ensures the load balancer, as far as the cloud can do that now.
    pub(super) async fn ensure(&self, attempt: &mut Attempt) -> Result<Next, Error> {
        let first = if is_reconciled(&attempt.service) {
            Announced::No
        } else {
            Announced::Yes
        };
        let (key, classes) = (&attempt.key, &self.options.classes);
        let announced = self.states.begin_ensure(key, &attempt.service, first, classes);
        let spec = self.spec(attempt)?;
        if announced == Announced::Yes {
            self.announce(attempt);
        }
        // Before anything is created, so that the Service cannot be deleted without its load balancer.
        match self.write(attempt, write::with_finalizer(&attempt.service)).await {
            Err(write::Error::NotFound) => return Ok(self.not_created(&attempt.key)),
            other => other.map_err(Error::api("add load balancer cleanup finalizer"))?,
        };
        self.states
            .with(&attempt.key, |state| state.cloud_objects = CloudObjects::MayExist);
        let answer = self.call("ensure", |balancers| balancers.ensure(&spec)).await;
        match self.take_notes(attempt, answer) {
            Ok(Progress::Done(status)) => self.ready(attempt, &status).await,
            Ok(Progress::Pending {
                poll_after,
                waiting_for,
            }) => Ok(self.pending(attempt, poll_after, &waiting_for).await),
            Err(cloud::Error::ImplementedElsewhere) => {
                self.states
                    .with(&attempt.key, |state| state.phase = Phase::OtherController);
                Ok(Next::Done)
            }
            Err(error) => Err(Error::cloud(ENSURE)(error)),
        }
    }

    /// Replaces only the hosts.
    pub(super) async fn update_hosts(&self, attempt: &mut Attempt) -> Result<Next, Error> {
        let started = self.begin_update(&attempt.key);
        let spec = self.spec(attempt)?;
        let answer = self
            .call("update_hosts", |balancers| balancers.update_hosts(&spec))
            .await;
        let answer = self.take_notes(attempt, answer);
        if let Ok(Progress::Pending {
            poll_after,
            waiting_for,
        }) = &answer
        {
            self.record_pending(&attempt.key);
            return Ok(self.poll(&attempt.key, &attempt.service, *poll_after, waiting_for));
        }
        self.metrics.update_hosts.observe(started.elapsed().as_secs_f64());
        match answer {
            Ok(_) => Ok(self.updated(attempt).await),
            Err(cloud::Error::ImplementedElsewhere) => Ok(self.record_ready(attempt).0),
            Err(cloud::Error::NotFound { .. }) => self.ensure(attempt).await,
            Err(error) => Err(Error::cloud(UPDATE)(error)),
        }
    }

    /// Records that the hosts are being replaced; returns since when. All attempts count as one sync.
    fn begin_update(&self, key: &str) -> Instant {
        let started = self.states.with(key, |state| {
            if let Phase::UpdatingHosts(operation) = &state.phase {
                return operation.started;
            }
            self.metrics.syncs.inc();
            let operation = Operation::new(Announced::Yes);
            let started = operation.started;
            state.phase = Phase::UpdatingHosts(operation);
            started
        });
        started.unwrap_or_else(Instant::now)
    }

    /// Updates the hosts of an existing load balancer that cannot be ensured, so that it continues to serve.
    pub(super) async fn refresh_hosts(&self, attempt: &Attempt) -> Result<Next, Error> {
        let hosts = attempt.hosts.fingerprint();
        let before = match self.states.with(&attempt.key, |state| state.hosts) {
            Some(before) if before != Some(hosts) && predicates::has_ingress(&attempt.service) => before,
            _ => return Ok(Next::Done),
        };
        let spec = self.spec(attempt)?;
        let answer = self
            .call("update_hosts", |balancers| balancers.update_hosts(&spec))
            .await;
        match answer.map(|noted| noted.answer) {
            Ok(Progress::Done(_)) if before.is_some() => self.announce_hosts(attempt),
            // After a restart it is not known whether the hosts have changed.
            Ok(Progress::Done(_)) | Err(cloud::Error::ImplementedElsewhere | cloud::Error::NotFound { .. }) => {}
            Ok(Progress::Pending {
                poll_after,
                waiting_for,
            }) => return Ok(self.poll(&attempt.key, &attempt.service, poll_after, &waiting_for)),
            Err(error) => return Err(Error::cloud(UPDATE)(error)),
        }
        self.record_hosts(attempt);
        Ok(Next::Done)
    }

    fn spec(&self, attempt: &Attempt) -> Result<Spec, Error> {
        let balancers = self.provider.load_balancers();
        let bad_ranges = balancers.map_or(BadRanges::Refuse, LoadBalancers::bad_ranges);
        spec::of(&attempt.service, &attempt.hosts, &self.options.cluster, bad_ranges).map_err(Error::invalid)
    }

    /// Emits the cloud's events that are new, and keeps its annotations for the next write.
    pub(super) fn take_notes<T>(&self, attempt: &mut Attempt, answer: cloud::Result<Noted<T>>) -> cloud::Result<T> {
        let Noted {
            answer,
            notes: Notes { annotations, events },
        } = answer?;
        attempt.annotations = annotations;
        let emitted = self
            .states
            .with(&attempt.key, |state| mem::replace(&mut state.events, events.clone()))
            .unwrap_or_default();
        for event in events.iter().filter(|event| !emitted.contains(event)) {
            self.events.of_cloud(&attempt.service, event);
        }
        Ok(answer)
    }

    /// Forgets a Service that was deleted before the cloud was called for it.
    fn not_created(&self, key: &str) -> Next {
        match self.states.with(key, |state| state.cloud_objects) {
            Some(CloudObjects::None) => self.states.forget(key),
            Some(CloudObjects::MayExist) => drop(self.states.gone(key)),
            None => {}
        }
        Next::Done
    }

    fn announce(&self, attempt: &Attempt) {
        self.events.ensuring(&attempt.service);
        if attempt.hosts.hosts().is_empty() {
            self.events.no_hosts(&attempt.service);
        }
    }

    fn announce_hosts(&self, attempt: &Attempt) {
        if attempt.hosts.hosts().is_empty() {
            self.events.no_hosts(&attempt.service);
        } else {
            self.events.updated(&attempt.service);
        }
    }

    async fn ready(&self, attempt: &mut Attempt, status: &Status) -> Result<Next, Error> {
        let new = write::with_status(&attempt.service, status, &Readiness::ready(), Timestamp::now());
        let written = self.write(attempt, new).await;
        if matches!(written, Err(write::Error::NotFound)) {
            // The Service was deleted during the call. A load balancer that existed before is kept; one that was created
            // just now is deleted by the next step.
            if self.states.gone(&attempt.key) {
                self.record_ready(attempt);
                return Ok(Next::Poll(Duration::ZERO));
            }
            return Ok(Next::Done);
        }
        let wrote = written.map_err(Error::api("update load balancer status"))?;
        let (next, operation) = self.record_ready(attempt);
        let announced = operation.as_ref().is_some_and(|it| it.announced == Announced::Yes);
        if announced || wrote == Wrote::Something {
            let time = operation.map_or(Duration::ZERO, |operation| operation.started.elapsed());
            let seconds = time.as_secs_f64();
            self.metrics.ready.observe(seconds);
            self.events.ensured(&attempt.service);
            info!(seconds, "ensured load balancer");
        }
        Ok(next)
    }

    async fn pending(&self, attempt: &mut Attempt, poll_after: Duration, waiting_for: &str) -> Next {
        if self.record_pending(&attempt.key) == Announced::No {
            self.announce(attempt);
        }
        // A load balancer that is ready soon costs one write less.
        let is_young = self.age(&attempt.key).is_some_and(|age| age < self.options.patience);
        if !is_young {
            let readiness = Readiness::provisioning(waiting_for);
            self.write_condition(attempt, &readiness).await;
        }
        self.poll(&attempt.key, &attempt.service, poll_after, waiting_for)
    }

    async fn updated(&self, attempt: &mut Attempt) -> Next {
        self.announce_hosts(attempt);
        info!(
            hosts = attempt.hosts.hosts().len(),
            "updated load balancer with new hosts"
        );
        self.write_condition(attempt, &Readiness::ready()).await;
        self.record_ready(attempt).0
    }

    /// Records that the load balancer matches. If the hosts have changed meanwhile, there is more to do.
    fn record_ready(&self, attempt: &Attempt) -> (Next, Option<Operation>) {
        let hosts = attempt.hosts.fingerprint();
        let before = self.states.with(&attempt.key, |state| {
            state.hosts = Some(hosts);
            mem::replace(&mut state.phase, Phase::Ready)
        });
        let operation = before.and_then(|phase| match phase {
            Phase::Ensuring(operation) | Phase::UpdatingHosts(operation) => Some(operation),
            _ => None,
        });
        let next = if self.states.is_current(hosts) {
            Next::Done
        } else {
            Next::Poll(Duration::ZERO)
        };
        (next, operation)
    }
}
