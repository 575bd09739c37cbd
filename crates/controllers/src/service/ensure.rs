//! Makes a load balancer match its Service.

use super::{
    conditions::Say,
    error::Error,
    ledger::{Phase, Reach, Round, Voice},
    metrics::Pending,
    predicates,
    reconcile::{Job, Reconciler, Wrote, looks_settled, poll},
    spec, write,
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
    /// Makes the load balancer match, as far as the cloud can do that now.
    pub(super) async fn ensure(&self, job: &mut Job) -> Result<Next, Error> {
        let first = if looks_settled(&job.service) {
            Voice::Quiet
        } else {
            Voice::Told
        };
        let voice = self.ledger.begin(&job.key, &job.service, first, &self.options.classes);
        let spec = self.spec(job)?;
        if voice == Voice::Told {
            self.announce(job);
        }
        // Always before anything is created, so that the Service cannot go without us.
        match self.write(job, write::with_finalizer(&job.service)).await {
            Err(write::Error::Gone) => return Ok(self.forget_departed(&job.key)),
            other => other.map_err(Error::api("add load balancer cleanup finalizer"))?,
        };
        self.ledger.with(&job.key, |known| known.reach = Reach::Cloud);
        let answer = self.call("ensure", |balancers| balancers.ensure(&spec)).await;
        match self.heed(job, answer) {
            Ok(Progress::Done(status)) => self.ready(job, &status).await,
            Ok(Progress::Pending {
                poll_after,
                waiting_for,
            }) => Ok(self.wait(job, poll_after, &waiting_for).await),
            Err(cloud::Error::ImplementedElsewhere) => {
                self.ledger.with(&job.key, |known| known.phase = Phase::Elsewhere);
                Ok(Next::Done)
            }
            Err(error) => Err(Error::cloud(ENSURE)(error)),
        }
    }

    /// Replaces only the hosts.
    pub(super) async fn update_hosts(&self, job: &mut Job) -> Result<Next, Error> {
        let since = self.begin_update(&job.key);
        let spec = self.spec(job)?;
        let answer = self
            .call("update_hosts", |balancers| balancers.update_hosts(&spec))
            .await;
        let answer = self.heed(job, answer);
        if let Ok(Progress::Pending {
            poll_after,
            waiting_for,
        }) = &answer
        {
            self.note_pending(&job.key);
            return Ok(poll(*poll_after, waiting_for));
        }
        self.metrics.update_hosts.observe(since.elapsed().as_secs_f64());
        match answer {
            Ok(_) => Ok(self.updated(job).await),
            Err(cloud::Error::ImplementedElsewhere) => Ok(self.settle(job).0),
            Err(cloud::Error::NotFound { .. }) => self.ensure(job).await,
            Err(error) => Err(Error::cloud(UPDATE)(error)),
        }
    }

    /// Takes down that its hosts are being replaced, which counts once however often we look; answers since when.
    fn begin_update(&self, key: &str) -> Instant {
        let since = self.ledger.with(key, |known| {
            if let Phase::Updating(round) = &known.phase {
                return round.since;
            }
            self.metrics.syncs.inc();
            let round = Round::new(Voice::Told);
            let since = round.since;
            known.phase = Phase::Updating(round);
            since
        });
        since.unwrap_or_else(Instant::now)
    }

    /// Gives what is there the hosts of today, although it cannot be made to match: it serves somebody.
    pub(super) async fn refresh(&self, job: &Job) -> Result<Next, Error> {
        let hosts = job.hosts.fingerprint();
        let before = match self.ledger.with(&job.key, |known| known.hosts) {
            Some(before) if before != Some(hosts) && predicates::is_served(&job.service) => before,
            _ => return Ok(Next::Done),
        };
        let spec = self.spec(job)?;
        let answer = self
            .call("update_hosts", |balancers| balancers.update_hosts(&spec))
            .await;
        match answer.map(|noted| noted.answer) {
            Ok(Progress::Done(_)) if before.is_some() => self.announce_hosts(job),
            // A process that has just begun does not know whether they are others.
            Ok(Progress::Done(_)) | Err(cloud::Error::ImplementedElsewhere | cloud::Error::NotFound { .. }) => {}
            Ok(Progress::Pending {
                poll_after,
                waiting_for,
            }) => return Ok(poll(poll_after, &waiting_for)),
            Err(error) => return Err(Error::cloud(UPDATE)(error)),
        }
        self.note_hosts(job);
        Ok(Next::Done)
    }

    /// What the Service asks of the cloud.
    fn spec(&self, job: &Job) -> Result<Spec, Error> {
        let balancers = self.provider.load_balancers();
        let bad_ranges = balancers.map_or(BadRanges::Refuse, LoadBalancers::bad_ranges);
        spec::of(&job.service, &job.hosts, &self.options.cluster, bad_ranges).map_err(Error::invalid)
    }

    /// Emits the events that are new, and keeps the annotations to be written with whatever is written next.
    pub(super) fn heed<T>(&self, job: &mut Job, answer: cloud::Result<Noted<T>>) -> cloud::Result<T> {
        let Noted {
            answer,
            notes: Notes { annotations, events },
        } = answer?;
        job.annotations = annotations;
        let known = self
            .ledger
            .with(&job.key, |known| mem::replace(&mut known.events, events.clone()))
            .unwrap_or_default();
        for event in events.iter().filter(|event| !known.contains(event)) {
            self.announcer.noted(&job.service, event);
        }
        Ok(answer)
    }

    /// Forgets a Service that went before anything was asked of the cloud; what another one has in the cloud stays.
    fn forget_departed(&self, key: &str) -> Next {
        match self.ledger.with(key, |known| known.reach) {
            Some(Reach::Here) => self.ledger.forget(key),
            Some(Reach::Cloud) => drop(self.ledger.depart(key)),
            None => {}
        }
        Next::Done
    }

    fn announce(&self, job: &Job) {
        self.announcer.ensuring(&job.service);
        if job.hosts.hosts().is_empty() {
            self.announcer.no_hosts(&job.service);
        }
    }

    fn announce_hosts(&self, job: &Job) {
        if job.hosts.hosts().is_empty() {
            self.announcer.no_hosts(&job.service);
        } else {
            self.announcer.updated(&job.service);
        }
    }

    async fn ready(&self, job: &mut Job, status: &Status) -> Result<Next, Error> {
        let new = write::with_status(&job.service, status, &Say::ready(), Timestamp::now());
        let written = self.write(job, new).await;
        // It went right after we were done: if nobody told us, a second look finds out.
        let gone = matches!(written, Err(write::Error::Gone));
        let wrote = if gone {
            Wrote::Nothing
        } else {
            written.map_err(Error::api("update load balancer status"))?
        };
        // What was there before stays; only what we have just made goes with it.
        if gone && !self.ledger.depart(&job.key) {
            return Ok(Next::Done);
        }
        let (next, round) = self.settle(job);
        if gone {
            return Ok(Next::Poll(Duration::ZERO));
        }
        let told = round.as_ref().is_some_and(|round| round.voice == Voice::Told);
        if told || wrote == Wrote::Something {
            let seconds = round
                .map_or(Duration::ZERO, |round| round.since.elapsed())
                .as_secs_f64();
            self.metrics.ready.observe(seconds);
            self.announcer.ensured(&job.service);
            info!(seconds, "ensured load balancer");
        }
        Ok(next)
    }

    async fn wait(&self, job: &mut Job, poll_after: Duration, waiting_for: &str) -> Next {
        if self.note_pending(&job.key) == Voice::Quiet {
            self.announce(job);
        }
        // What takes a moment only is not worth a write.
        if !self.is_young(&job.key) {
            self.say(job, &Say::provisioning(waiting_for)).await;
        }
        poll(poll_after, waiting_for)
    }

    /// Whether the work on it has only just begun.
    fn is_young(&self, key: &str) -> bool {
        let age = self
            .ledger
            .with(key, |known| known.round().map(|round| round.since.elapsed()));
        age.flatten().is_some_and(|age| age < self.options.patience)
    }

    async fn updated(&self, job: &mut Job) -> Next {
        self.announce_hosts(job);
        info!(hosts = job.hosts.hosts().len(), "updated load balancer with new hosts");
        self.say(job, &Say::ready()).await;
        self.settle(job).0
    }

    /// Takes down that the cloud works on it; answers whether the user had been told.
    fn note_pending(&self, key: &str) -> Voice {
        let note = self.ledger.with(key, |known| {
            let round = known.round()?;
            round.pending.get_or_insert_with(|| Pending::new(&self.metrics));
            Some(mem::replace(&mut round.voice, Voice::Told))
        });
        note.flatten().unwrap_or(Voice::Told)
    }

    /// Takes down that it matches now. If the hosts changed meanwhile, there is more to do.
    fn settle(&self, job: &Job) -> (Next, Option<Round>) {
        let hosts = job.hosts.fingerprint();
        let before = self.ledger.with(&job.key, |known| {
            known.hosts = Some(hosts);
            mem::replace(&mut known.phase, Phase::Settled)
        });
        let round = before.and_then(|phase| match phase {
            Phase::Ensuring(round) | Phase::Updating(round) => Some(round),
            _ => None,
        });
        let next = if self.ledger.is_current(hosts) {
            Next::Done
        } else {
            Next::Poll(Duration::ZERO)
        };
        (next, round)
    }
}
