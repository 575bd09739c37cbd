//! The state of the workloads, for the status.

mod progress;

use crate::{
    Key,
    operands::{
        Report,
        health::{self, Health, Rollout, State},
    },
    status::{Operands, Verdict, Window},
};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client, api::ListParams};
use progress::Progress;
use runtime::client::explain;
use serde_json::Value;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tracing::debug;

/// How long no Pod may run before that is reported: a node that restarts is not an outage.
const DOWN: Duration = Duration::from_secs(15);
/// How long a change may make no progress, or no Pod may run, before that is a failure; and how long a change that makes progress may leave
/// no Pod running before that is reported.
const UNWELL: Duration = Duration::from_secs(150);
/// How long some of the Pods may be missing before that is a failure: nodes join, leave and restart all the time. And how long a
/// change that makes progress may leave no Pod running.
const PARTIAL: Duration = Duration::from_mins(10);
/// How long Pods have to run after an outage before it counts as over: without a readiness probe a Pod that crashes is available
/// until then.
const CALM: Duration = Duration::from_secs(30);
/// The same for Pods that have crashed repeatedly: minutes may pass between two crashes.
const STEADY: Duration = Duration::from_mins(5);

/// An existing workload, and its Pods if they are known.
pub(crate) struct Workload {
    pub(crate) key: Key,
    pub(crate) live: Option<Arc<Value>>,
    pub(crate) pods: Vec<Arc<Value>>,
}

/// Since when the workloads are not healthy.
#[derive(Debug)]
pub(crate) struct Patience {
    down: Window,
    unwell: Window,
    partial: Window,
    /// A change is being rolled out and no Pod runs: until that is reported, and until it is a failure.
    idle: Window,
    stuck: Window,
    progress: Progress,
}

impl Workload {
    /// After a run.
    pub(crate) fn of(report: &Report, key: &Key) -> Self {
        Self::new(key.clone(), report.object(key).cloned())
    }

    /// An existing workload; `None` for `live` if it does not exist.
    pub(crate) fn new(key: Key, live: Option<Arc<Value>>) -> Self {
        Self {
            key,
            live,
            pods: Vec::new(),
        }
    }
}

/// The result, and when the next pass is due although nothing changes.
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
            idle: Window::new(UNWELL),
            stuck: Window::new(PARTIAL),
            progress: Progress::default(),
        }
    }
}

impl Patience {
    /// Judges the workloads now; if they are not healthy, their Pods are read, which have the reason.
    pub(crate) async fn examine(
        &mut self,
        client: &Client,
        namespace: &str,
        mut workloads: Vec<Workload>,
    ) -> Judgement {
        let troubled = [&self.down, &self.unwell, &self.partial].map(Window::is_open);
        if troubled.contains(&true) || self.progress.hangs(Instant::now()) {
            add_pods(client, namespace, &mut workloads).await;
            return self.judge(&workloads, Instant::now());
        }
        let judgement = self.judge(&workloads, Instant::now());
        match judgement.operands {
            Operands::Down(_) | Operands::Outage(_) => {
                add_pods(client, namespace, &mut workloads).await;
                self.judge(&workloads, Instant::now())
            }
            _ => judgement,
        }
    }

    /// Judges the workloads at this time.
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
        if !stalled.is_empty() || underway.is_empty() {
            self.progress = Progress::default();
        }
        if !stalled.is_empty() {
            return self.stalled(&stalled, workloads, now);
        }
        if !underway.is_empty() {
            return self.underway(&underway, workloads, now);
        }
        self.idle.worked();
        self.stuck.worked();
        self.healthy(workloads, now)
    }

    fn stalled(&mut self, why: &[String], workloads: &[Workload], now: Instant) -> Judgement {
        let all: Vec<_> = workloads.iter().map(health).collect();
        let missing = all.iter().filter(|health| health.available < health.wanted);
        let why = why.iter().cloned().chain(missing.map(ToString::to_string));
        let why = why.collect::<Vec<_>>().join("; ");
        let nothing_runs = all.iter().any(|health| health.available == 0);
        let left = if nothing_runs {
            self.down.failed(now);
            None
        } else {
            self.down.works(now, calm(workloads))
        };
        match (self.unwell.failed(now), left) {
            (Verdict::Report, _) if nothing_runs => judged(Operands::Outage(why)),
            (Verdict::Wait(left), _) | (Verdict::Report, Some(left)) => wait(left),
            (Verdict::Report, None) => judged(Operands::Impaired(why)),
        }
    }

    /// A change is being rolled out. It may leave no Pod running only for a limited time.
    fn underway(&mut self, what: &[String], workloads: &[Workload], now: Instant) -> Judgement {
        for window in [&mut self.down, &mut self.unwell, &mut self.partial] {
            window.worked();
        }
        let idle: Vec<_> = workloads.iter().filter_map(idle).collect();
        if idle.is_empty() {
            self.idle.worked();
            self.stuck.worked();
            return self.rolling(what, workloads, now);
        }
        let more = idle.iter().filter(|each| !what.contains(each));
        let why = || what.iter().chain(more.clone()).cloned().collect::<Vec<_>>().join("; ");
        match (self.idle.failed(now), self.stuck.failed(now)) {
            (_, Verdict::Report) => judged(Operands::Outage(why())),
            (Verdict::Report, Verdict::Wait(left)) => Judgement {
                operands: Operands::Down(why()),
                again: Some(left),
            },
            (Verdict::Wait(left), Verdict::Wait(_)) => Judgement {
                operands: Operands::Progressing(rolling(workloads)),
                again: Some(left),
            },
        }
    }

    /// A change makes progress, or is stuck: then the message has the state and the causes.
    fn rolling(&mut self, what: &[String], workloads: &[Workload], now: Instant) -> Judgement {
        let missing = || {
            let all = workloads.iter().map(health);
            all.filter(|health| health.available < health.wanted)
                .map(|health| health.to_string())
                .collect::<Vec<_>>()
        };
        let (message, left) = self.progress.update(what, now, missing);
        Judgement {
            operands: Operands::Progressing(message.unwrap_or_else(|| rolling(workloads))),
            again: Some(left),
        }
    }

    fn healthy(&mut self, workloads: &[Workload], now: Instant) -> Judgement {
        let all: Vec<_> = workloads.iter().map(health).collect();
        let with = |state: State| all.iter().filter(move |health| health.state == state);
        let down: Vec<_> = with(State::Unavailable).map(ToString::to_string).collect();
        // A DaemonSet lacks a Pod wherever a node is not ready.
        let partial = with(State::Partial).filter(|health| health.key.kind != "DaemonSet");
        let partial: Vec<_> = partial.map(ToString::to_string).collect();
        if !down.is_empty() {
            return self.down(&down, now);
        }
        let calm = calm(workloads);
        let was_reported = self.down.is_reported() || self.unwell.is_reported();
        let left = [self.down.works(now, calm), self.unwell.works(now, calm)];
        match left.into_iter().flatten().max() {
            Some(left) if was_reported => wait(left),
            _ => self.running(&partial, calm, now),
        }
    }

    /// Some Pods run: whether all do.
    fn running(&mut self, partial: &[String], calm: Duration, now: Instant) -> Judgement {
        if partial.is_empty() {
            let was_reported = self.partial.is_reported();
            return match self.partial.works(now, calm) {
                Some(left) if was_reported => wait(left),
                _ => judged(Operands::Done),
            };
        }
        match self.partial.failed(now) {
            Verdict::Report => judged(Operands::Impaired(partial.join("; "))),
            Verdict::Wait(left) => Judgement {
                operands: Operands::Done,
                again: Some(left),
            },
        }
    }

    fn down(&mut self, why: &[String], now: Instant) -> Judgement {
        let why = why.join("; ");
        match (self.down.failed(now), self.unwell.failed(now)) {
            (_, Verdict::Report) => judged(Operands::Outage(why)),
            (Verdict::Report, Verdict::Wait(left)) => Judgement {
                operands: Operands::Down(why),
                again: Some(left),
            },
            (Verdict::Wait(left), Verdict::Wait(_)) => wait(left),
        }
    }
}

/// Messages about all workloads, the same from the announcement to the end.
fn rolling(workloads: &[Workload]) -> Vec<String> {
    health::rolling(workloads.iter().map(|workload| &workload.key))
}

fn health(workload: &Workload) -> Health {
    let pods: Vec<_> = workload.pods.iter().map(AsRef::as_ref).collect();
    health::health(&workload.key, workload.live.as_deref(), &pods)
}

/// A message about a workload of which no Pod runs, although some should.
fn idle(workload: &Workload) -> Option<String> {
    let Some(live) = &workload.live else {
        return Some(health::absent(&workload.key));
    };
    let health = health(workload);
    let number = |pointer: &str| live.pointer(pointer)?.as_i64();
    let asks_for_nothing = health.wanted == 0 && number("/status/observedGeneration") == number("/metadata/generation");
    let is_idle = health.state == State::Changing && health.available == 0 && !asks_for_nothing;
    is_idle.then(|| health.to_string())
}

/// How long Pods have to run before an outage counts as over.
fn calm(workloads: &[Workload]) -> Duration {
    if workloads.iter().any(crashes) { STEADY } else { CALM }
}

/// Whether Pods of a workload have crashed repeatedly.
fn crashes(workload: &Workload) -> bool {
    workload.pods.iter().any(|pod| health::crashes(pod))
}

fn wait(left: Duration) -> Judgement {
    Judgement {
        operands: Operands::Failing,
        again: Some(left),
    }
}

/// Reads the Pods of workloads that are not healthy: they have the reason.
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
            Err(error) => debug!(reason = %explain(&error), "cannot read the Pods"),
        }
    }
}

fn judged(operands: Operands) -> Judgement {
    Judgement { operands, again: None }
}

#[cfg(test)]
mod tests;
