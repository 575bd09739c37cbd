//! Reconciles one Service: reads, decides by [`super::plan`], acts, reports. Safe to run again at any point.

mod delete;
mod ensure;

use super::{
    error::Error,
    events::ServiceEvents,
    hosts::{HostSet, Hosts},
    metrics::{Metrics, Pending},
    options::Options,
    plan::{Step, plan},
    spec::predicates,
    state::{Announced, Phase, ServiceStates},
    status::{
        self,
        conditions::{self, Readiness},
    },
    write::{self, Annotations, Writer},
};
use crate::cloud_call;
use cloud::{LoadBalancers, Provider};
use k8s_openapi::{api::core::v1::Service, jiff::Timestamp};
use runtime::{health::Pulse, informer::Store, queue::Next};
use std::{future::Future, mem, sync::Arc, time::Duration};
use tracing::{debug, instrument, warn};

/// The shortest pause between two calls about the same load balancer.
const MIN_POLL: Duration = Duration::from_millis(100);

/// The longest pause between two attempts to delete a load balancer, once deletion has failed for this time.
const MAX_DELETION_WAIT: Duration = Duration::from_secs(30);

/// Reconciles Services with the cloud.
pub(super) struct Reconciler {
    pub services: Store<Service>,
    pub hosts: Hosts,
    pub provider: Arc<dyn Provider>,
    pub writer: Writer,
    pub events: ServiceEvents,
    pub metrics: Metrics,
    pub pulse: Pulse,
    pub options: Options,
    pub states: ServiceStates,
}

/// One attempt at one Service.
pub(super) struct Attempt {
    key: String,
    /// The Service in the informer.
    cached: Arc<Service>,
    /// The Service with the controller's own writes.
    service: Arc<Service>,
    hosts: Arc<HostSet>,
    /// Annotations that the cloud wants on the Service, written with the next write.
    annotations: Annotations,
}

/// Whether there is another step for the key right away.
enum Flow {
    /// Yes: what stood in the way is deleted.
    Replan,
    /// No.
    Done(Next),
}

impl Reconciler {
    /// Reconciles the Service with this key, as far as that is possible now.
    #[instrument(skip_all, fields(service = key))]
    pub async fn reconcile(&self, key: &str) -> Next {
        let host_change = self.states.take_host_change(key);
        loop {
            let cached = self.services.find(key);
            let service = cached.clone().map(|cached| self.states.newest(key, cached));
            let hosts = self.hosts.current();
            let step = self.plan(key, service.as_deref(), &hosts);
            debug!(%step, "planned");
            let attempt = cached.zip(service).map(|(cached, service)| Attempt {
                key: key.to_owned(),
                cached,
                service,
                hosts,
                annotations: Annotations::default(),
            });
            if let Flow::Done(next) = self.take_step(key, step, attempt).await {
                // The delete event may have been handled during the attempt, and its state overwritten since.
                if next == Next::Done && self.services.find(key).is_none() {
                    self.states.gone(key);
                }
                if let Next::Poll(_) = next {
                    self.states.keep_host_change(key, host_change);
                }
                return next;
            }
        }
    }

    pub(super) fn plan(&self, key: &str, service: Option<&Service>, hosts: &HostSet) -> Step {
        let classes = &self.options.classes;
        self.states
            .read(key, |state| plan(service, state, classes, hosts.fingerprint()))
    }

    async fn take_step(&self, key: &str, step: Step, attempt: Option<Attempt>) -> Flow {
        match (step, attempt) {
            (Step::DeleteOfGone(service), _) => self.delete_of_gone(key, &service).await,
            (Step::Forget, _) => {
                self.states.forget(key);
                Flow::Replan
            }
            (Step::Nothing, _) | (_, None) => {
                self.pulse.over(key);
                Flow::Done(Next::Done)
            }
            (step, Some(attempt)) => Flow::Done(self.attempt(step, attempt).await),
        }
    }

    /// Takes a step for an existing Service.
    async fn attempt(&self, step: Step, mut attempt: Attempt) -> Next {
        let result = match step {
            Step::Ensure => self.ensure(&mut attempt).await,
            Step::UpdateHosts if self.is_rejected(&attempt.key) => Ok(self.update_hosts_of_rejected(&attempt).await),
            Step::UpdateHosts => self.update_hosts(&mut attempt).await,
            Step::Delete => self.delete(&mut attempt).await,
            Step::DeleteIfFound => self.delete_if_found(&mut attempt).await,
            Step::Nothing | Step::Forget | Step::DeleteOfGone(_) => Ok(Next::Done),
        };
        match result {
            Ok(next) => {
                self.pulse.success();
                next
            }
            Err(error) if error.is_fenced() => error.next(),
            Err(error) => self.failed(attempt, &error).await,
        }
    }

    /// Reports a failure, and returns the next attempt.
    async fn failed(&self, mut attempt: Attempt, error: &Error) -> Next {
        let report = error.report();
        let kind = self.record_failure(&attempt, error);
        if error.is_final() && kind == Kind::UpdateHosts {
            self.record_hosts(&attempt);
        }
        warn!(%report, "cannot reconcile the load balancer");
        self.count_failure(&attempt.key, kind.as_str(), error, &report);
        if kind == Kind::UpdateHosts {
            self.report_hosts_failure(&attempt, error);
        } else {
            self.events.sync_failed(&attempt.service, &report);
        }
        if let Some(cloud_error) = error.as_cloud() {
            let readiness = if kind == Kind::UpdateHosts {
                Readiness::hosts_outdated(&report)
            } else {
                Readiness::failed(conditions::reason(cloud_error), &report)
            };
            self.write_condition(&mut attempt, &readiness).await;
        }
        match kind {
            Kind::Delete => self.next_deletion(&attempt.key, error),
            Kind::UpdateHosts => error.next(),
            Kind::Ensure if error.is_final() => self.update_hosts_of_rejected(&attempt).await,
            Kind::Ensure => {
                // The load balancer is ensured again anyway, so a failure of this is only counted.
                if let Err(error) = self.refresh_hosts(&attempt).await {
                    self.metrics.node_sync_errors.inc();
                    debug!(report = error.report(), "cannot update its hosts either");
                }
                error.next()
            }
        }
    }

    /// The next attempt to delete. Other objects wait for it, so after [`MAX_DELETION_WAIT`] there is an attempt each time
    /// that long, as in the Go framework.
    fn next_deletion(&self, key: &str, error: &Error) -> Next {
        match error.next_of_deletion() {
            Next::Retry if self.age(key).is_some_and(|age| age >= MAX_DELETION_WAIT) => Next::After(MAX_DELETION_WAIT),
            next => next,
        }
    }

    /// How long the operation in progress has taken.
    fn age(&self, key: &str) -> Option<Duration> {
        let started = self.states.with(key, |state| Some(state.operation()?.started));
        started.flatten().map(|started| started.elapsed())
    }

    /// Updates the hosts of the existing load balancer of a rejected Service.
    async fn update_hosts_of_rejected(&self, attempt: &Attempt) -> Next {
        let error = match self.refresh_hosts(attempt).await {
            Ok(next) => return next,
            Err(error) => error,
        };
        self.count_failure(&attempt.key, Kind::UpdateHosts.as_str(), &error, &error.report());
        self.report_hosts_failure(attempt, &error);
        if error.is_final() {
            self.record_hosts(attempt);
        }
        error.next()
    }

    fn report_hosts_failure(&self, attempt: &Attempt, error: &Error) {
        self.metrics.node_sync_errors.inc();
        self.events
            .update_failed(&attempt.service, &attempt.hosts, &error.cause());
    }

    fn is_rejected(&self, key: &str) -> bool {
        self.states
            .read(key, |state| state.is_some_and(|it| matches!(it.phase, Phase::Rejected)))
    }

    /// Records that the load balancer has these hosts, or that the cloud rejected them.
    fn record_hosts(&self, attempt: &Attempt) {
        let hosts = attempt.hosts.fingerprint();
        self.states.with(&attempt.key, |state| state.hosts = Some(hosts));
    }

    /// Counts a failure. A Service that is rejected or exceeds the quota is not a failure of the controller, which can still
    /// change and delete other load balancers.
    fn count_failure(&self, key: &str, operation: &str, error: &Error, report: &str) {
        self.metrics.failures.with_label_values(&[operation]).inc();
        match error.as_cloud() {
            Some(cloud::Error::Unavailable { .. } | cloud::Error::Throttled { .. } | cloud::Error::Denied { .. })
            | None => {
                self.pulse.failure_at([key.to_owned()], report);
            }
            Some(_) => self.pulse.success(),
        }
    }

    /// Records a failure; returns what failed.
    fn record_failure(&self, attempt: &Attempt, error: &Error) -> Kind {
        let kind = self.states.with(&attempt.key, |state| {
            let kind = match &state.phase {
                Phase::UpdatingHosts(_) => Kind::UpdateHosts,
                Phase::Deleting(_) => Kind::Delete,
                _ => Kind::Ensure,
            };
            if let Some(operation) = state.operation() {
                operation.announced = Announced::Yes;
                operation.pending = None;
                operation.failed_with = Some(attempt.hosts.fingerprint());
            }
            match kind {
                Kind::Ensure if error.is_final() => state.phase = Phase::Rejected,
                // The rest matches the Service, and other hosts may be accepted.
                Kind::UpdateHosts if error.is_final() => state.phase = Phase::Ready,
                _ => {}
            }
            kind
        });
        kind.unwrap_or(Kind::Delete)
    }

    /// Records that the operation is pending in the cloud; returns whether it was announced before.
    fn record_pending(&self, key: &str) -> Announced {
        let announced = self.states.with(key, |state| {
            let operation = state.operation()?;
            operation.pending.get_or_insert_with(|| Pending::new(&self.metrics));
            Some(mem::replace(&mut operation.announced, Announced::Yes))
        });
        announced.flatten().unwrap_or(Announced::Yes)
    }

    /// The next attempt at an operation that is pending in the cloud. Reports the wait if it lasts.
    fn poll(&self, key: &str, service: &Service, after: Duration, waiting_for: &str) -> Next {
        debug!(waiting_for, "waiting for the cloud");
        let (patience, first) = (self.options.patience, self.options.report_wait_after);
        let reports = self.states.with(key, |state| {
            let operation = state.operation()?;
            Some((operation.report_wait(first), operation.until_report(patience, first)))
        });
        let (since, until_report) = reports.flatten().unwrap_or_default();
        if let Some(since) = since {
            // The condition outlives a restart of the manager.
            let since = conditions::not_ready_since(service).map_or(since, |it| it.min(since));
            self.events.waiting(service, since, waiting_for);
        }
        // A cloud may ask for a pause that is longer than users wait for a reason.
        let after = until_report.map_or(after, |until| after.min(until));
        Next::Poll(after.max(MIN_POLL))
    }

    /// Writes the condition of the Service if it has changed. A failure of that does not stop the reconciliation.
    async fn write_condition(&self, attempt: &mut Attempt, readiness: &Readiness) {
        let service = &attempt.service;
        let new = write::with_status(service, &status::of(service), readiness, Timestamp::now());
        if let Err(error) = self.write(attempt, new).await {
            debug!(%error, "cannot write the condition");
        }
    }

    /// Writes the differences of `new` and the annotations that the cloud wants; `None` has no other differences.
    async fn write(&self, attempt: &mut Attempt, new: Option<Service>) -> Result<Wrote, write::Error> {
        let annotated = write::with_annotations(new.as_ref().unwrap_or(&attempt.service), &attempt.annotations);
        let Some(new) = annotated.or(new) else {
            return Ok(Wrote::Nothing);
        };
        let Some(written) = self.writer.write(&attempt.service, &new).await? else {
            return Ok(Wrote::Nothing);
        };
        self.states
            .wrote(&attempt.key, &attempt.cached, written.clone(), &attempt.annotations);
        attempt.service = written;
        Ok(Wrote::Something)
    }

    /// Calls the cloud, at most until the deadline.
    pub(super) async fn call<'a, T, F>(
        &'a self,
        operation: &'static str,
        call: impl FnOnce(&'a dyn LoadBalancers) -> F,
    ) -> cloud::Result<T>
    where
        F: Future<Output = cloud::Result<T>> + 'a,
    {
        let what = || "load balancers".to_owned();
        let balancers = self
            .provider
            .load_balancers()
            .ok_or_else(|| cloud::Error::NotSupported { what: what() })?;
        let _timer = self.metrics.calls.with_label_values(&[operation]).start_timer();
        cloud_call::single(operation, self.options.deadline, call(balancers)).await
    }
}

/// Whether a write was needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrote {
    Nothing,
    Something,
}

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ensure,
    UpdateHosts,
    Delete,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ensure => "ensure",
            Self::UpdateHosts => "update_hosts",
            Self::Delete => "delete",
        }
    }
}

/// Whether the Service seems to have been reconciled before this process started.
fn is_reconciled(service: &Service) -> bool {
    predicates::has_finalizer(service)
        && match conditions::find(service) {
            Some(condition) => condition.status == "True",
            None => predicates::has_ingress(service),
        }
}
