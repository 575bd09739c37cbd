//! Everything that a memory cloud knows. Pure: the time is told, nothing waits.

use crate::{
    AutoCreate, Effect, Failure, Operation, RouteAddresses, Settings, Step, balancers::Balancers, call::Request,
    fault::Verdict, machine::Machines, route::RouteTables,
};
use cloud::{Answer, Detail, Error, NewRoute, NodeRef, Owned, Progress, Result, Route, RouteTarget, Spec, Status};
use fakecloud::{Model, Now};
use tokio::time::Instant;

/// Everything that a memory cloud knows.
#[derive(Debug, Default)]
pub struct State {
    pub(crate) settings: Settings,
    pub(crate) machines: Machines,
    pub(crate) balancers: Balancers,
    pub(crate) routes: RouteTables,
}

/// What was done, and what the caller is told.
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

    /// Replaces the answer, if it was to be lost.
    fn lose(mut self, verdict: &Verdict, operation: Operation) -> Self {
        if let Some(error) = single(verdict).and_then(|failure| failure.late_error(operation)) {
            self.answer = Err(error);
            self.effect = Effect::Failed;
        }
        self
    }
}

impl Model for State {
    type Call = Request;
    type Failure = Failure;

    fn settle(&mut self, now: Now) {
        self.balancers.settle(now.instant);
    }
}

impl State {
    pub(crate) fn describe(
        &mut self,
        nodes: &[NodeRef],
        detail: Detail,
        verdict: &Verdict,
    ) -> Done<Vec<Result<Answer>>> {
        if self.settings.auto_create == AutoCreate::On {
            for node in nodes {
                self.machines.auto_create(node);
            }
        }
        let answers = self.machines.describe(nodes, detail).into_iter().zip(nodes);
        let answers = answers.map(|(answer, node)| match failure_of(verdict, &node.name) {
            None => answer,
            Some(Failure::Blind) => Ok(Answer::Missing),
            Some(failure) => Err(any_error(failure, Operation::Describe)),
        });
        batch(answers.collect(), Vec::new())
    }

    pub(crate) fn find(&mut self, spec: &Spec, verdict: &Verdict) -> Done<Result<Option<Status>>> {
        let operation = Operation::FindLoadBalancer;
        match single(verdict) {
            Some(Failure::Blind) => Done::new(Ok(None), Vec::new()),
            Some(failure) => Done::failed(any_error(failure, operation)),
            None => Done::new(Ok(self.balancers.find(spec, &self.settings)), Vec::new()),
        }
    }

    pub(crate) fn ensure(&mut self, spec: &Spec, verdict: &Verdict, now: Instant) -> Done<Result<Progress<Status>>> {
        let operation = Operation::EnsureLoadBalancer;
        if let Some(pending) = pending(verdict, operation) {
            return pending;
        }
        if let Some(error) = early_error(verdict, operation) {
            return Done::failed(error);
        }
        let steps = self.balancers.ensure(spec, limit(verdict), now, &self.settings);
        stepped(steps).lose(verdict, operation)
    }

    pub(crate) fn update_hosts(
        &mut self,
        spec: &Spec,
        verdict: &Verdict,
        now: Instant,
    ) -> Done<Result<Progress<Status>>> {
        let operation = Operation::UpdateHosts;
        if let Some(pending) = pending(verdict, operation) {
            return pending;
        }
        if let Some(error) = early_error(verdict, operation) {
            return Done::failed(error);
        }
        let steps = self.balancers.update_hosts(spec, limit(verdict), now, &self.settings);
        stepped(steps).lose(verdict, operation)
    }

    pub(crate) fn delete(&mut self, spec: &Spec, verdict: &Verdict, now: Instant) -> Done<Result<Progress<()>>> {
        let operation = Operation::DeleteLoadBalancer;
        if let Some(pending) = pending(verdict, operation) {
            return pending;
        }
        if single(verdict) == Some(&Failure::Blind) {
            return Done::new(Ok(Progress::Done(())), Vec::new());
        }
        if let Some(error) = early_error(verdict, operation) {
            return Done::failed(error);
        }
        let (deletion, changes) = match limit(verdict) {
            0 => (Progress::Done(()), Vec::new()),
            _ => self.balancers.delete(spec, now, &self.settings),
        };
        Done::new(Ok(deletion), changes.into_iter().map(str::to_owned).collect()).lose(verdict, operation)
    }

    pub(crate) fn owned(&mut self, cluster: &str, verdict: &Verdict) -> Done<Result<Vec<Owned>>> {
        match single(verdict) {
            Some(Failure::Blind) => Done::new(Ok(Vec::new()), Vec::new()),
            Some(failure) => Done::failed(any_error(failure, Operation::OwnedLoadBalancers)),
            None => Done::new(Ok(self.balancers.owned(cluster)), Vec::new()),
        }
    }

    pub(crate) fn list_routes(&mut self, cluster: &str, verdict: &Verdict) -> Done<Result<Vec<Route>>> {
        match single(verdict) {
            Some(Failure::Blind) => Done::new(Ok(Vec::new()), Vec::new()),
            Some(failure) => Done::failed(any_error(failure, Operation::ListRoutes)),
            None => Done::new(Ok(self.routes.list(cluster)), Vec::new()),
        }
    }

    pub(crate) fn create_routes(
        &mut self,
        cluster: &str,
        new: &[NewRoute],
        verdict: &Verdict,
    ) -> Done<Vec<Result<()>>> {
        let operation = Operation::CreateRoutes;
        let tracking: RouteAddresses = self.settings.route_addresses;
        let mut changes = Vec::new();
        let mut answers = Vec::new();
        for (index, route) in new.iter().enumerate() {
            let failure = failure_of(verdict, &route.node);
            answers.push(write_one(failure, index, operation, || {
                changes.extend(self.routes.create(cluster, route, tracking)?);
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
        let operation = Operation::DeleteRoutes;
        let mut changes = Vec::new();
        let mut answers = Vec::new();
        for (index, route) in routes.iter().enumerate() {
            let failure = failure_of(verdict, &route_name(route));
            if failure == Some(&Failure::Blind) {
                answers.push(Ok(()));
                continue;
            }
            answers.push(write_one(failure, index, operation, || {
                changes.extend(self.routes.delete(cluster, route));
                Ok(())
            }));
        }
        batch(answers, changes)
    }
}

/// What a route is called in the call log and in faults: its node, or its own name where there is no node.
pub(crate) fn route_name(route: &Route) -> String {
    match &route.target {
        RouteTarget::Node(node) => node.clone(),
        RouteTarget::Blackhole | RouteTarget::Unknown => route.name.clone(),
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

fn stepped(steps: Result<(Progress<Status>, Vec<Step>)>) -> Done<Result<Progress<Status>>> {
    match steps {
        Ok((outcome, steps)) => Done::new(Ok(outcome), steps.iter().map(ToString::to_string).collect()),
        Err(error) => Done::failed(error),
    }
}

/// One write of a batch: fails before, in place of or after the change, as told.
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
