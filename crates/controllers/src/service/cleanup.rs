//! Deletes load balancers that nobody wants any more.

use super::{
    conditions::Say,
    error::Error,
    ledger::{Known, Phase, Reach, Round, Voice},
    metrics::Pending,
    predicates,
    reconcile::{Flow, Job, Reconciler, poll},
    spec, write,
};
use cloud::{Noted, Progress, Spec};
use k8s_openapi::{api::core::v1::Service, jiff::Timestamp};
use runtime::queue::Next;
use std::sync::Arc;
use tracing::{info, warn};

const DELETE: &str = "delete load balancer";

/// What a deletion begins with; the user is told once, and only of something that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// It was begun before.
    Again,
    /// With a load balancer that is known to be there.
    There,
    /// With one that may be there.
    Perhaps,
}

impl Reconciler {
    /// Deletes the load balancer of a Service that is still there, and lets the Service go once nothing is left.
    pub(super) async fn cleanup(&self, job: &mut Job) -> Result<Next, Error> {
        let spec = spec::for_deletion(&job.service, &self.options.cluster);
        let there = match self.begin_deletion(&job.key, &job.service) {
            Start::Again => false,
            Start::There => true,
            Start::Perhaps => self.is_there(&job.service, &spec).await,
        };
        if there {
            self.announcer.deleting(&job.service);
        }
        let answer = self.delete(&spec).await;
        if let Progress::Pending {
            poll_after,
            waiting_for,
        } = self.heed(job, answer).map_err(Error::cloud(DELETE))?
        {
            self.note_deletion_pending(&job.key);
            self.say(job, &Say::deleting(&waiting_for)).await;
            return Ok(poll(poll_after, &waiting_for));
        }
        let let_go = self.write(job, write::without_finalizer(&job.service)).await;
        unless_gone(let_go).map_err(Error::api("remove load balancer cleanup finalizer"))?;
        self.announcer.deleted(&job.service);
        info!("deleted load balancer");
        let clear = self
            .write(job, write::without_status(&job.service, Timestamp::now()))
            .await;
        unless_gone(clear).map_err(Error::api("update load balancer status"))?;
        self.ledger.forget(&job.key);
        Ok(Next::Done)
    }

    /// As [`Reconciler::cleanup`], but leaves alone what another manager may have made.
    pub(super) async fn cleanup_if_ours(&self, job: &mut Job) -> Result<Next, Error> {
        let spec = spec::for_deletion(&job.service, &self.options.cluster);
        match self.call("find", |balancers| balancers.find(&spec)).await {
            Ok(None) | Err(cloud::Error::ImplementedElsewhere) => Ok(Next::Done),
            Ok(Some(_)) => {
                if self.begin_deletion(&job.key, &job.service) != Start::Again {
                    self.announcer.deleting(&job.service);
                }
                self.cleanup(job).await
            }
            Err(error) => Err(Error::cloud("check if load balancer exists before cleanup")(error)),
        }
    }

    /// Deletes the load balancer of a Service that is not there any more.
    pub(super) async fn remove(&self, key: &str, departed: &Arc<Service>) -> Flow {
        if self.begin_deletion(key, departed) != Start::Again {
            self.announcer.deleting(departed);
        }
        let answer = self.delete(&spec::for_deletion(departed, &self.options.cluster)).await;
        match answer.map(|noted| noted.answer) {
            Ok(Progress::Done(())) => {
                self.announcer.deleted(departed);
                info!("deleted the load balancer of a Service that is gone");
                self.ledger.forget(key);
                Flow::Again
            }
            Ok(Progress::Pending {
                poll_after,
                waiting_for,
            }) => {
                self.note_deletion_pending(key);
                Flow::Over(poll(poll_after, &waiting_for))
            }
            Err(error) => Flow::Over(self.not_removed(key, departed, &Error::cloud(DELETE)(error))),
        }
    }

    /// Reports a failure; there is no Service to write a condition to.
    fn not_removed(&self, key: &str, departed: &Service, error: &Error) -> Next {
        if !error.is_fenced() {
            let report = error.report();
            warn!(%report, "cannot delete the load balancer of a Service that is gone");
            self.mourn(key, "delete", error, &report);
            self.announcer.delete_failed(departed, &error.cause());
        }
        self.next_of_deletion(key, error)
    }

    /// Deletes; that another controller looks after it is as good as gone.
    async fn delete(&self, spec: &Spec) -> cloud::Result<Noted<Progress<()>>> {
        match self.call("delete", |balancers| balancers.delete(spec)).await {
            Err(cloud::Error::ImplementedElsewhere) => Ok(Progress::Done(()).into()),
            other => other,
        }
    }

    /// Whether there is something to delete. One that has an address surely has; if the cloud cannot say, the user is about
    /// to hear of that, too.
    async fn is_there(&self, service: &Service, spec: &Spec) -> bool {
        predicates::is_served(service) || !matches!(self.call("find", |balancers| balancers.find(spec)).await, Ok(None))
    }

    /// Takes down that a deletion begins or goes on.
    fn begin_deletion(&self, key: &str, service: &Arc<Service>) -> Start {
        let new = || Known::new(service.clone(), Phase::Elsewhere);
        self.ledger.with_or(key, new, |known| {
            known.reach = Reach::Cloud;
            let start = match known.phase {
                Phase::Deleting(_) => return Start::Again,
                Phase::Settled | Phase::Updating(_) => Start::There,
                Phase::Ensuring(_) | Phase::Refused | Phase::Elsewhere | Phase::Departed(_) => Start::Perhaps,
            };
            known.phase = Phase::Deleting(Round::new(Voice::Told));
            start
        })
    }

    fn note_deletion_pending(&self, key: &str) {
        self.ledger.with(key, |known| {
            if let Some(round) = known.round() {
                round.pending.get_or_insert_with(|| Pending::new(&self.metrics));
            }
        });
    }
}

/// That a Service is gone is what a deletion is for.
fn unless_gone<T>(outcome: Result<T, write::Error>) -> Result<(), write::Error> {
    match outcome {
        Ok(_) | Err(write::Error::Gone) => Ok(()),
        Err(error) => Err(error),
    }
}
