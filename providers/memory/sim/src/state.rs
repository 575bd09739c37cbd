//! The state of the cloud, with faults. Pure: the time is an argument, nothing waits.

use crate::{Effect, Failure, Operation, Request, Settings, Step, fault::Verdict};
use cloud::{Answer, Detail, Error, NewRoute, NodeRef, Owned, Progress, Result, Route, RouteTarget, Spec, Status};
use fakecloud::{Model, Now};
use std::ops::{Deref, DerefMut};
use tokio::time::Instant;

/// The state of the cloud. Its methods are calls that fail as the verdict says.
#[derive(Debug)]
pub struct State(memory::State);

/// The answer of a call, and its effect.
#[derive(Debug)]
pub(crate) struct Done<T> {
    pub(crate) answer: T,
    pub(crate) effect: Effect,
    pub(crate) changes: Vec<String>,
}

impl<T> Done<T> {
    fn new(answer: T, changes: Vec<String>) -> Self {
        let effect = if changes.is_empty() {
            Effect::Nothing
        } else {
            Effect::Changed
        };
        Self {
            answer,
            effect,
            changes,
        }
    }
}

impl<T> Done<Result<T>> {
    fn failed(error: Error) -> Self {
        Self {
            answer: Err(error),
            effect: Effect::Failed,
            changes: Vec::new(),
        }
    }

    /// Replaces the answer, if it is to be lost.
    fn lose(mut self, verdict: &Verdict, operation: Operation) -> Self {
        if let Some(error) = single(verdict).and_then(|failure| failure.late_error(operation)) {
            self.answer = Err(error);
            self.effect = Effect::Failed;
        }
        self
    }
}

impl Deref for State {
    type Target = memory::State;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for State {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Model for State {
    type Call = Request;
    type Failure = Failure;

    fn settle(&mut self, now: Now) {
        self.0.settle(now.instant);
    }
}

impl State {
    pub(crate) fn new(settings: Settings) -> Self {
        Self(memory::State::new(settings))
    }

    pub(crate) fn describe(
        &mut self,
        nodes: &[NodeRef],
        detail: Detail,
        verdict: &Verdict,
    ) -> Done<Vec<Result<Answer>>> {
        let answers = self.0.describe(nodes, detail).into_iter().zip(nodes);
        let answers = answers.map(|(answer, node)| match failure_of(verdict, &node.name) {
            None => answer,
            Some(Failure::Blind) => Ok(Answer::Missing),
            Some(failure) => Err(any_error(failure, Operation::Describe)),
        });
        batch(answers.collect(), Vec::new())
    }

    pub(crate) fn find(&self, spec: &Spec, verdict: &Verdict) -> Done<Result<Option<Status>>> {
        read(verdict, Operation::FindLoadBalancer, || self.0.find(spec))
    }

    pub(crate) fn ensure(&mut self, spec: &Spec, verdict: &Verdict, now: Instant) -> Done<Result<Progress<Status>>> {
        let operation = Operation::EnsureLoadBalancer;
        write(verdict, operation, |limit| stepped(self.0.ensure(spec, limit, now)))
    }

    pub(crate) fn update_hosts(
        &mut self,
        spec: &Spec,
        verdict: &Verdict,
        now: Instant,
    ) -> Done<Result<Progress<Status>>> {
        let operation = Operation::UpdateHosts;
        write(verdict, operation, |limit| {
            stepped(self.0.update_hosts(spec, limit, now))
        })
    }

    pub(crate) fn delete(&mut self, spec: &Spec, verdict: &Verdict, now: Instant) -> Done<Result<Progress<()>>> {
        if single(verdict) == Some(&Failure::Blind) {
            return Done::new(Ok(Progress::Done(())), Vec::new());
        }
        write(verdict, Operation::DeleteLoadBalancer, |limit| {
            let (deletion, changes) = match limit {
                0 => (Progress::Done(()), Vec::new()),
                _ => self.0.delete(spec, now),
            };
            Done::new(Ok(deletion), changes.into_iter().map(str::to_owned).collect())
        })
    }

    pub(crate) fn owned(&self, cluster: &str, verdict: &Verdict) -> Done<Result<Vec<Owned>>> {
        read(verdict, Operation::OwnedLoadBalancers, || self.0.owned(cluster))
    }

    pub(crate) fn list_routes(&self, cluster: &str, verdict: &Verdict) -> Done<Result<Vec<Route>>> {
        read(verdict, Operation::ListRoutes, || self.0.routes.list(cluster))
    }

    pub(crate) fn create_routes(
        &mut self,
        cluster: &str,
        new: &[NewRoute],
        verdict: &Verdict,
    ) -> Done<Vec<Result<()>>> {
        let mut changes = Vec::new();
        let mut answers = Vec::new();
        for (index, route) in new.iter().enumerate() {
            let failure = failure_of(verdict, &route.node);
            answers.push(write_one(failure, index, Operation::CreateRoutes, || {
                changes.extend(self.0.create_route(cluster, route)?);
                Ok(())
            }));
        }
        batch(answers, changes)
    }

    pub(crate) fn delete_routes(
        &mut self,
        cluster: &str,
        routes: &[Route],
        verdict: &Verdict,
    ) -> Done<Vec<Result<()>>> {
        let mut changes = Vec::new();
        let mut answers = Vec::new();
        for (index, route) in routes.iter().enumerate() {
            let failure = failure_of(verdict, &route_name(route));
            if failure == Some(&Failure::Blind) {
                answers.push(Ok(()));
                continue;
            }
            answers.push(write_one(failure, index, Operation::DeleteRoutes, || {
                changes.extend(self.0.delete_route(cluster, route));
                Ok(())
            }));
        }
        batch(answers, changes)
    }
}

/// The name of a route in the record of calls and in faults: its node, or its own name if it has no node.
pub(crate) fn route_name(route: &Route) -> String {
    match &route.target {
        RouteTarget::Node(node) => node.clone(),
        RouteTarget::Machine(_) | RouteTarget::Blackhole | RouteTarget::Unknown => route.name.clone(),
    }
}

fn batch<T>(answers: Vec<Result<T>>, changes: Vec<String>) -> Done<Vec<Result<T>>> {
    let failed = answers.iter().any(Result::is_err);
    let done = Done::new(answers, changes);
    if failed {
        Done {
            effect: Effect::Failed,
            ..done
        }
    } else {
        done
    }
}

/// A call that only reads. A blind cloud answers with nothing.
fn read<T: Default>(verdict: &Verdict, operation: Operation, read: impl FnOnce() -> T) -> Done<Result<T>> {
    match single(verdict) {
        Some(Failure::Blind) => Done::new(Ok(T::default()), Vec::new()),
        Some(failure) => Done::failed(any_error(failure, operation)),
        None => Done::new(Ok(read()), Vec::new()),
    }
}

/// A call that writes, with at most as many steps as its argument says.
fn write<T>(
    verdict: &Verdict,
    operation: Operation,
    write: impl FnOnce(usize) -> Done<Result<Progress<T>>>,
) -> Done<Result<Progress<T>>> {
    if let Some(pending) = pending(verdict, operation) {
        return pending;
    }
    match early_error(verdict, operation) {
        Some(error) => Done::failed(error),
        None => write(limit(verdict)).lose(verdict, operation),
    }
}

fn stepped(steps: Result<(Progress<Status>, Vec<Step>)>) -> Done<Result<Progress<Status>>> {
    match steps {
        Ok((outcome, steps)) => Done::new(Ok(outcome), steps.iter().map(ToString::to_string).collect()),
        Err(error) => Done::failed(error),
    }
}

/// One write of a batch: fails before the change, instead of it or after it.
fn write_one(
    failure: Option<&Failure>,
    index: usize,
    operation: Operation,
    write: impl FnOnce() -> Result<()>,
) -> Result<()> {
    match failure {
        None => write(),
        Some(Failure::AfterSteps(steps)) if index < *steps => write(),
        Some(failure @ (Failure::LostAnswer | Failure::Garbage(_))) => {
            write()?;
            Err(any_error(failure, operation))
        }
        Some(failure) => Err(any_error(failure, operation)),
    }
}

/// The failure of a call about one thing.
fn single(verdict: &Verdict) -> Option<&Failure> {
    let whole = whole_call(verdict);
    whole.or_else(|| verdict.failures.first().map(|(_, failure)| failure))
}

/// The failure of one thing of a batch.
fn failure_of<'v>(verdict: &'v Verdict, name: &str) -> Option<&'v Failure> {
    let of_this_one = |(object, _): &&(Option<String>, Failure)| object.as_deref() == Some(name);
    let failure = verdict.failures.iter().find(of_this_one).map(|(_, failure)| failure);
    failure.or_else(|| whole_call(verdict))
}

fn whole_call(verdict: &Verdict) -> Option<&Failure> {
    let mut failures = verdict.failures.iter();
    failures
        .find(|(object, _)| object.is_none())
        .map(|(_, failure)| failure)
}

fn limit(verdict: &Verdict) -> usize {
    match single(verdict) {
        Some(Failure::AfterSteps(steps)) => *steps,
        _ => usize::MAX,
    }
}

/// The answer of a write that is to be pending without being performed.
fn pending<T>(verdict: &Verdict, operation: Operation) -> Option<Done<Result<Progress<T>>>> {
    let Some(Failure::Pending { poll_after }) = single(verdict) else {
        return None;
    };
    let pending = Progress::Pending {
        poll_after: *poll_after,
        waiting_for: format!("{operation} to be possible"),
    };
    Some(Done::new(Ok(pending), Vec::new()))
}

/// The error that keeps a write from being performed at all.
fn early_error(verdict: &Verdict, operation: Operation) -> Option<Error> {
    match single(verdict)? {
        Failure::Blind => Some(Error::NotFound {
            what: operation.to_string(),
        }),
        failure => failure.error(operation),
    }
}

fn any_error(failure: &Failure, operation: Operation) -> Error {
    failure
        .error(operation)
        .or_else(|| failure.late_error(operation))
        .unwrap_or_else(|| Error::NotFound {
            what: operation.to_string(),
        })
}
