//! How the workloads are, as far as the cluster is to be told.

use crate::{
    Key,
    operands::{
        Report,
        health::{self, Rollout, State},
    },
    status::{Operands, Verdict, Window},
};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client, api::ListParams};
use runtime::client::explain;
use serde_json::Value;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tracing::debug;

/// How long nothing may run before that is told: a node that restarts is not an outage.
const DOWN: Duration = Duration::from_secs(15);
/// How long a change may not get on, or nothing may run, before that is a failure.
const UNWELL: Duration = Duration::from_secs(150);
/// How long some of the Pods may be missing before that is one: nodes join, leave and restart all the time.
const PARTIAL: Duration = Duration::from_mins(10);

/// A workload as it is, and its Pods if they are known.
pub(crate) struct Workload {
    pub(crate) key: Key,
    pub(crate) live: Option<Arc<Value>>,
    pub(crate) pods: Vec<Arc<Value>>,
}

/// Since when the workloads are not as they should be.
#[derive(Debug)]
pub(crate) struct Patience {
    down: Window,
    unwell: Window,
    partial: Window,
}

impl Workload {
    /// As a run has left it.
    pub(crate) fn of(report: &Report, key: &Key) -> Self {
        Self {
            key: key.clone(),
            live: report.object(key).cloned(),
            pods: Vec::new(),
        }
    }
}

/// What to tell, and when to look again although nothing changes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub(crate) operands: Operands,
    pub(crate) again: Option<Duration>,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            down: Window::new(DOWN),
            unwell: Window::new(UNWELL),
            partial: Window::new(PARTIAL),
        }
    }
}

impl Patience {
    /// Judges the workloads now; if they are not well their Pods are asked why.
    pub(crate) async fn examine(
        &mut self,
        client: &Client,
        namespace: &str,
        mut workloads: Vec<Workload>,
    ) -> Judgement {
        let judgement = self.judge(&workloads, Instant::now());
        match judgement.operands {
            Operands::Down(_) | Operands::Failed(_) | Operands::Outage(_) => {
                add_pods(client, namespace, &mut workloads).await;
                self.judge(&workloads, Instant::now())
            }
            _ => judgement,
        }
    }

    /// Judges the workloads at this moment.
    pub(crate) fn judge(&mut self, workloads: &[Workload], now: Instant) -> Judgement {
        let mut underway = Vec::new();
        let mut stalled = Vec::new();
        for workload in workloads {
            match health::rollout(&workload.key, workload.live.as_deref()) {
                Rollout::Complete => {}
                Rollout::Underway(what) => underway.push(what),
                Rollout::Stalled(why) => stalled.push(why),
            }
        }
        if !stalled.is_empty() {
            let down = workloads.iter().any(runs_nothing);
            return match self.unwell.failed(now) {
                Verdict::Tell if down => told(Operands::Outage(stalled.join("; "))),
                Verdict::Tell => told(Operands::Failed(stalled.join("; "))),
                Verdict::Wait(left) => wait(left),
            };
        }
        if !underway.is_empty() {
            self.well();
            return told(Operands::Progressing(underway));
        }
        self.healthy(workloads, now)
    }

    fn well(&mut self) {
        for window in [&mut self.down, &mut self.unwell, &mut self.partial] {
            window.worked();
        }
    }

    fn healthy(&mut self, workloads: &[Workload], now: Instant) -> Judgement {
        let all: Vec<_> = workloads
            .iter()
            .map(|workload| {
                let pods: Vec<_> = workload.pods.iter().map(AsRef::as_ref).collect();
                health::health(&workload.key, workload.live.as_deref(), &pods)
            })
            .collect();
        let with = |state: State| all.iter().filter(move |health| health.state == state);
        let down: Vec<_> = with(State::Unavailable).map(ToString::to_string).collect();
        // A DaemonSet has a Pod less wherever a node is away.
        let partial = with(State::Partial).filter(|health| health.key.kind != "DaemonSet");
        let partial: Vec<_> = partial.map(ToString::to_string).collect();
        if !down.is_empty() {
            return self.down(&down, now);
        }
        self.down.worked();
        self.unwell.worked();
        if partial.is_empty() {
            self.partial.worked();
            return told(Operands::Done);
        }
        match self.partial.failed(now) {
            Verdict::Tell => told(Operands::Failed(partial.join("; "))),
            Verdict::Wait(left) => Judgement {
                operands: Operands::Done,
                again: Some(left),
            },
        }
    }

    fn down(&mut self, why: &[String], now: Instant) -> Judgement {
        let why = why.join("; ");
        match (self.down.failed(now), self.unwell.failed(now)) {
            (_, Verdict::Tell) => told(Operands::Outage(why)),
            (Verdict::Tell, Verdict::Wait(left)) => Judgement {
                operands: Operands::Down(why),
                again: Some(left),
            },
            (Verdict::Wait(left), Verdict::Wait(_)) => wait(left),
        }
    }
}

fn runs_nothing(workload: &Workload) -> bool {
    health::health(&workload.key, workload.live.as_deref(), &[]).available == 0
}

fn wait(left: Duration) -> Judgement {
    Judgement {
        operands: Operands::Failing,
        again: Some(left),
    }
}

/// Asks for the Pods of workloads that are not well: they know why.
async fn add_pods(client: &Client, namespace: &str, workloads: &mut [Workload]) {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    for workload in workloads {
        let labels = workload
            .live
            .as_ref()
            .and_then(|live| live.pointer("/spec/selector/matchLabels")?.as_object());
        let labels = labels.into_iter().flatten();
        let labels: Vec<_> = labels
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
            .collect();
        match api.list(&ListParams::default().labels(&labels.join(","))).await {
            Ok(pods) => {
                let pods = pods.items.iter().filter_map(|pod| serde_json::to_value(pod).ok());
                workload.pods = pods.map(Arc::new).collect();
            }
            Err(error) => debug!(reason = %explain(&error), "cannot look at the Pods"),
        }
    }
}

fn told(operands: Operands) -> Judgement {
    Judgement { operands, again: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn workload(replicas: i64, available: i64, reason: &str) -> Workload {
        let status = if reason == "ProgressDeadlineExceeded" {
            "False"
        } else {
            "True"
        };
        let live = json!({
            "metadata": {"generation": 1},
            "spec": {"replicas": replicas},
            "status": {
                "observedGeneration": 1, "updatedReplicas": replicas, "availableReplicas": available,
                "conditions": [{"type": "Progressing", "status": status, "reason": reason, "message": "too slow"}],
            },
        });
        Workload {
            key: Key {
                api_version: "apps/v1".to_owned(),
                kind: "Deployment".to_owned(),
                namespace: Some("ns".to_owned()),
                name: "a".to_owned(),
            },
            live: Some(Arc::new(live)),
            pods: Vec::new(),
        }
    }

    const THERE: &str = "NewReplicaSetAvailable";

    // W4: Pods that do not work are told, and a short interruption is not.
    #[rstest]
    #[case::well(&[(0, 2, THERE)], "Done")]
    #[case::rolling(&[(0, 0, "ReplicaSetUpdated")], "Progressing")]
    #[case::one_is_missing(&[(0, 1, THERE), (150, 1, THERE)], "Done")]
    #[case::one_is_missing_for_long(&[(0, 1, THERE), (600, 1, THERE)], "Failed")]
    #[case::nothing_runs(&[(0, 0, THERE)], "Failing")]
    #[case::nothing_runs_for_a_while(&[(0, 0, THERE), (15, 0, THERE)], "Down")]
    #[case::nothing_runs_for_long(&[(0, 0, THERE), (150, 0, THERE)], "Outage")]
    #[case::it_came_back(&[(0, 0, THERE), (10, 2, THERE), (20, 0, THERE)], "Failing")]
    #[case::stuck(&[(0, 0, "ProgressDeadlineExceeded")], "Failing")]
    #[case::stuck_for_long(&[(0, 1, "ProgressDeadlineExceeded"), (150, 1, "ProgressDeadlineExceeded")], "Failed")]
    #[case::stuck_with_nothing(&[(0, 0, "ProgressDeadlineExceeded"), (150, 0, "ProgressDeadlineExceeded")], "Outage")]
    fn judges(#[case] story: &[(u64, i64, &str)], #[case] last: &str) {
        let (start, mut patience) = (Instant::now(), Patience::default());
        let mut judged = None;
        for (second, available, reason) in story {
            let now = start + Duration::from_secs(*second);
            judged = Some(patience.judge(&[workload(2, *available, reason)], now));
        }
        let judged = format!("{:?}", judged.expect("a story").operands);
        assert_eq!(judged.split('(').next(), Some(last));
    }
}
