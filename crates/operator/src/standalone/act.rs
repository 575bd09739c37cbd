//! Writes what a manager wants, or removes it, and sees what came of it.

use super::{
    pass::Operator,
    scope,
    status::{Found, Hold, Problem, Said, State, troubled},
};
use crate::{
    Key, Object,
    operands::{
        Report,
        health::{self, Rollout},
        kinds,
        report::Class,
    },
    rollout::{Judgement, Workload},
    status::Operands,
    telling,
};
use kube::ResourceExt;
use operator_api::CloudControllerManager;
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};
use tracing::warn;

/// While something is being removed it is looked at again this soon.
const SOON: Duration = Duration::from_secs(2);
/// The reasons of what the Pods do.
const ROLLING_OUT: &str = "RollingOut";
const PODS_FAIL: &str = "PodsFail";

impl Operator {
    pub(super) async fn removed(&mut self, name: &str, inventory: Vec<Key>) -> Found {
        self.watch(name, &inventory.iter().cloned().collect()).await;
        let report = self.engine.remove_all(&inventory, &self.watches).await;
        telling::tell(&self.hands.recorder, &report);
        let pending: Vec<_> = report.pending().map(|(key, why)| format!("{key}: {why}")).collect();
        let removing = (!pending.is_empty()).then(|| ("Removing", pending.join("; ")));
        let found = if let Some(problem) = problem("RemovalFailed", &report) {
            self.troubled(name, problem, report.inventory())
        } else {
            self.care(name).window.worked();
            Found {
                again: removing.is_some().then_some(SOON),
                inventory: report.inventory(),
                ..Found::default()
            }
        };
        Found {
            state: State::Removed,
            progressing: found.progressing.or(removing),
            ..found
        }
    }

    pub(super) async fn managed(
        &mut self,
        manager: &CloudControllerManager,
        objects: Vec<Object>,
        inventory: Vec<Key>,
    ) -> Found {
        self.watch(&manager.name_any(), &inventory.iter().cloned().collect())
            .await;
        let mut all: BTreeSet<_> = objects.iter().map(|object| object.key().clone()).collect();
        all.extend(inventory.iter().cloned());
        let is_new = all.len() > inventory.len() || !scope::is_settled(manager);
        if is_new && !self.announce(manager, all).await {
            let problem = Problem::Transient(("CannotReport", "the status cannot be written".to_owned()));
            return self.troubled(&manager.name_any(), problem, inventory);
        }
        let report = self.engine.converge(objects, &inventory, &self.watches).await;
        telling::tell(&self.hands.recorder, &report);
        self.watches.learn(&report);
        match problem("SyncingFailed", &report) {
            Some(problem) => Found {
                hold: Hold::Also,
                ..self.troubled(&manager.name_any(), problem, report.inventory())
            },
            None => self.judged(manager, &report).await,
        }
    }

    /// What is about to be made, and what it will look after, is written down before it is made. Says whether it is.
    async fn announce(&self, manager: &CloudControllerManager, all: BTreeSet<Key>) -> bool {
        let announced = Found {
            progressing: Some(("Installing", "objects are being written".to_owned())),
            inventory: all.into_iter().collect(),
            hold: Hold::Also,
            ..Found::default()
        };
        self.report(manager, &announced).await
    }

    async fn judged(&mut self, manager: &CloudControllerManager, report: &Report) -> Found {
        let pending: Vec<_> = report.pending().map(|(key, why)| format!("{key}: {why}")).collect();
        if !pending.is_empty() {
            self.care(&manager.name_any()).window.worked();
            return Found {
                progressing: Some((ROLLING_OUT, pending.join("; "))),
                inventory: report.inventory(),
                again: Some(SOON),
                ..Found::default()
            };
        }
        let is_there = |key: &Key| key.kind == "Deployment" && report.object(key).is_some();
        let deployments = report.outcomes().filter(|(key, _)| is_there(key));
        let workloads: Vec<_> = deployments.map(|(key, _)| Workload::of(report, key)).collect();
        let hold = hold(&workloads);
        let (eyes, namespace) = (self.hands.eyes.clone(), self.namespace.clone());
        let care = self.care(&manager.name_any());
        care.window.worked();
        let Judgement { operands, again } = care.patience.examine(&eyes, &namespace, workloads).await;
        let (mut progressing, mut degraded) = (None, None);
        match operands {
            Operands::Progressing(waiting) => progressing = Some((ROLLING_OUT, waiting.join("; "))),
            Operands::Down(why) | Operands::Failed(why) | Operands::Limping(why) | Operands::Outage(why) => {
                degraded = Some((PODS_FAIL, why));
            }
            // Nothing is said yet that was not said before.
            Operands::Failing => {
                progressing = still(manager, "Progressing", ROLLING_OUT);
                degraded = still(manager, "Degraded", PODS_FAIL);
            }
            Operands::Done | Operands::Running | Operands::Waiting => {}
        }
        Found {
            progressing,
            degraded,
            inventory: report.inventory(),
            hold,
            again,
            ..Found::default()
        }
    }

    /// What is told about a problem now.
    pub(super) fn troubled(&mut self, name: &str, problem: Problem, inventory: Vec<Key>) -> Found {
        if let Problem::Refused((_, cause)) | Problem::Transient((_, cause)) = &problem {
            warn!(manager = name, %cause, "not everything could be done; trying again");
        }
        let window = &mut self.care(name).window;
        troubled(problem, || window.failed(Instant::now()), inventory)
    }
}

/// What the manager's objects are, by its own word.
pub(super) fn inventory(manager: &CloudControllerManager) -> Vec<Key> {
    let related = manager.status.iter().flat_map(|status| &status.related_objects);
    related.filter_map(kinds::key).collect()
}

/// Pods of before are there until the change is rolled out.
fn hold(workloads: &[Workload]) -> Hold {
    let is_done = |workload: &Workload| health::rollout(&workload.key, workload.live.as_deref()) == Rollout::Complete;
    if !workloads.is_empty() && workloads.iter().all(is_done) {
        Hold::Only
    } else {
        Hold::Also
    }
}

/// What a manager's status says about its Pods.
fn still(manager: &CloudControllerManager, type_: &str, reason: &'static str) -> Option<Said> {
    let said = manager.status.as_ref()?.condition(type_)?;
    (said.status == "True" && said.reason == reason).then(|| (reason, said.message.clone()))
}

/// What failed, and whether anybody has to do something about it.
fn problem(reason: &'static str, report: &Report) -> Option<Problem> {
    let failures: BTreeSet<_> = report.failures().map(ToString::to_string).collect();
    let refused = |class: Class| matches!(class, Class::Refused | Class::Unserved);
    let is_refused = report.failures().any(|failure| refused(failure.class));
    let said = (reason, failures.into_iter().collect::<Vec<_>>().join("; "));
    match (said.1.is_empty(), is_refused) {
        (true, _) => None,
        (false, true) => Some(Problem::Refused(said)),
        (false, false) => Some(Problem::Transient(said)),
    }
}
