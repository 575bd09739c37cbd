//! Writes what was decided, and sees what came of it.

use super::{
    decide::{Desired, Prune},
    observe::Observed,
    pass::{Found, Operator},
};
use crate::{
    Key, Object, cloud_config,
    operands::{
        Failure, Outcome, Report, health,
        kinds::{self, Rank},
    },
    rollout::{Judgement, Workload},
    status::{self, Operands, Verdict},
    watching::Lookup,
};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};
use tracing::warn;

/// While something is being removed it is looked at again this soon.
const SOON: Duration = Duration::from_secs(2);

impl Operator {
    /// What is about to be made is written down before it is made: a process that dies in between leaves nothing behind
    /// that its successor would not know of. Says whether it may go on.
    pub(super) async fn announce(
        &mut self,
        observed: &mut Observed,
        keys: &[Key],
        inventory: &[Key],
        found: &mut Found,
    ) -> bool {
        let is_new = |key: &Key| is_inventoried(key) && !inventory.contains(key);
        if !self.settings.duties.has_operands() || !keys.iter().any(is_new) || found.operands.is_some() {
            return true;
        }
        // In the words that are right until everything is rolled out.
        let rolling = health::rolling(&workloads(keys));
        let mut announced = Found {
            operands: Some(Operands::Progressing(rolling)),
            ..Found::default()
        };
        let mut all = inventory.to_vec();
        all.extend(keys.iter().filter(|key| is_inventoried(key)).cloned());
        all.sort();
        all.dedup();
        self.report(observed, &all, &mut announced).await;
        found.failing |= announced.failing;
        !announced.failing
    }

    pub(super) async fn act(&self, desired: Desired, inventory: &[Key]) -> (Report, Prune) {
        let ours = self.prunable(inventory, desired.prune);
        let report = match desired.prune {
            Prune::All => {
                let wanted: BTreeSet<_> = desired.objects.iter().map(Object::key).collect();
                let unwanted: Vec<_> = ours.into_iter().filter(|key| !wanted.contains(key)).collect();
                let mut report = self.engine.converge(desired.objects, &[], &self.watches).await;
                if !unwanted.is_empty() {
                    report.absorb(self.engine.remove_all(&unwanted, &self.watches).await);
                }
                report
            }
            Prune::Unwanted | Prune::Nothing => self.engine.converge(desired.objects, &ours, &self.watches).await,
        };
        (report, desired.prune)
    }

    /// What may be removed where it is not wanted. What belongs to another process is not ours to remove, unless there is
    /// nobody left whom it is for.
    pub(super) fn prunable(&self, inventory: &[Key], prune: Prune) -> Vec<Key> {
        let cloud_conf = Key::config_map(&self.settings.namespace, cloud_config::NAME);
        // Pods cannot start without it, and where there is no Proxy nobody says what should be in it.
        let certificates = Key::config_map(&self.settings.namespace, crate::trusted_ca::NAME);
        let is_ours = |key: &Key| *key != certificates && (self.settings.duties.has_sync() || *key != cloud_conf);
        let mut ours: Vec<_> = match prune {
            Prune::Nothing => Vec::new(),
            Prune::Unwanted | Prune::All => inventory.iter().filter(|key| is_ours(key)).cloned().collect(),
        };
        if prune == Prune::All && !ours.contains(&cloud_conf) {
            ours.push(cloud_conf);
        }
        ours
    }

    /// Takes note of what was written, and says what is ours now.
    pub(super) fn learn(&self, report: &Report, keys: &[Key], inventory: &[Key], prune: Prune) -> Vec<Key> {
        self.watches.learn(report);
        let mut after: Vec<_> = report.inventory().into_iter().filter(is_inventoried).collect();
        if prune == Prune::Nothing {
            after.extend(inventory.iter().cloned());
            after.extend(keys.iter().filter(|key| is_inventoried(key)).cloned());
        }
        after.sort();
        after.dedup();
        after
    }

    /// What became of the objects.
    pub(super) fn judge(&mut self, report: &Report, found: &mut Found) {
        let (left, failures): (Vec<_>, Vec<_>) = report.failures().partition(|failure| failure.is_left_behind());
        self.leave(sentences(left), found);
        let failures = sentences(failures);
        let pending: Vec<_> = report.pending().map(|(key, why)| format!("{key}: {why}")).collect();
        found.obstacles.extend(failures.iter().chain(&pending).cloned());
        if !failures.is_empty() {
            found.failing = true;
            self.failed(report, failures.join("; "), found);
        } else if !pending.is_empty() {
            found.again = Some(SOON);
            if found.operands.is_none() && self.settings.duties.has_operands() {
                found.operands = Some(Operands::Progressing(pending));
            }
        }
    }

    /// How the Pods are, whatever became of the objects.
    pub(super) async fn examine(&mut self, report: &Report, workloads: &[Key], found: &mut Found) {
        if !self.settings.duties.has_operands() {
            return;
        }
        let all: Option<Vec<_>> = workloads.iter().map(|key| self.workload(report, key)).collect();
        // Nothing is made up of what nobody can see, or of nothing.
        let Some(all) = all.filter(|all| !all.is_empty() || found.operands.is_none()) else {
            return;
        };
        let judging = self.patience.examine(&self.hands.eyes, &self.settings.namespace, all);
        let Judgement { operands, again } = judging.await;
        found.again = [found.again, again].into_iter().flatten().min();
        if let Operands::Progressing(waiting) = &operands {
            found.obstacles.extend(waiting.iter().cloned());
        }
        found.operands = Some(match found.operands.take() {
            Some(problem) => problem.and(operands),
            None => operands,
        });
    }

    /// A workload as it is; `None` if nobody knows.
    fn workload(&self, report: &Report, key: &Key) -> Option<Workload> {
        let live = match (report.outcome(key), report.object(key)) {
            // It is on its way out: what runs of it does not count.
            (Some(Outcome::Pending(_)), None) => None,
            (_, Some(live)) => Some(live.clone()),
            (_, None) => match self.watches.find(key) {
                Lookup::Found(live) => Some(live),
                Lookup::Absent => None,
                Lookup::Unknown(_) => return None,
            },
        };
        Some(Workload::new(key.clone(), live))
    }

    /// What may not be removed stays, and is told once: whoever grants the verb will see it go.
    fn leave(&mut self, left: Vec<String>, found: &mut Found) {
        if !left.is_empty() && left != self.left {
            let what = left.join("; ");
            warn!(%what, "something is not wanted any more and stays, because it may not be deleted");
        }
        self.left.clone_from(&left);
        found.left = left;
    }

    pub(super) fn failed(&mut self, report: &Report, cause: String, found: &mut Found) {
        warn!(%cause, "not everything could be written");
        let sync = |failure: &Failure| {
            let maps = [cloud_config::NAME, cloud_config::MANAGED_NAME, crate::trusted_ca::NAME];
            failure.key.kind == "ConfigMap" && maps.contains(&failure.key.name.as_str())
        };
        let failures = report.failures().filter(|failure| !failure.is_left_behind());
        let (of_sync, of_operands): (Vec<_>, Vec<_>) = failures.partition(|failure| sync(failure));
        for failure in of_sync {
            let (outcome, window) = if failure.key.name == crate::trusted_ca::NAME {
                (&mut found.trusted_ca, &mut self.windows.trusted_ca)
            } else {
                (&mut found.cloud_config, &mut self.windows.cloud_config)
            };
            *outcome = Some(match window.failed(Instant::now()) {
                Verdict::Tell => status::Outcome::Failed(failure.to_string()),
                Verdict::Wait(_) => status::Outcome::Failing,
            });
        }
        if !self.settings.duties.has_operands() || found.operands.is_some() {
            return;
        }
        found.operands = Some(match (of_operands.as_slice(), found.may_provision()) {
            // They wait for a part as long as nobody is told that it fails.
            ([], Ok(_)) => Operands::Waiting,
            ([], Err(problem)) => self.windows.operands_failed(problem.to_string()),
            _ => self.windows.operands_failed(cause),
        });
    }
}

/// In words, each once.
fn sentences(failures: Vec<&Failure>) -> Vec<String> {
    let all: BTreeSet<_> = failures.into_iter().map(ToString::to_string).collect();
    all.into_iter().collect()
}

/// Those of them that run Pods.
pub(super) fn workloads<'a>(keys: impl IntoIterator<Item = &'a Key>) -> Vec<Key> {
    let runs = |key: &&Key| kinds::get(key).is_ok_and(|kind| kind.rank == Rank::Workload);
    keys.into_iter().filter(runs).cloned().collect()
}

/// What the operator removes when it is not wanted any more: everything but what it writes for others.
fn is_inventoried(key: &Key) -> bool {
    key.namespace.as_deref() != Some(cloud_config::MANAGED_NAMESPACE)
}
