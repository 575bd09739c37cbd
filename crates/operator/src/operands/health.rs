//! The state of workloads: whether the last change has reached all of their Pods, and whether any of them works.

mod waiting;

use crate::Key;
use serde_json::Value;
use std::fmt;

/// A container with so many restarts has crashed repeatedly.
const AGAIN_AND_AGAIN: i64 = 3;
/// The kubelet's reason for such a container while it waits.
const CRASH_LOOP: &str = "CrashLoopBackOff";

/// The progress of the last change of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rollout {
    /// It is complete.
    Complete,
    /// It is in progress, and this is missing.
    Underway(String),
    /// It makes no progress, and the reason that the cluster reports.
    Stalled(String),
}

/// How many Pods of a workload are available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Which workload.
    pub key: Key,
    /// How many Pods there should be.
    pub wanted: i64,
    /// How many are available.
    pub available: i64,
    /// The conclusion.
    pub state: State,
    /// Why Pods wait, as the cluster reports it, each reason once: `Pod x and 2 more: ErrImagePull: no such image`
    pub waiting: Vec<String>,
}

/// The conclusion from the number of available Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// As many as there should be.
    Well,
    /// A change is being rolled out, so it is not known yet.
    Changing,
    /// Some.
    Partial,
    /// None, although the last change was complete.
    Unavailable,
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            wanted,
            available,
            waiting,
            ..
        } = self;
        write!(f, "{key}: {available} of {wanted} Pods available")?;
        if !waiting.is_empty() {
            write!(f, " ({})", waiting.join("; "))?;
        }
        Ok(())
    }
}

/// The progress of the last change of a Deployment or `DaemonSet`; other kinds have no roll-out. A workload that does not
/// exist is in progress.
pub fn rollout(key: &Key, live: Option<&Value>) -> Rollout {
    let Some(live) = live else {
        return Rollout::Underway(absent(key));
    };
    match key.kind.as_str() {
        "Deployment" | "DaemonSet"
            if number(live, "/status/observedGeneration") < number(live, "/metadata/generation") =>
        {
            Rollout::Underway(format!("{key}: the last change was not seen by its controller yet"))
        }
        "Deployment" => deployment(key, live),
        "DaemonSet" => daemon_set(key, live),
        _ => Rollout::Complete,
    }
}

/// The message while workloads are rolled out. It does not contain their progress, which changes with every Pod: each change would be
/// a write.
pub(crate) fn rolling<'a>(workloads: impl IntoIterator<Item = &'a Key>) -> Vec<String> {
    let names: Vec<_> = workloads.into_iter().map(ToString::to_string).collect();
    Vec::from_iter((!names.is_empty()).then(|| format!("rolling out {}", names.join(", "))))
}

/// The message about a workload that does not exist.
pub(crate) fn absent(key: &Key) -> String {
    format!("{key} does not exist yet")
}

/// How many Pods of a workload are available. `pods` are those that belong to it, as far as they are known: they have the reason.
pub fn health(key: &Key, live: Option<&Value>, pods: &[&Value]) -> Health {
    let (wanted, available) = match live {
        None => (0, 0),
        Some(live) if key.kind == "DaemonSet" => (
            number(live, "/status/desiredNumberScheduled"),
            number(live, "/status/numberAvailable"),
        ),
        Some(live) => {
            let wanted = live.pointer("/spec/replicas").and_then(Value::as_i64);
            (wanted.unwrap_or(1), number(live, "/status/availableReplicas"))
        }
    };
    let state = match rollout(key, live) {
        Rollout::Complete if available >= wanted => State::Well,
        Rollout::Complete if available == 0 => State::Unavailable,
        Rollout::Complete => State::Partial,
        Rollout::Underway(_) | Rollout::Stalled(_) => State::Changing,
    };
    let waiting = if state == State::Well {
        Vec::new()
    } else {
        waiting::reasons(pods)
    };
    Health {
        key: key.clone(),
        wanted,
        available,
        state,
        waiting,
    }
}

fn number(live: &Value, pointer: &str) -> i64 {
    live.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// The two conditions that `kubectl rollout status` and the Go operator read.
fn deployment(key: &Key, live: &Value) -> Rollout {
    let conditions = live.pointer("/status/conditions").and_then(Value::as_array);
    let progressing = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "Progressing");
    let text = |field: &str| {
        progressing
            .and_then(|condition| condition[field].as_str())
            .unwrap_or_default()
    };
    let (updated, wanted) = (number(live, "/status/updatedReplicas"), number(live, "/spec/replicas"));
    match (text("status"), text("reason")) {
        // With the strategy Recreate, the old Pods have this condition until they are deleted.
        ("True", "NewReplicaSetAvailable") if updated > 0 || wanted == 0 => Rollout::Complete,
        ("False", "ProgressDeadlineExceeded") => Rollout::Stalled(format!("{key}: {}", text("message"))),
        _ => Rollout::Underway(format!("{key}: {updated} of {wanted} Pods updated")),
    }
}

/// Counted in existing Pods, not in nodes that should have one, so that a node which joins or reboots is not a roll-out.
fn daemon_set(key: &Key, live: &Value) -> Rollout {
    let current = number(live, "/status/currentNumberScheduled");
    let updated = number(live, "/status/updatedNumberScheduled");
    if current > 0 && updated >= current {
        return Rollout::Complete;
    }
    Rollout::Underway(format!("{key}: {updated} of {current} Pods updated"))
}

/// Whether a container of a Pod has crashed repeatedly, or the kubelet waits before it restarts it.
pub fn crashes(pod: &Value) -> bool {
    containers(pod).any(crash_loops)
}

fn crash_loops(container: &Value) -> bool {
    let waits = container.pointer("/state/waiting/reason") == Some(&CRASH_LOOP.into());
    waits || container["restartCount"].as_i64() >= Some(AGAIN_AND_AGAIN)
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"].into_iter();
    statuses.filter_map(|list| pod.pointer(list)?.as_array()).flatten()
}

#[cfg(test)]
mod tests;
