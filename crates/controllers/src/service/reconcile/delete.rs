//! Deletes load balancers that no Service asks for any more.

use super::{Attempt, Flow, Reconciler};
use crate::service::{
    error::Error,
    spec::{self, predicates},
    state::{Announced, CloudObjects, Operation, Phase, ServiceState},
    status::conditions::Readiness,
    write,
};
use cloud::{Noted, Progress, Spec};
use k8s_openapi::{api::core::v1::Service, jiff::Timestamp};
use runtime::queue::Next;
use std::sync::Arc;
use tracing::{info, warn};

const DELETE: &str = "delete load balancer";

/// Whether an event announces a deletion: once, and only if there is a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    /// The deletion began in an earlier attempt.
    Before,
    /// It begins now, and the load balancer exists.
    Now,
    /// It begins now, and the load balancer may not exist.
    NowIfFound,
}

impl Reconciler {
    /// Deletes the load balancer of an existing Service, and then removes the finalizer and the status.
    pub(super) async fn delete(&self, attempt: &mut Attempt) -> Result<Next, Error> {
        let spec = spec::for_deletion(&attempt.service, &self.options.cluster);
        let announce = match self.begin_deletion(&attempt.key, &attempt.service) {
            Begun::Before => false,
            Begun::Now => true,
            Begun::NowIfFound => self.may_exist(&attempt.service, &spec).await,
        };
        if announce {
            self.events.deleting(&attempt.service);
        }
        let answer = self.delete_in_cloud(&spec).await;
        if let Progress::Pending {
            poll_after,
            waiting_for,
        } = self.take_notes(attempt, answer).map_err(Error::cloud(DELETE))?
        {
            self.record_pending(&attempt.key);
            let readiness = Readiness::deleting(&waiting_for);
            self.write_condition(attempt, &readiness).await;
            return Ok(self.poll(&attempt.key, &attempt.service, poll_after, &waiting_for));
        }
        let released = self.write(attempt, write::without_finalizer(&attempt.service)).await;
        ignore_not_found(released).map_err(Error::api("remove load balancer cleanup finalizer"))?;
        self.events.deleted(&attempt.service);
        info!("deleted load balancer");
        let cleared = write::without_status(&attempt.service, Timestamp::now());
        let cleared = self.write(attempt, cleared).await;
        ignore_not_found(cleared).map_err(Error::api("update load balancer status"))?;
        self.states.forget(&attempt.key);
        Ok(Next::Done)
    }

    /// As [`Reconciler::delete`], but only if the load balancer exists: another manager may have created it.
    pub(super) async fn delete_if_found(&self, attempt: &mut Attempt) -> Result<Next, Error> {
        let spec = spec::for_deletion(&attempt.service, &self.options.cluster);
        match self.call("find", |balancers| balancers.find(&spec)).await {
            Ok(None) | Err(cloud::Error::ImplementedElsewhere) => Ok(Next::Done),
            Ok(Some(_)) => {
                if self.begin_deletion(&attempt.key, &attempt.service) != Begun::Before {
                    self.events.deleting(&attempt.service);
                }
                self.delete(attempt).await
            }
            Err(error) => Err(Error::cloud("check if load balancer exists before cleanup")(error)),
        }
    }

    /// Deletes the load balancer of a Service that does not exist any more.
    pub(super) async fn delete_of_gone(&self, key: &str, service: &Arc<Service>) -> Flow {
        if self.begin_deletion(key, service) != Begun::Before {
            self.events.deleting(service);
        }
        let spec = spec::for_deletion(service, &self.options.cluster);
        let answer = self.delete_in_cloud(&spec).await;
        match answer.map(|noted| noted.answer) {
            Ok(Progress::Done(())) => {
                self.events.deleted(service);
                info!("deleted the load balancer of a Service that does not exist");
                self.states.forget(key);
                Flow::Replan
            }
            Ok(Progress::Pending {
                poll_after,
                waiting_for,
            }) => {
                self.record_pending(key);
                Flow::Done(self.poll(key, service, poll_after, &waiting_for))
            }
            Err(error) => Flow::Done(self.not_deleted(key, service, &Error::cloud(DELETE)(error))),
        }
    }

    /// Reports a failure; there is no Service with a condition.
    fn not_deleted(&self, key: &str, service: &Service, error: &Error) -> Next {
        if !error.is_fenced() {
            let report = error.report();
            warn!(%report, "cannot delete the load balancer of a Service that does not exist");
            self.count_failure(key, "delete", error, &report);
            self.events.delete_failed(service, &error.cause());
        }
        self.next_deletion(key, error)
    }

    /// A load balancer of another controller counts as deleted.
    async fn delete_in_cloud(&self, spec: &Spec) -> cloud::Result<Noted<Progress<()>>> {
        match self.call("delete", |balancers| balancers.delete(spec)).await {
            Err(cloud::Error::ImplementedElsewhere) => Ok(Progress::Done(()).into()),
            other => other,
        }
    }

    /// Whether there may be a load balancer: the Service has an address, the cloud finds it, or the cloud fails.
    async fn may_exist(&self, service: &Service, spec: &Spec) -> bool {
        predicates::has_ingress(service)
            || !matches!(self.call("find", |balancers| balancers.find(spec)).await, Ok(None))
    }

    /// Records that a deletion begins or continues.
    fn begin_deletion(&self, key: &str, service: &Arc<Service>) -> Begun {
        let new = || ServiceState::new(service.clone(), Phase::OtherController);
        self.states.with_or(key, new, |state| {
            state.cloud_objects = CloudObjects::MayExist;
            let begun = match state.phase {
                Phase::Deleting(_) => return Begun::Before,
                Phase::Ready | Phase::UpdatingHosts(_) => Begun::Now,
                Phase::Ensuring(_) | Phase::Rejected | Phase::OtherController | Phase::Gone(_) => Begun::NowIfFound,
            };
            state.phase = Phase::Deleting(Operation::new(Announced::Yes));
            begun
        })
    }
}

fn ignore_not_found<T>(result: Result<T, write::Error>) -> Result<(), write::Error> {
    match result {
        Ok(_) | Err(write::Error::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}
