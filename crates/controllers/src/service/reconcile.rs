//! Brings one Service in order: reads, decides by [`super::plan`], acts, reports. Safe to run again at any point.

use super::{
    announce::Announcer,
    conditions::{self, Say},
    error::Error,
    hosts::{HostSet, Hosts},
    ledger::{Ledger, Phase, Voice},
    metrics::Metrics,
    options::Options,
    plan::Step,
    predicates, status,
    write::{self, Annotations, Writer},
};
use cloud::{LoadBalancers, Provider};
use k8s_openapi::{api::core::v1::Service, jiff::Timestamp};
use runtime::health::Pulse;
use runtime::{informer::Store, queue::Next};
use std::{future::Future, sync::Arc, time::Duration};
use tracing::{debug, instrument, warn};

/// Nobody should ask a cloud more often than this how far it is.
const MIN_POLL: Duration = Duration::from_millis(100);

/// How long one that cannot be deleted is left alone at most.
const STILL_THERE: Duration = Duration::from_secs(30);

/// What it takes to bring Services in order.
pub(super) struct Reconciler {
    pub services: Store<Service>,
    pub hosts: Hosts,
    pub provider: Arc<dyn Provider>,
    pub writer: Writer,
    pub announcer: Announcer,
    pub metrics: Metrics,
    pub pulse: Pulse,
    pub options: Options,
    pub ledger: Ledger,
}

/// One attempt at one Service.
pub(super) struct Job {
    pub key: String,
    /// As the informer has it.
    pub seen: Arc<Service>,
    /// As we know it to be: what we wrote counts at once.
    pub service: Arc<Service>,
    pub hosts: Arc<HostSet>,
    /// What the cloud wants to be noted on the Service.
    pub annotations: Annotations,
}

/// Whether there is more to do about a key right away.
pub(super) enum Flow {
    /// Yes: what stood in the way is gone.
    Again,
    /// No.
    Over(Next),
}

impl Reconciler {
    /// Brings the Service with this key in order, as far as that is possible now.
    #[instrument(skip_all, fields(service = key))]
    pub async fn reconcile(&self, key: &str) -> Next {
        let pass = self.ledger.take_pass(key);
        loop {
            let seen = self.services.find(key);
            let service = seen.clone().map(|seen| self.ledger.newest(key, seen));
            let hosts = self.hosts.current();
            let step = self
                .ledger
                .plan(key, service.as_deref(), &self.options.classes, hosts.fingerprint());
            debug!(%step, "decided");
            let job = seen.zip(service).map(|(seen, service)| Job {
                key: key.to_owned(),
                seen,
                service,
                hosts,
                annotations: Annotations::default(),
            });
            if let Flow::Over(next) = self.take(key, step, job).await {
                self.note_departure(key, next);
                if let Next::Poll(_) = next {
                    self.ledger.keep_pass(key, pass);
                }
                return next;
            }
        }
    }

    /// Its end may have been told while we were at work, and been overwritten by what we took down since.
    fn note_departure(&self, key: &str, next: Next) {
        if next == Next::Done && self.services.find(key).is_none() {
            self.ledger.depart(key);
        }
    }

    async fn take(&self, key: &str, step: Step, job: Option<Job>) -> Flow {
        match (step, job) {
            (Step::Remove(departed), _) => self.remove(key, &departed).await,
            (Step::Forget, _) => {
                self.ledger.forget(key);
                Flow::Again
            }
            (Step::Nothing, _) | (_, None) => {
                self.pulse.over(key);
                Flow::Over(Next::Done)
            }
            (step, Some(job)) => Flow::Over(self.act(step, job).await),
        }
    }

    /// Takes a step that concerns a Service that is there.
    async fn act(&self, step: Step, mut job: Job) -> Next {
        let outcome = match step {
            Step::Ensure => self.ensure(&mut job).await,
            Step::UpdateHosts if self.is_refused(&job.key) => Ok(self.keep_serving(&job).await),
            Step::UpdateHosts => self.update_hosts(&mut job).await,
            Step::Cleanup => self.cleanup(&mut job).await,
            Step::CleanupIfOurs => self.cleanup_if_ours(&mut job).await,
            Step::Nothing | Step::Forget | Step::Remove(_) => Ok(Next::Done),
        };
        match outcome {
            Ok(next) => {
                self.pulse.success();
                next
            }
            Err(error) if error.is_fenced() => error.next(),
            Err(error) => self.failed(job, &error).await,
        }
    }

    /// Reports a failure, and says what is next.
    async fn failed(&self, mut job: Job, error: &Error) -> Next {
        let report = error.report();
        let work = self.note_failure(&job, error);
        if error.is_final() && work == Work::Hosts {
            self.note_hosts(&job);
        }
        warn!(%report, "cannot bring the load balancer in order");
        self.mourn(&job.key, work.operation(), error, &report);
        match work {
            Work::Hosts => {
                self.metrics.node_sync_errors.inc();
                self.announcer.update_failed(&job.service, &job.hosts, &error.cause());
            }
            Work::Ensure | Work::Delete => self.announcer.sync_failed(&job.service, &report),
        }
        let say = match error.as_cloud() {
            Some(_) if work == Work::Hosts => Some(Say::hosts_outdated(&report)),
            Some(error) => Some(Say::failed(conditions::reason(error), &report)),
            None => None,
        };
        if let Some(say) = say {
            self.say(&mut job, &say).await;
        }
        match work {
            Work::Delete => self.next_of_deletion(&job.key, error),
            Work::Hosts => error.next(),
            Work::Ensure if error.is_final() => self.keep_serving(&job).await,
            Work::Ensure => {
                // The whole is tried again anyway, so it is not told that this fails too; only counted.
                if let Err(error) = self.refresh(&job).await {
                    self.metrics.node_sync_errors.inc();
                    debug!(report = error.report(), "cannot give it the hosts of today either");
                }
                error.next()
            }
        }
    }

    /// When to try again to delete. What hangs on it waits: once it has failed for a while, as in the Go framework no longer
    /// than half a minute for the next try.
    pub(super) fn next_of_deletion(&self, key: &str, error: &Error) -> Next {
        let since = self
            .ledger
            .with(key, |known| known.round().map(|round| round.since.elapsed()));
        match error.next_of_deletion() {
            Next::Retry if since.flatten().is_some_and(|age| age >= STILL_THERE) => Next::After(STILL_THERE),
            next => next,
        }
    }

    /// Does for a Service that is refused what can be done.
    async fn keep_serving(&self, job: &Job) -> Next {
        let error = match self.refresh(job).await {
            Ok(next) => return next,
            Err(error) => error,
        };
        let report = error.report();
        self.mourn(&job.key, Work::Hosts.operation(), &error, &report);
        self.metrics.node_sync_errors.inc();
        self.announcer.update_failed(&job.service, &job.hosts, &error.cause());
        if error.is_final() {
            self.note_hosts(job);
        }
        error.next()
    }

    fn is_refused(&self, key: &str) -> bool {
        let refused = self.ledger.with(key, |known| matches!(known.phase, Phase::Refused));
        refused.unwrap_or(false)
    }

    /// Takes down that its load balancer has these hosts, or cannot have them.
    pub(super) fn note_hosts(&self, job: &Job) {
        let hosts = job.hosts.fingerprint();
        self.ledger.with(&job.key, |known| known.hosts = Some(hosts));
    }

    /// Counts a failure. One Service that is wrong is not a controller that is sick; nor is one for which there is no
    /// room in the project's quota, while others can be changed and deleted.
    pub(super) fn mourn(&self, key: &str, operation: &str, error: &Error, report: &str) {
        self.metrics.failures.with_label_values(&[operation]).inc();
        match error.as_cloud() {
            Some(cloud::Error::Unavailable { .. } | cloud::Error::Throttled { .. } | cloud::Error::Denied { .. })
            | None => {
                self.pulse.failure_at([key.to_owned()], report);
            }
            Some(_) => self.pulse.success(),
        }
    }

    /// Takes down a failure, and says what it was that failed.
    fn note_failure(&self, job: &Job, error: &Error) -> Work {
        let note = self.ledger.with(&job.key, |known| {
            let work = match &known.phase {
                Phase::Updating(_) => Work::Hosts,
                Phase::Deleting(_) => Work::Delete,
                _ => Work::Ensure,
            };
            if let Some(round) = known.round() {
                round.voice = Voice::Told;
                round.pending = None;
                round.failed_with = Some(job.hosts.fingerprint());
            }
            match work {
                Work::Ensure if error.is_final() => known.phase = Phase::Refused,
                // It matches otherwise; other hosts may do.
                Work::Hosts if error.is_final() => known.phase = Phase::Settled,
                _ => {}
            }
            work
        });
        note.unwrap_or(Work::Delete)
    }

    /// Says something in the Service's condition, if it is news. That this fails is no reason to stop.
    pub(super) async fn say(&self, job: &mut Job, say: &Say) {
        let new = write::with_status(&job.service, &status::of(&job.service), say, Timestamp::now());
        if let Err(error) = self.write(job, new).await {
            debug!(%error, "cannot write the condition");
        }
    }

    /// Writes what differs, and the annotations that are still to be noted; `None` differs in nothing else.
    pub(super) async fn write(&self, job: &mut Job, new: Option<Service>) -> Result<Wrote, write::Error> {
        let annotated = write::with_annotations(new.as_ref().unwrap_or(&job.service), &job.annotations);
        let Some(new) = annotated.or(new) else {
            return Ok(Wrote::Nothing);
        };
        let Some(written) = self.writer.write(&job.service, &new).await? else {
            return Ok(Wrote::Nothing);
        };
        self.ledger
            .wrote(&job.key, &job.seen, written.clone(), &job.annotations);
        job.service = written;
        Ok(Wrote::Something)
    }

    /// Calls the cloud, not for longer than allowed.
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
        let timer = self.metrics.calls.with_label_values(&[operation]).start_timer();
        let answer = tokio::time::timeout(self.options.deadline, call(balancers)).await;
        timer.observe_duration();
        let deadline = self.options.deadline;
        answer.unwrap_or_else(|_| {
            Err(cloud::Error::unavailable(
                operation,
                format!("no answer within {deadline:?}"),
            ))
        })
    }
}

/// Whether a write was needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrote {
    Nothing,
    Something,
}

/// What failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Ensure,
    Hosts,
    Delete,
}

impl Work {
    fn operation(self) -> &'static str {
        match self {
            Self::Ensure => "ensure",
            Self::Hosts => "update_hosts",
            Self::Delete => "delete",
        }
    }
}

/// When to ask again.
pub(super) fn poll(after: Duration, waiting_for: &str) -> Next {
    debug!(waiting_for, "waiting for the cloud");
    Next::Poll(after.max(MIN_POLL))
}

/// Whether the Service looks as if all was well before we came.
pub(super) fn looks_settled(service: &Service) -> bool {
    predicates::has_finalizer(service)
        && match conditions::find(service) {
            Some(condition) => condition.status == "True",
            None => !status::of(service).ingress.is_empty(),
        }
}
