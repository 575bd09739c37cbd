//! Applies the objects of a manager, or deletes them.

use super::{
    operator::Operator,
    scope,
    status::{Cause, ClaimUpdate, Found, Management, Message, failed},
};
use crate::{
    Key, Object,
    control::{Next, Retry},
    events,
    operands::{
        Report,
        health::{self, Rollout},
        report::Class,
    },
    rollout::{Judgement, Workload},
    status::Operands,
};
use kube::ResourceExt;
use operator_api::CloudControllerManager;
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};
use tracing::warn;

/// The next pass while objects are being deleted.
const SOON: Next = Next {
    again: Some(Duration::from_secs(2)),
    retry: Retry::No,
};
/// The reasons of conditions about Pods.
const ROLLING_OUT: &str = "RollingOut";
const PODS_FAIL: &str = "PodsFail";

impl Operator {
    pub(super) async fn removed(&mut self, name: &str, inventory: Vec<Key>) -> Found {
        let report = self.engine.remove_all(&inventory, &self.cache).await;
        events::emit(&self.clients.recorder, &report);
        let pending = report.waiting();
        let removing = (!pending.is_empty()).then(|| ("Removing", pending.join("; ")));
        let found = if let Some(problem) = problem("RemovalFailed", &report) {
            self.failed(name, problem, report.inventory())
        } else {
            self.state_of(name).window.worked();
            Found {
                next: if removing.is_some() { SOON } else { Next::default() },
                inventory: report.inventory(),
                ..Found::default()
            }
        };
        Found {
            state: Management::Removed,
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
        let mut all: BTreeSet<_> = objects.iter().map(|object| object.key().clone()).collect();
        all.extend(inventory.iter().cloned());
        let is_new = all.len() > inventory.len() || !scope::is_settled(manager);
        if is_new && !self.announce(manager, all).await {
            let problem = Cause::Transient(("CannotReport", "the status cannot be written".to_owned()));
            return self.failed(&manager.name_any(), problem, inventory);
        }
        let report = self.engine.converge(objects, &inventory, &self.cache).await;
        events::emit(&self.clients.recorder, &report);
        self.cache.learn(&report);
        match problem("SyncingFailed", &report) {
            Some(problem) => Found {
                claims: ClaimUpdate::Add,
                ..self.failed(&manager.name_any(), problem, report.inventory())
            },
            None => self.judged(manager, &report).await,
        }
    }

    /// Records in the status the objects to create, and the claim, before they are created. Returns whether it is recorded.
    async fn announce(&self, manager: &CloudControllerManager, all: BTreeSet<Key>) -> bool {
        let announced = Found {
            progressing: Some(("Installing", "objects are being written".to_owned())),
            inventory: all.into_iter().collect(),
            claims: ClaimUpdate::Add,
            ..Found::default()
        };
        self.report(manager, &announced).await
    }

    async fn judged(&mut self, manager: &CloudControllerManager, report: &Report) -> Found {
        let pending = report.waiting();
        if !pending.is_empty() {
            self.state_of(&manager.name_any()).window.worked();
            return Found {
                progressing: Some((ROLLING_OUT, pending.join("; "))),
                inventory: report.inventory(),
                next: SOON,
                ..Found::default()
            };
        }
        let is_there = |key: &Key| key.kind == "Deployment" && report.object(key).is_some();
        let deployments = report.outcomes().filter(|(key, _)| is_there(key));
        let workloads: Vec<_> = deployments.map(|(key, _)| Workload::of(report, key)).collect();
        let (claims, waiting) = (claims(&workloads), waiting(&workloads));
        let (client, namespace) = (self.clients.read.clone(), self.settings.namespace.clone());
        let state = self.state_of(&manager.name_any());
        state.window.worked();
        let Judgement { operands, again } = state.patience.examine(&client, &namespace, workloads).await;
        Found {
            inventory: report.inventory(),
            claims,
            next: Next {
                again,
                retry: Retry::No,
            },
            ..reported(manager, operands, &waiting)
        }
    }

    /// The status for a cause at this time.
    pub(super) fn failed(&mut self, name: &str, problem: Cause, inventory: Vec<Key>) -> Found {
        if let Cause::Refused((_, cause)) | Cause::Transient((_, cause)) = &problem {
            warn!(manager = name, %cause, "not everything could be done; retrying");
        }
        let window = &mut self.state_of(name).window;
        failed(problem, || window.failed(Instant::now()), inventory)
    }
}

/// The status of the Pods, while this is pending.
fn reported(manager: &CloudControllerManager, operands: Operands, waiting: &[String]) -> Found {
    let rolling = |waiting: &[String]| (!waiting.is_empty()).then(|| (ROLLING_OUT, waiting.join("; ")));
    let mut found = Found::default();
    match operands {
        Operands::Progressing(waiting) => found.progressing = rolling(&waiting),
        // Its duration decides whether it is a failure, as on OpenShift.
        Operands::Down(why) => {
            found.progressing = rolling(waiting);
            found.degraded = still(manager, "Degraded", PODS_FAIL);
            found.down = Some(why);
        }
        Operands::Failed(why) | Operands::Impaired(why) | Operands::Outage(why) => {
            found.progressing = rolling(waiting);
            found.degraded = Some((PODS_FAIL, why));
        }
        // The conditions do not change.
        Operands::Failing => {
            found.progressing = still(manager, "Progressing", ROLLING_OUT);
            found.degraded = still(manager, "Degraded", PODS_FAIL);
        }
        Operands::Done | Operands::Running | Operands::Waiting => {}
    }
    found
}

/// The messages about a change that is not rolled out, also if it makes no progress.
fn waiting(workloads: &[Workload]) -> Vec<String> {
    if workloads.iter().all(is_rolled_out) {
        return Vec::new();
    }
    health::rolling(workloads.iter().map(|workload| &workload.key))
}

fn is_rolled_out(workload: &Workload) -> bool {
    health::rollout(&workload.key, workload.live.as_deref()) == Rollout::Complete
}

/// Pods with the previous spec exist until the change is rolled out.
fn claims(workloads: &[Workload]) -> ClaimUpdate {
    if !workloads.is_empty() && workloads.iter().all(is_rolled_out) {
        ClaimUpdate::Replace
    } else {
        ClaimUpdate::Add
    }
}

/// The existing condition about Pods in a manager's status.
fn still(manager: &CloudControllerManager, type_: &str, reason: &'static str) -> Option<Message> {
    let message = manager.status.as_ref()?.condition(type_)?;
    (message.status == "True" && message.reason == reason).then(|| (reason, message.message.clone()))
}

/// The failures, and whether the user has to act.
fn problem(reason: &'static str, report: &Report) -> Option<Cause> {
    let failures: BTreeSet<_> = report.failures().map(ToString::to_string).collect();
    let refused = |class: Class| matches!(class, Class::Refused | Class::Unserved);
    let is_refused = report.failures().any(|failure| refused(failure.class));
    let message = (reason, failures.into_iter().collect::<Vec<_>>().join("; "));
    match (message.1.is_empty(), is_refused) {
        (true, _) => None,
        (false, true) => Some(Cause::Refused(message)),
        (false, false) => Some(Cause::Transient(message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use operator_api::cloud_controller_manager::Status;
    use rstest::rstest;
    use serde_json::json;
    use std::sync::Arc;

    fn manager(degraded: &str) -> CloudControllerManager {
        let mut manager =
            CloudControllerManager::new("a", serde_json::from_value(json!({"provider": "memory"})).unwrap());
        let condition = |type_: &str, status: &str, reason: &str| json!({"type": type_, "status": status, "reason": reason, "message": "as before", "lastTransitionTime": "2026-11-16T05:00:00Z"});
        let conditions = [condition("Degraded", degraded, PODS_FAIL)];
        manager.status = Some(serde_json::from_value::<Status>(json!({ "conditions": conditions })).unwrap());
        manager
    }

    fn why() -> String {
        "0 of 2".to_owned()
    }

    /// Whether it was degraded before, the judgement, and what is pending.
    #[rstest]
    #[case::rolled("False", Operands::Progressing(vec!["a Pod".to_owned()]), "a Pod", "Progressing: a Pod")]
    #[case::nothing_runs("False", Operands::Down(why()), "", "down: 0 of 2")]
    #[case::nothing_runs_in_a_roll_out("False", Operands::Down(why()), "a Pod", "Progressing: a Pod, down: 0 of 2")]
    #[case::again(
        "True",
        Operands::Down(why()),
        "a Pod",
        "Progressing: a Pod, Degraded: as before, down: 0 of 2"
    )]
    #[case::for_long("False", Operands::Outage(why()), "", "Degraded: 0 of 2")]
    #[case::for_long_in_a_roll_out("False", Operands::Outage(why()), "a Pod", "Progressing: a Pod, Degraded: 0 of 2")]
    #[case::too_few("False", Operands::Impaired(why()), "", "Degraded: 0 of 2")]
    #[case::all_is_well("True", Operands::Done, "", "")]
    fn reports(#[case] before: &str, #[case] operands: Operands, #[case] waiting: &str, #[case] expected: &str) {
        let waiting: Vec<_> = Some(waiting.to_owned())
            .into_iter()
            .filter(|what| !what.is_empty())
            .collect();
        let found = reported(&manager(before), operands, &waiting);
        let message = |type_: &str, message: Option<Message>| message.map(|(_, message)| format!("{type_}: {message}"));
        let down = found.down.map(|why| format!("down: {why}"));
        let all = [
            message("Progressing", found.progressing),
            message("Degraded", found.degraded),
            down,
        ];
        assert_eq!(all.into_iter().flatten().collect::<Vec<_>>().join(", "), expected);
    }

    #[test]
    fn a_change_that_does_not_get_on_is_waited_for() {
        let live = |reason: &str| {
            let truth = if reason == "NewReplicaSetAvailable" {
                "True"
            } else {
                "False"
            };
            let progressing = json!({"type": "Progressing", "status": truth, "reason": reason, "message": "too slow"});
            let status = json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2,
                                "conditions": [progressing]});
            json!({"metadata": {"generation": 1}, "spec": {"replicas": 2}, "status": status})
        };
        let key = Key::namespaced("apps/v1", "Deployment", "ns", "a");
        let waits = |live| waiting(&[Workload::new(key.clone(), live)]).len();
        assert_eq!(waits(None), 1);
        assert_eq!(waits(Some(Arc::new(live("ProgressDeadlineExceeded")))), 1);
        assert_eq!(waits(Some(Arc::new(live("NewReplicaSetAvailable")))), 0);
    }
}
