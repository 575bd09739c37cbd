//! How a memory cloud misbehaves. Pure.

use crate::Operation;
use cloud::Error;
use std::{collections::BTreeMap, time::Duration};

/// Something that goes wrong, or slowly. By default at every call, for ever.
///
/// ```
/// use memory::{Failure, Fault, Operation};
/// use std::time::Duration;
///
/// Fault::delay(Duration::from_secs(1));
/// Fault::fail(Failure::Unavailable("no route to host".into())).at(Operation::EnsureLoadBalancer).only("default/web").times(3);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub(crate) action: Action,
    /// Where; none is everywhere.
    pub(crate) operations: Vec<Operation>,
    pub(crate) subject: Option<String>,
    pub(crate) times: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Delay(Duration),
    Hang,
    Fail(Failure),
}

/// How a call fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// [`Error::NotFound`], without looking.
    NotFound,
    /// [`Error::Invalid`]
    Invalid {
        /// The field that is wrong.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Writes of load balancers answer [`cloud::Progress::Pending`]; other calls fail with [`Error::Unusable`].
    Pending {
        /// When to look again.
        poll_after: Duration,
    },
    /// [`Error::Throttled`]
    Throttled {
        /// When to ask again.
        retry_after: Option<Duration>,
    },
    /// [`Error::Unavailable`]
    Unavailable(String),
    /// [`Error::Denied`]
    Denied(String),
    /// [`Error::Quota`]
    Quota(String),
    /// [`Error::NotSupported`]
    NotSupported,
    /// [`Error::ImplementedElsewhere`]
    ImplementedElsewhere,
    /// The call is performed and its answer is lost.
    LostAnswer,
    /// A write stops after so many steps and fails.
    AfterSteps(usize),
    /// The call is performed and its answer makes no sense.
    Garbage(Garbage),
    /// The cloud does not see anything that it has: every machine is missing, no load balancer is found, lists are empty
    /// and deletions succeed without deleting.
    Blind,
}

/// How an answer makes no sense. The difference shows only over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// It ends in the middle.
    Truncated,
    /// It is not JSON.
    NotJson,
    /// It is JSON of another shape.
    WrongShape,
    /// It has no body.
    Empty,
}

/// Names an injected fault, to withdraw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaultId(pub(crate) u64);

/// What lies beneath the error of a garbage answer, so that the server can really give one.
#[derive(Debug, thiserror::Error)]
#[error("the answer makes no sense")]
pub(crate) struct Garbled(pub(crate) Garbage);

impl Fault {
    /// Calls take so much longer.
    pub fn delay(delay: Duration) -> Self {
        Self::new(Action::Delay(delay))
    }

    /// Calls hang until the fault is withdrawn.
    pub fn hang() -> Self {
        Self::new(Action::Hang)
    }

    /// Calls fail.
    pub fn fail(failure: Failure) -> Self {
        Self::new(Action::Fail(failure))
    }

    /// Only at this operation; said again, at that one, too.
    #[must_use]
    pub fn at(mut self, operation: Operation) -> Self {
        self.operations.push(operation);
        self
    }

    /// Only where this one is concerned: a node by its name, or a Service by `namespace/name`. A failure then concerns
    /// only this one of a batch.
    #[must_use]
    pub fn only(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Only at the next so many calls that it concerns.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    fn new(action: Action) -> Self {
        Self {
            action,
            operations: Vec::new(),
            subject: None,
            times: None,
        }
    }

    fn concerns(&self, operation: Operation, subjects: &[String]) -> bool {
        (self.operations.is_empty() || self.operations.contains(&operation))
            && self.subject.as_ref().is_none_or(|only| subjects.contains(only))
            && self.times != Some(0)
    }
}

impl Failure {
    /// The error of this failure; `None` where the failure is not (only) an error.
    pub(crate) fn error(&self, operation: Operation) -> Option<Error> {
        let call = operation.to_string();
        Some(match self.clone() {
            Self::NotFound => Error::NotFound { what: call },
            Self::Invalid { field, reason } => Error::Invalid { field, reason },
            Self::Pending { .. } => Error::unusable(call, "it is still being provisioned"),
            Self::Throttled { retry_after } => Error::Throttled { call, retry_after },
            Self::Unavailable(text) => Error::unavailable(call, text),
            Self::Denied(text) => Error::denied(call, text),
            Self::Quota(text) => Error::quota(call, text),
            Self::NotSupported => Error::NotSupported { what: call },
            Self::ImplementedElsewhere => Error::ImplementedElsewhere,
            Self::LostAnswer | Self::AfterSteps(_) | Self::Garbage(_) | Self::Blind => return None,
        })
    }

    /// The error after the call was performed, if it was to fail then.
    pub(crate) fn late_error(&self, operation: Operation) -> Option<Error> {
        let call = operation.to_string();
        match self {
            Self::LostAnswer => Some(Error::unavailable(call, "the answer was lost")),
            Self::AfterSteps(steps) => Some(Error::unavailable(call, format!("stopped after {steps} steps"))),
            Self::Garbage(garbage) => Some(Error::unavailable(call, Garbled(*garbage))),
            _ => None,
        }
    }
}

/// What is to go wrong at one call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) delay: Duration,
    pub(crate) hangs: Vec<FaultId>,
    /// Of the whole call.
    pub(crate) failure: Option<Failure>,
    /// Of single subjects.
    pub(crate) failures: BTreeMap<String, Failure>,
}

/// All faults, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    next: u64,
    injected: BTreeMap<FaultId, Fault>,
}

impl Faults {
    pub(crate) fn inject(&mut self, fault: Fault) -> FaultId {
        let id = FaultId(self.next);
        self.next += 1;
        self.injected.insert(id, fault);
        id
    }

    pub(crate) fn withdraw(&mut self, id: FaultId) {
        self.injected.remove(&id);
    }

    pub(crate) fn clear(&mut self) {
        self.injected.clear();
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (FaultId, &Fault)> {
        self.injected.iter().map(|(id, fault)| (*id, fault))
    }

    pub(crate) fn holds(&self, id: FaultId) -> bool {
        self.injected.contains_key(&id)
    }

    /// Decides what goes wrong at this call; the first failure wins, delays add up. Counts the call.
    pub(crate) fn judge(&mut self, operation: Operation, subjects: &[String]) -> Verdict {
        let mut verdict = Verdict::default();
        for (id, fault) in &mut self.injected {
            if !fault.concerns(operation, subjects) {
                continue;
            }
            fault.times = fault.times.map(|times| times - 1);
            match (&fault.action, &fault.subject) {
                (Action::Delay(delay), _) => verdict.delay += *delay,
                (Action::Hang, _) => verdict.hangs.push(*id),
                (Action::Fail(failure), None) => {
                    verdict.failure.get_or_insert_with(|| failure.clone());
                }
                (Action::Fail(failure), Some(subject)) => {
                    verdict
                        .failures
                        .entry(subject.clone())
                        .or_insert_with(|| failure.clone());
                }
            }
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const SECOND: Duration = Duration::from_secs(1);

    fn verdict(fault: Fault, operation: Operation, subjects: &[&str]) -> Verdict {
        let mut faults = Faults::default();
        faults.inject(fault);
        faults.judge(operation, &subjects.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[rstest]
    #[case::everywhere(Fault::delay(SECOND), true)]
    #[case::here(Fault::delay(SECOND).at(Operation::Describe), true)]
    #[case::here_too(Fault::delay(SECOND).at(Operation::ListRoutes).at(Operation::Describe), true)]
    #[case::elsewhere(Fault::delay(SECOND).at(Operation::ListRoutes), false)]
    #[case::this_one(Fault::delay(SECOND).only("a"), true)]
    #[case::another(Fault::delay(SECOND).only("b"), false)]
    #[case::never(Fault::delay(SECOND).times(0), false)]
    fn concerns(#[case] fault: Fault, #[case] concerned: bool) {
        let delay = verdict(fault, Operation::Describe, &["a"]).delay;
        assert_eq!(delay, if concerned { SECOND } else { Duration::ZERO });
    }

    #[test]
    fn a_failure_of_one_is_not_that_of_all() {
        let verdict = verdict(
            Fault::fail(Failure::NotFound).only("a"),
            Operation::Describe,
            &["a", "b"],
        );
        assert_eq!(verdict.failure, None);
        assert_eq!(verdict.failures, [("a".to_owned(), Failure::NotFound)].into());
    }

    #[test]
    fn counts_down_delays_add_up_and_the_first_failure_wins() {
        let mut faults = Faults::default();
        faults.inject(Fault::fail(Failure::NotSupported).times(2));
        let second = faults.inject(Fault::fail(Failure::NotFound));
        faults.inject(Fault::delay(SECOND));
        faults.inject(Fault::delay(SECOND));
        let mut judge = || faults.judge(Operation::Describe, &[]);
        let judged = [judge(), judge(), judge()];
        assert_eq!(judged[0].delay, 2 * SECOND);
        let failures: Vec<_> = judged.into_iter().filter_map(|verdict| verdict.failure).collect();
        assert_eq!(
            failures,
            [Failure::NotSupported, Failure::NotSupported, Failure::NotFound]
        );
        faults.withdraw(second);
        assert_eq!(faults.judge(Operation::Describe, &[]).failure, None);
    }

    #[test]
    fn what_hangs_hangs_until_it_is_withdrawn() {
        let mut faults = Faults::default();
        let id = faults.inject(Fault::hang().times(1));
        assert_eq!(faults.judge(Operation::Describe, &[]).hangs, [id]);
        assert_eq!(faults.judge(Operation::Describe, &[]).hangs, []);
        assert!(faults.holds(id));
        faults.clear();
        assert!(!faults.holds(id));
    }
}
