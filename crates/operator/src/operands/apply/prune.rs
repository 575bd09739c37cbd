//! Deletes objects that are not desired any more.

use crate::operands::{
    api::Call,
    apply::recreate,
    engine::{CONCURRENCY, Engine, Reader},
    kinds::{self, Rank},
    owners,
    report::{Class, Failure, Operation, Outcome, Report},
};
use crate::{Key, Lookup};
use futures::{StreamExt, stream};
use kube::api::{Preconditions, PropagationPolicy};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tracing::info;

/// Workloads, and all other objects in the order in which they are deleted. Kinds that the operator does not create are left out.
pub(in crate::operands) fn by_rank(keys: BTreeSet<Key>) -> (Vec<Key>, Vec<Vec<Key>>) {
    let mut ranks: BTreeMap<Rank, Vec<Key>> = BTreeMap::new();
    for key in keys {
        if let Ok(kind) = kinds::get(&key) {
            ranks.entry(kind.rank).or_default().push(key);
        }
    }
    let workloads = ranks.remove(&Rank::Workload).unwrap_or_default();
    (workloads, ranks.into_values().rev().collect())
}

impl Engine {
    /// Deletes everything in the inventory that is ours: workloads first, and the objects that they need once their Pods do not
    /// exist any more. Until then the report names the [pending](Report::pending) deletions; call this again.
    pub async fn remove_all(&self, inventory: &[Key], cache: &dyn Reader) -> Report {
        let mut report = Report::default();
        let (workloads, rest) = by_rank(inventory.iter().cloned().collect());
        let waits_for = self.stop_all(workloads, cache, self.patience, &mut report).await;
        if let Some(workload) = waits_for {
            wait_for(&workload, rest.into_iter().flatten(), &mut report);
            return report;
        }
        for keys in rest {
            self.prune_all(keys, cache, &mut report).await;
        }
        report
    }

    /// Whether an object exists that this operator or the Go operator created, and that is not deleted with an owner.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn is_operand(&self, key: &Key) -> Result<bool, Failure> {
        let live = Call::new(&self.client, key, Operation::Read).find().await?;
        let is_owned = |live: &Value| live["metadata"].get("ownerReferences").is_some();
        Ok(live.is_some_and(|live| owners::is_ours(&live) && !is_owned(&live)))
    }

    /// Deletes workloads. Returns one that still exists.
    pub(in crate::operands) async fn stop_all(
        &self,
        workloads: Vec<Key>,
        cache: &dyn Reader,
        patience: Duration,
        report: &mut Report,
    ) -> Option<Key> {
        self.prune_all(workloads.clone(), cache, report).await;
        self.await_deletion(&workloads, patience, report).await;
        for key in &workloads {
            self.report_completed(key, report);
        }
        let is_there = |key: &Key| report.outcome(key).is_some_and(|outcome| !is_over(outcome));
        workloads.into_iter().find(is_there)
    }

    /// Reports a deletion that began in an earlier run and is complete now.
    fn report_completed(&self, key: &Key, report: &mut Report) {
        match report.outcome(key) {
            Some(Outcome::Pending(_)) => self.deletions.begins(key),
            Some(Outcome::Gone) if self.deletions.ends(key) => report.add(key.clone(), (Outcome::Pruned, None)),
            Some(Outcome::Pruned | Outcome::Left(_)) => {
                self.deletions.ends(key);
            }
            _ => {}
        }
    }

    async fn await_deletion(&self, workloads: &[Key], patience: Duration, report: &mut Report) {
        let waits = workloads.iter().map(|key| {
            let before = report.outcome(key).cloned();
            async move {
                match before {
                    Some(Outcome::Pruned | Outcome::Pending(_)) => (key, self.pending(key, patience).await),
                    _ => (key, None),
                }
            }
        });
        let waits: Vec<_> = stream::iter(waits).buffer_unordered(CONCURRENCY).collect().await;
        for (key, outcome) in waits {
            if let Some(outcome) = outcome {
                report.add(key.clone(), (outcome, None));
            }
        }
    }

    async fn pending(&self, key: &Key, patience: Duration) -> Option<Outcome> {
        let call = Call::new(&self.client, key, Operation::Delete);
        let still_there = async {
            let Some(live) = call.find().await? else {
                return Ok(None);
            };
            if live["metadata"].get("deletionTimestamp").is_none() {
                return Ok(None);
            }
            recreate::still_there(&call, &live["metadata"]["uid"], patience).await
        };
        match still_there.await {
            Ok(None) => Some(Outcome::Pruned),
            Ok(Some(why)) => Some(Outcome::Pending(why)),
            Err(failure) => Some(Outcome::Failed(failure)),
        }
    }

    pub(in crate::operands) async fn prune_all(&self, keys: Vec<Key>, cache: &dyn Reader, report: &mut Report) {
        let results = keys.into_iter().map(|key| async move {
            let outcome = self.prune(&key, cache).await.unwrap_or_else(Outcome::Failed);
            (key, outcome)
        });
        let mut results = stream::iter(results).buffer_unordered(CONCURRENCY);
        while let Some((key, outcome)) = results.next().await {
            report.add(key, (outcome, None));
        }
    }

    async fn prune(&self, key: &Key, cache: &dyn Reader) -> Result<Outcome, Failure> {
        if matches!(cache.find(key), Lookup::Absent) && !self.applied.is_stale(key, None) {
            return Ok(Outcome::Gone);
        }
        let call = Call::new(&self.client, key, Operation::Delete);
        match self.delete(&call, key).await {
            // It has changed since it was read: its ownership has to be checked again.
            Err(failure) if failure.class == Class::Transient => self.delete(&call, key).await,
            other => other,
        }
    }

    async fn delete(&self, call: &Call<'_>, key: &Key) -> Result<Outcome, Failure> {
        let live = call.find().await?.map(Arc::new);
        let step = deletion(key, live.as_deref(), self.owner);
        if let (Outcome::Pruned, Some(live)) = (&step, live) {
            let text = |field: &str| live["metadata"][field].as_str().map(str::to_owned);
            let preconditions = Preconditions {
                uid: text("uid"),
                resource_version: text("resourceVersion"),
            };
            if !call.delete(preconditions, policy(key)).await? {
                self.applied.forget(key);
                return Ok(Outcome::Gone);
            }
            info!(%key, "pruned");
        }
        self.applied.forget(key);
        Ok(step)
    }
}

/// Reports that objects wait for the deletion of a workload.
pub(in crate::operands) fn wait_for(workload: &Key, keys: impl IntoIterator<Item = Key>, report: &mut Report) {
    for key in keys {
        report.add(key, (Outcome::Pending(format!("waits for {workload}")), None));
    }
}

/// What to do with an object that is not desired.
fn deletion(key: &Key, live: Option<&Value>, owner: Option<&str>) -> Outcome {
    match live {
        None => Outcome::Gone,
        Some(_) if key.kind == "Namespace" => Outcome::Left("namespaces are never deleted".to_owned()),
        Some(live) if !owners::is_ours(live) => Outcome::Left("it was not made by the operator".to_owned()),
        Some(live) if belongs_elsewhere(live, owner) => Outcome::Left("it is owned by another object".to_owned()),
        Some(live) if live["metadata"].get("deletionTimestamp").is_some() => {
            Outcome::Pending("it is being deleted".to_owned())
        }
        Some(_) => Outcome::Pruned,
    }
}

/// Whether an object is owned by no controller of this kind; for `None`, whether it is owned by any.
pub(in crate::operands) fn belongs_elsewhere(live: &Value, owner: Option<&str>) -> bool {
    owners::controller_kind(live) != owner
}

/// A workload stays visible until its Pods do not exist any more, so that the next process can still wait for it.
fn policy(key: &Key) -> PropagationPolicy {
    match kinds::get(key) {
        Ok(kind) if kind.rank == Rank::Workload => PropagationPolicy::Foreground,
        _ => PropagationPolicy::Background,
    }
}

fn is_over(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Pruned | Outcome::Gone | Outcome::Left(_))
}
