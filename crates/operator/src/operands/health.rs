//! How workloads are: whether the last change has reached all of their Pods, and whether any of them works.

use crate::Key;
use serde_json::Value;
use std::fmt;

/// How far the last change of a workload has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rollout {
    /// It has arrived.
    Complete,
    /// It is on its way, and what is missing.
    Underway(String),
    /// It does not get on, and what the cluster says about that.
    Stalled(String),
}

/// How many Pods of a workload work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Which workload.
    pub key: Key,
    /// How many Pods there should be.
    pub wanted: i64,
    /// How many are available.
    pub available: i64,
    /// What to make of it.
    pub state: State,
    /// Why Pods wait, as the cluster says it: `Pod x: CrashLoopBackOff: back-off 5m0s restarting …`
    pub waiting: Vec<String>,
}

/// What to make of the number of Pods that work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// As many as there should be.
    Well,
    /// A change is on its way, so nobody can say yet.
    Changing,
    /// Some.
    Partial,
    /// None, although the last change had arrived.
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

/// How far the last change of a Deployment or `DaemonSet` has come; other kinds have nothing to roll out. One that is not
/// there is under way.
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

/// What is said of a workload that is not there.
pub(crate) fn absent(key: &Key) -> String {
    format!("{key} is not there yet")
}

/// How many Pods of a workload work. `pods` are those that belong to it, as far as they are known: they say why not.
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
        pods.iter().filter_map(|pod| waits(pod)).collect()
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

/// The same two conditions that `kubectl rollout status` and the Go operator look at.
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
        // Where Pods are recreated this is still said of the old ones until they are gone.
        ("True", "NewReplicaSetAvailable") if updated > 0 || wanted == 0 => Rollout::Complete,
        ("False", "ProgressDeadlineExceeded") => Rollout::Stalled(format!("{key}: {}", text("message"))),
        _ => Rollout::Underway(format!("{key}: {updated} of {wanted} Pods updated")),
    }
}

/// Counted in Pods that exist, not in nodes that should have one, so that a node which joins or reboots is no roll-out.
fn daemon_set(key: &Key, live: &Value) -> Rollout {
    let current = number(live, "/status/currentNumberScheduled");
    let updated = number(live, "/status/updatedNumberScheduled");
    if current > 0 && updated >= current {
        return Rollout::Complete;
    }
    Rollout::Underway(format!("{key}: {updated} of {current} Pods updated"))
}

/// How often the container of a Pod was restarted that was most often.
pub fn restarts(pod: &Value) -> i64 {
    let restarts = containers(pod).filter_map(|container| container["restartCount"].as_i64());
    restarts.max().unwrap_or_default()
}

/// Whether the kubelet waits before it starts a container of a Pod once more.
pub fn is_crash_looping(pod: &Value) -> bool {
    containers(pod).any(|container| container.pointer("/state/waiting/reason") == Some(&"CrashLoopBackOff".into()))
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"].into_iter();
    statuses.filter_map(|list| pod.pointer(list)?.as_array()).flatten()
}

/// Why a Pod does not run.
fn waits(pod: &Value) -> Option<String> {
    let name = pod.pointer("/metadata/name").and_then(Value::as_str)?;
    let unscheduled = || {
        let conditions = pod.pointer("/status/conditions")?.as_array()?;
        conditions
            .iter()
            .find(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False")
    };
    let mut waiting = containers(pod).filter_map(|container| container.pointer("/state/waiting"));
    // Between two attempts it does not wait: then its last words are the reason.
    let ended = || {
        let unready = containers(pod).filter(|container| container["ready"] != true);
        let ends = unready
            .flat_map(|container| ["/state/terminated", "/lastState/terminated"].map(|state| container.pointer(state)));
        ends.flatten().find(|end| end["exitCode"] != 0)
    };
    let why = waiting
        .find(|waiting| waiting["reason"] != "PodInitializing")
        .or_else(unscheduled)
        .or_else(ended)?;
    let said: Vec<_> = ["reason", "message"]
        .into_iter()
        .filter_map(|field| why[field].as_str())
        .collect();
    Some(format!("Pod {name}: {}", said.join(": ")))
}

#[cfg(test)]
mod tests;
