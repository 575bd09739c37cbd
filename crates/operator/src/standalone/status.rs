//! The status of a manager, decided purely.

use crate::{
    Key, Lookup,
    control::Next,
    monitoring::Truth,
    operands::kinds,
    status::{Verdict, limited},
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use operator_api::{
    CloudControllerManager,
    cloud_controller_manager::{Claim, Status},
};
use serde::Deserialize;
use serde_json::{Value, json};

#[cfg(test)]
mod tests;

/// The conditions of a manager.
pub(super) const TYPES: [&str; 3] = ["Available", "Progressing", "Degraded"];

/// The results for one manager, and when the next pass is due.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) state: Management,
    /// What is pending.
    pub(super) progressing: Option<Message>,
    /// Why it is degraded.
    pub(super) degraded: Option<Message>,
    /// Why no Pod runs, once this has lasted for a while.
    pub(super) down: Option<String>,
    pub(super) inventory: Vec<Key>,
    /// How the claims of its Pods change.
    pub(super) claims: ClaimUpdate,
    /// When the next pass is due.
    pub(super) next: Next,
}

/// A reason for programs, and a message for users.
pub(super) type Message = (&'static str, String);

/// Why a manager is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cause {
    /// The user has to fix the cause: it is reported at once.
    Terminal(Message),
    /// Something else has to be changed: it is reported at once, and retried.
    Refused(Message),
    /// It may be temporary: it is retried, and reported as degraded only if it lasts.
    Transient(Message),
}

impl Cause {
    /// Something could not be read.
    pub(super) fn unread(reason: String) -> Self {
        Self::Transient(("CannotRead", reason))
    }

    /// The reason and the message.
    pub(super) fn message(&self) -> &Message {
        let (Self::Terminal(message) | Self::Refused(message) | Self::Transient(message)) = self;
        message
    }

    /// The same, with further problems of the spec.
    pub(super) fn with(mut self, problems: &[String]) -> Self {
        let (Self::Terminal((_, message)) | Self::Refused((_, message)) | Self::Transient((_, message))) = &mut self;
        for problem in problems {
            *message = format!("{message}; {problem}");
        }
        self
    }
}

/// The Pods that are reported.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Management {
    /// Their number.
    #[default]
    Managed,
    Unmanaged,
    Removed,
}

/// How the claims of the Pods change.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimUpdate {
    /// They do not change.
    #[default]
    Keep,
    /// The claim of the spec is added: some Pods may have the previous one.
    Add,
    /// The claim of the spec is the only one.
    Replace,
}

/// A condition as it will be.
struct Line {
    type_: &'static str,
    truth: String,
    reason: String,
    message: String,
}

impl Line {
    fn new(type_: &'static str, truth: &str, reason: &str, message: &str) -> Self {
        Self {
            type_,
            truth: truth.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }

    /// It is true, for this reason; or false.
    fn of(type_: &'static str, message: Option<&Message>) -> Self {
        match message {
            Some((reason, message)) => Self::new(type_, "True", reason, message),
            None => Self::new(type_, "False", "AsExpected", ""),
        }
    }
}

/// The status from the results and the state of the Deployment.
pub(super) fn next(
    manager: &CloudControllerManager,
    before: &Status,
    found: &Found,
    deployment: &Lookup,
    now: Timestamp,
) -> Status {
    let number = |pointer: &str, unknown: Option<i32>| match deployment {
        Lookup::Found(live) => {
            let number = live.pointer(pointer).and_then(Value::as_i64);
            number.and_then(|number| i32::try_from(number).ok()).or(Some(0))
        }
        Lookup::Absent => Some(0),
        Lookup::Unknown(_) => unknown,
    };
    let available = number("/status/availableReplicas", None).ok_or(deployment);
    let lines = [
        availability(found, available, manager.spec.replicas, before),
        Line::of("Progressing", found.progressing.as_ref()),
        Line::of("Degraded", found.degraded.as_ref()),
    ];
    let is_done = lines
        .iter()
        .map(|line| line.truth.as_str())
        .eq(["True", "False", "False"]);
    let mut status = Status {
        observed_generation: manager.metadata.generation,
        conditions: before.conditions.clone(),
        message: String::new(),
        related_objects: found.inventory.iter().filter_map(kinds::related).collect(),
        claims: claims(manager, before, found),
        version: match (is_done, found.state) {
            (true, _) => runtime::version::Info::current().to_string(),
            (_, Management::Removed) => String::new(),
            _ => before.version.clone(),
        },
        replicas: number("/status/replicas", before.replicas),
        ready_replicas: number("/status/readyReplicas", before.ready_replicas),
    };
    for line in lines {
        set(&mut status.conditions, line, manager.metadata.generation, now);
    }
    status.message = message(&status);
    status
}

/// The message for `kubectl get`: the worst condition decides.
fn message(status: &Status) -> String {
    let wrong = [("Degraded", "False"), ("Progressing", "False"), ("Available", "True")];
    let wrong = wrong.into_iter().filter_map(|(type_, good)| {
        let condition = status.condition(type_)?;
        (condition.status != good).then(|| condition.message.clone())
    });
    wrong.into_iter().next().unwrap_or_default()
}

/// The claims that no other manager may have: those of Pods that may be running.
fn claims(manager: &CloudControllerManager, before: &Status, found: &Found) -> Vec<Claim> {
    let asked = Claim::of(&manager.spec);
    match found.claims {
        _ if found.inventory.is_empty() => Vec::new(),
        ClaimUpdate::Keep => before.claims.clone(),
        ClaimUpdate::Add => also(&before.claims, asked),
        ClaimUpdate::Replace => vec![asked],
    }
}

/// These claims and this one.
fn also(claims: &[Claim], claim: Claim) -> Vec<Claim> {
    let mut all = claims.to_vec();
    if !all.contains(&claim) {
        all.push(claim);
    }
    all
}

/// The conditions as metrics: a manager that should not exist raises no alert.
pub(super) fn gauges(status: &Status, state: Management) -> [(&'static str, Truth); 3] {
    let gone = state == Management::Removed && status.related_objects.is_empty();
    TYPES.map(|type_| {
        let truth = status.condition(type_).map(|condition| Truth::of(&condition.status));
        let silent = gone || (state == Management::Removed && type_ == "Available");
        (type_, truth.filter(|_| !silent).unwrap_or(Truth::Unknown))
    })
}

/// The status of an object that cannot be parsed, as a patch; `None` if it is up to date.
pub(super) fn unreadable(object: &Value, why: &str, now: Timestamp) -> Option<Value> {
    let before = Vec::<Condition>::deserialize(&object["status"]["conditions"]).unwrap_or_default();
    let mut after = before.clone();
    let generation = object["metadata"]["generation"].as_i64();
    set(
        &mut after,
        Line::new("Degraded", "True", "Unreadable", why),
        generation,
        now,
    );
    (after != before).then(|| json!({ "conditions": after, "message": why }))
}

/// How a cause is reported; for one that may be temporary, it depends on how long it has lasted.
pub(super) fn failed(problem: Cause, verdict: impl FnOnce() -> Verdict, inventory: Vec<Key>) -> Found {
    let (mut progressing, mut degraded) = (None, None);
    let mut next = match problem {
        Cause::Terminal(_) => Next::default(),
        Cause::Refused(_) | Cause::Transient(_) => Next::FAILED,
    };
    match problem {
        Cause::Terminal(message) | Cause::Refused(message) => degraded = Some(message),
        Cause::Transient(message) => match verdict() {
            Verdict::Report => degraded = Some(message),
            Verdict::Wait(left) => {
                progressing = Some(("Retrying", message.1));
                next.again = Some(left);
            }
        },
    }
    Found {
        progressing,
        degraded,
        inventory,
        next,
        ..Found::default()
    }
}

impl Found {
    /// The same, with what a roll-out waits for.
    pub(super) fn waiting_for(mut self, remarks: &[String]) -> Self {
        if let Some((_, message)) = &mut self.progressing {
            for remark in remarks {
                *message = format!("{message}; {remark}");
            }
        }
        self
    }
}

/// The number of available Pods; if it is not known, the condition does not change.
fn availability(found: &Found, available: Result<i32, &Lookup>, wanted: i32, before: &Status) -> Line {
    let line = |truth: &str, reason: &str, message: &str| Line::new("Available", truth, reason, message);
    match (found.state, available, &found.degraded) {
        (Management::Unmanaged, ..) => line("Unknown", "Unmanaged", "the operator touches nothing"),
        (Management::Removed, ..) => line("False", "Removed", "the manager is not wanted"),
        (Management::Managed, Err(unknown), _) => match (before.condition("Available"), unknown) {
            (Some(message), _) => line(&message.status, &message.reason, &message.message),
            (None, Lookup::Unknown(reason)) => line("Unknown", "CannotRead", reason),
            (None, _) => line("Unknown", "CannotRead", ""),
        },
        (Management::Managed, Ok(0), Some((reason, why))) => line("False", reason, why),
        (Management::Managed, Ok(available), _) => {
            let (truth, reason) = if available > 0 {
                ("True", "AsExpected")
            } else {
                ("False", "NothingRuns")
            };
            let count = || format!("{available} of {wanted} Pods are available");
            let message = found.down.clone().filter(|_| available == 0).unwrap_or_else(count);
            line(truth, reason, &message)
        }
    }
}

fn set(conditions: &mut Vec<Condition>, line: Line, generation: Option<i64>, now: Timestamp) {
    let now = Timestamp::from_second(now.as_second()).unwrap_or_default();
    let Line {
        type_,
        truth,
        reason,
        message,
    } = line;
    let new = Condition {
        type_: type_.to_owned(),
        status: truth,
        reason,
        message: limited(&message),
        observed_generation: generation,
        last_transition_time: Time(now),
    };
    match conditions.iter_mut().find(|condition| condition.type_ == type_) {
        Some(old) if old.status == new.status => {
            *old = Condition {
                last_transition_time: old.last_transition_time.clone(),
                ..new
            };
        }
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}
