//! The turn of a Service to begin a load balancer: see [`super::admission`].

use super::{
    Halt,
    admission::{Outcome, Verdict},
    state::{ServiceKey, State, Step, key},
};
use cloud::Spec;
use std::time::Duration;
use tokio::time::Instant;

/// The turn of a Service. Dropping it ends the turn, also if a reconcile fails or is cancelled.
#[derive(Debug)]
pub(super) struct Turn<'a, O, S: Step> {
    state: &'a State<O, S>,
    service: ServiceKey,
    end: End,
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Leave,
    Keep,
}

impl<O, S: Step> State<O, S> {
    /// The turn of a Service, as far as it is.
    pub(super) fn turn(&self, spec: &Spec) -> Turn<'_, O, S> {
        let service = key(spec);
        self.admission(|admission| admission.resume(&service, Instant::now()));
        Turn {
            state: self,
            service,
            end: End::Leave,
        }
    }

    /// The creation of a load balancer that began at this time is answered.
    pub(super) fn answered(&self, outcome: Outcome, sent: Instant) {
        self.admission(|admission| admission.answered(outcome, sent, Instant::now()));
    }
}

impl<O, S: Step> Turn<'_, O, S> {
    /// Begins, or answers what to wait for.
    pub fn begin(&self) -> Result<(), Halt> {
        let service = self.service.clone();
        match self.state.admission(|admission| admission.ask(service, Instant::now())) {
            Verdict::Begin => Ok(()),
            Verdict::Wait(poll_after) => Err(Halt::Pending {
                poll_after,
                waiting_for: "its turn: other load balancers are created first".to_owned(),
            }),
        }
    }

    /// The Service is pending: its turn continues when it is reconciled again after this time.
    pub fn keep(mut self, poll_after: Duration) {
        self.end = End::Keep;
        let due = Instant::now() + poll_after;
        self.state.admission(|admission| admission.keep(&self.service, due));
    }
}

impl<O, S: Step> Drop for Turn<'_, O, S> {
    fn drop(&mut self) {
        if self.end == End::Leave {
            self.state.admission(|admission| admission.leave(&self.service));
        }
    }
}
