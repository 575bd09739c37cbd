//! Writes a list of desired objects to the cluster.

pub(super) mod applied;
mod contest;
pub(super) mod deletions;
pub(super) mod prune;
pub(super) mod recreate;

use super::{
    api::{Call, Mode},
    diff::{self, Step, compare},
    engine::{CONCURRENCY, Engine, Reader, owned_by_other},
    kinds::{self, Rank},
    owners,
    report::{Class, Failure, Operation, Outcome, Report},
};
use crate::{Key, Object, platforms::config_hash};
use futures::{StreamExt, stream};
use recreate::Replaced;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};
use tracing::{debug, info};

/// The step for an object.
struct ObjectPlan {
    object: Object,
    live: Option<Arc<Value>>,
    step: Step,
}

/// The outcome for an object, and the object as it is now.
pub(super) type Result = (Outcome, Option<Arc<Value>>);

impl Engine {
    /// Writes the desired objects, and deletes the other objects of the inventory.
    ///
    /// An object is written after the objects that it needs. An object that fails stops no others, except workloads that would read its
    /// previous content. Nothing is written if nothing differs. Workloads that are not desired any more are deleted first; as long
    /// as their Pods exist, new workloads are [pending](Report::pending), and so are the deletions of all other objects; call
    /// this again then.
    pub async fn converge(&self, desired: Vec<Object>, inventory: &[Key], cache: &dyn Reader) -> Report {
        let mut report = Report::default();
        let desired = once_each(desired, &mut report);
        let unwanted: BTreeSet<_> = inventory
            .iter()
            .filter(|key| !desired.contains_key(key))
            .cloned()
            .collect();

        let mut ranks: BTreeMap<Rank, Vec<ObjectPlan>> = BTreeMap::new();
        for (key, plan) in self.plan_all(desired, cache).await {
            match plan {
                Ok((rank, plan)) => ranks.entry(rank).or_default().push(plan),
                Err(failure) => report.add(key, (Outcome::Failed(failure), None)),
            }
        }

        let workloads = ranks.remove(&Rank::Workload).unwrap_or_default();
        for plans in ranks.into_values() {
            self.carry_out_all(plans, &mut report).await;
        }
        let workloads = hold_back(workloads, &mut report);
        let (unwanted_workloads, unwanted) = prune::by_rank(unwanted);
        let waits_for = self
            .stop_all(unwanted_workloads, cache, Duration::ZERO, &mut report)
            .await;
        let (waiting, ready): (Vec<_>, Vec<_>) = workloads
            .into_iter()
            .partition(|plan| plan.step == Step::Create && waits_for.is_some());
        self.carry_out_all(ready, &mut report).await;
        match waits_for {
            Some(workload) => {
                let new = waiting.into_iter().map(|plan| plan.object.key().clone());
                prune::wait_for(&workload, new.chain(unwanted.into_iter().flatten()), &mut report);
            }
            None => {
                for keys in unwanted {
                    self.prune_all(keys, cache, &mut report).await;
                }
            }
        }
        report
    }

    async fn plan_all(
        &self,
        desired: BTreeMap<Key, Object>,
        cache: &dyn Reader,
    ) -> Vec<(Key, std::result::Result<(Rank, ObjectPlan), Failure>)> {
        let plans = desired
            .into_iter()
            .map(|(key, object)| async move { (key, self.plan(object, cache).await) });
        stream::iter(plans).buffer_unordered(CONCURRENCY).collect().await
    }

    async fn plan(&self, object: Object, cache: &dyn Reader) -> std::result::Result<(Rank, ObjectPlan), Failure> {
        let key = object.key();
        let kind = kinds::get(key).map_err(|error| Failure::unknown(key, Operation::Create, &error))?;
        let live = self.current(key, cache).await?;
        let mut step = compare(&object, live.as_deref());
        if let (Step::Apply { .. } | Step::Repair { .. }, Some(live)) = (&step, &live)
            && self.applied.knows(key, &diff::wanted(&object), live)
        {
            step = Step::Keep;
        }
        debug!(%key, %step, "compared");
        if let Step::Leave { owner } = &step {
            return Err(owned_by_other(key, owner));
        }
        let is_contested = || self.applied.is_contested(key, &diff::wanted(&object), Instant::now());
        if may_wait(&step, kind.rank) && is_contested() {
            return Err(left_alone(key, live.as_deref()));
        }
        Ok((kind.rank, ObjectPlan { object, live, step }))
    }

    async fn carry_out_all(&self, plans: Vec<ObjectPlan>, report: &mut Report) {
        let results = plans.into_iter().map(|plan| async move {
            let result = self.carry_out(&plan).await;
            (plan.object.key().clone(), result)
        });
        let mut results = stream::iter(results).buffer_unordered(CONCURRENCY);
        while let Some((key, result)) = results.next().await {
            report.add(key, result);
        }
    }

    async fn carry_out(&self, plan: &ObjectPlan) -> Result {
        let ObjectPlan { object, live, step } = plan;
        let (key, wanted) = (object.key(), diff::wanted(object));
        let call = |operation| Call::new(&self.client, key, operation);
        let (outcome, written) = match (step, live.as_deref()) {
            (Step::Keep, _) => return (Outcome::Kept, live.clone()),
            (Step::Leave { owner }, _) => return (Outcome::Failed(owned_by_other(key, owner)), live.clone()),
            (Step::Create, _) | (_, None) => (
                Outcome::Created,
                call(Operation::Create).apply(&wanted, Mode::Real).await,
            ),
            (Step::Apply { .. }, _) => (
                Outcome::Updated,
                call(Operation::Update).apply(&wanted, Mode::Real).await,
            ),
            (Step::Repair { managed_fields, .. }, Some(live)) => {
                (Outcome::Updated, self.repair(object, live, managed_fields).await)
            }
            (Step::Recreate { .. }, Some(live)) => {
                match recreate::replace(&call(Operation::Recreate), &wanted, live, self.patience).await {
                    Ok(Replaced::NotYet(why)) => {
                        self.deletions.begins(key);
                        return (Outcome::Pending(why), None);
                    }
                    Ok(Replaced::By(new)) => (Outcome::Recreated, Ok(new)),
                    Err(failure) => (Outcome::Recreated, Err(failure)),
                }
            }
        };
        match written {
            Ok(written) => {
                // It was deleted in an earlier run, before it could be created.
                let outcome = if self.deletions.ends(key) {
                    Outcome::Recreated
                } else {
                    outcome
                };
                info!(%key, %step, "{outcome}");
                self.applied.remember(key, &wanted, &written, Instant::now());
                (outcome, Some(Arc::new(written)))
            }
            Err(failure) => (Outcome::Failed(failure), live.clone()),
        }
    }

    async fn repair(
        &self,
        object: &Object,
        live: &Value,
        managed_fields: &Value,
    ) -> std::result::Result<Value, Failure> {
        let call = Call::new(&self.client, object.key(), Operation::Update);
        let taken = call
            .take_over(&live["metadata"]["resourceVersion"], managed_fields)
            .await;
        if taken.is_err_and(|failure| failure.class == Class::Transient) {
            // It was written meanwhile: once more, from its current state.
            let fresh = call.find().await?;
            if let Step::Leave { owner } = compare(object, fresh.as_ref()) {
                return Err(owned_by_other(object.key(), &owner));
            }
            if let (Step::Repair { managed_fields, .. }, Some(fresh)) = (compare(object, fresh.as_ref()), fresh) {
                call.take_over(&fresh["metadata"]["resourceVersion"], &managed_fields)
                    .await?;
            }
        }
        call.apply(&diff::wanted(object), Mode::Real).await
    }
}

/// Whether a step may be delayed because of a conflict over the object. A workload that does not exist is created at once: nothing runs without it.
fn may_wait(step: &Step, rank: Rank) -> bool {
    match step {
        Step::Keep => false,
        Step::Create => rank != Rank::Workload,
        _ => true,
    }
}

/// The workloads that may be written; the others wait for an object that they read, which exists and could not be changed.
fn hold_back(workloads: Vec<ObjectPlan>, report: &mut Report) -> Vec<ObjectPlan> {
    let mut ready = Vec::new();
    for plan in workloads {
        match unwritten(&plan, report) {
            Some(unwritten) => {
                let why = format!("waits for {unwritten}");
                report.add(plan.object.key().clone(), (Outcome::Pending(why), plan.live));
            }
            None => ready.push(plan),
        }
    }
    ready
}

/// An object whose previous content a workload would read. Pods wait by themselves for an object that does not exist.
fn unwritten(plan: &ObjectPlan, report: &Report) -> Option<Key> {
    if plan.step == Step::Keep {
        return None;
    }
    let namespace = plan.object.key().namespace.as_deref()?;
    let read = config_hash::references(plan.object.value()).into_iter();
    read.map(|reference| reference.key(namespace))
        .find(|key| matches!(report.outcome(key), Some(Outcome::Failed(_))) && report.object(key).is_some())
}

/// The failure for an object that is left alone: always the same message, so that it is reported once.
fn left_alone(key: &Key, live: Option<&Value>) -> Failure {
    let writer = live.and_then(owners::last_writer);
    let program = writer.map_or_else(String::new, |writer| format!(" ({writer})"));
    let reason = format!("another program{program} changes it back again and again, so it is left alone for a while");
    Failure::new(key, Operation::Update, Class::Transient, reason)
}

/// An object that is desired twice is not written at all: it is not known which of the two is meant.
fn once_each(desired: Vec<Object>, report: &mut Report) -> BTreeMap<Key, Object> {
    let mut objects = BTreeMap::new();
    for object in desired {
        let key = object.key().clone();
        if objects.insert(key.clone(), object).is_some() {
            let failure = Failure::new(&key, Operation::Update, Class::Refused, "it is asked for twice");
            report.add(key, (Outcome::Failed(failure), None));
        }
    }
    objects.retain(|key, _| report.outcome(key).is_none());
    objects
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::as_wanted(Step::Keep, Rank::Workload, false)]
    #[case::a_deleted_workload(Step::Create, Rank::Workload, false)]
    #[case::another_deleted_object(Step::Create, Rank::Role, true)]
    #[case::a_changed_workload(Step::Apply { why: Vec::new() }, Rank::Workload, true)]
    fn a_deleted_workload_is_recreated_at_once(#[case] step: Step, #[case] rank: Rank, #[case] waits: bool) {
        assert_eq!(may_wait(&step, rank), waits);
    }
}
