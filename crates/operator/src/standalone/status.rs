//! What a manager's resource says, decided purely.

use crate::{Key, operands::kinds};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use operator_api::{CloudControllerManager, cloud_controller_manager::Status};
use serde_json::Value;
use std::time::Duration;

/// What became of one manager, and when to look again.
#[derive(Default)]
pub(super) struct Found {
    pub(super) state: State,
    /// What is being waited for.
    pub(super) progressing: Option<Said>,
    /// What is wrong.
    pub(super) degraded: Option<Said>,
    pub(super) inventory: Vec<Key>,
    pub(super) again: Option<Duration>,
}

/// A reason for programs, and a sentence for people.
pub(super) type Said = (&'static str, String);

/// What is to be said about the Pods.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// How many there are.
    #[default]
    Managed,
    Unmanaged,
    Removed,
}

/// The status after what was found.
pub(super) fn next(
    manager: &CloudControllerManager,
    before: &Status,
    found: &Found,
    deployment: Option<&Value>,
) -> Status {
    let number = |pointer: &str| {
        let number = deployment.and_then(|live| live.pointer(pointer)?.as_i64());
        number.and_then(|number| i32::try_from(number).ok()).unwrap_or_default()
    };
    let (replicas, ready) = (number("/status/replicas"), number("/status/readyReplicas"));
    let conditions = conditions(found, number("/status/availableReplicas"), manager.spec.replicas);
    let is_done = conditions
        .iter()
        .zip(["True", "False", "False"])
        .all(|(each, good)| each.1 == good);
    let mut status = Status {
        observed_generation: manager.metadata.generation,
        conditions: before.conditions.clone(),
        related_objects: found.inventory.iter().filter_map(kinds::related).collect(),
        version: match (is_done, found.state) {
            (true, _) => runtime::version::Info::current().to_string(),
            (_, State::Removed) => String::new(),
            _ => before.version.clone(),
        },
        replicas: Some(replicas),
        ready_replicas: Some(ready),
    };
    for (type_, truth, reason, message) in &conditions {
        set(
            &mut status.conditions,
            type_,
            truth,
            reason,
            message,
            manager.metadata.generation,
        );
    }
    status
}

/// Type, status, reason, message: available, progressing, degraded.
fn conditions(found: &Found, available: i32, wanted: i32) -> [(&'static str, &'static str, &'static str, String); 3] {
    let count = format!("{available} of {wanted} Pods are available");
    let availability = match found.state {
        State::Unmanaged => ("Unknown", "Unmanaged", "the operator touches nothing".to_owned()),
        State::Removed => ("False", "Removed", "the manager is not wanted".to_owned()),
        State::Managed if available > 0 => ("True", "AsExpected", count),
        State::Managed => match &found.degraded {
            Some((reason, why)) => ("False", *reason, why.clone()),
            None => ("False", "NothingRuns", count),
        },
    };
    let said = |said: &Option<Said>| match said {
        Some((reason, message)) => ("True", *reason, message.clone()),
        None => ("False", "AsExpected", String::new()),
    };
    let (progressing, degraded) = (said(&found.progressing), said(&found.degraded));
    [
        ("Available", availability),
        ("Progressing", progressing),
        ("Degraded", degraded),
    ]
    .map(|(type_, (truth, reason, message))| (type_, truth, reason, message))
}

fn set(
    conditions: &mut Vec<Condition>,
    type_: &str,
    truth: &str,
    reason: &str,
    message: &str,
    generation: Option<i64>,
) {
    let now = Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default();
    let new = Condition {
        type_: type_.to_owned(),
        status: truth.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
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

/// It does not work, for this reason.
pub(super) fn failed(reason: &'static str, why: String, inventory: Vec<Key>) -> Found {
    Found {
        degraded: Some((reason, why)),
        inventory,
        ..Found::default()
    }
}
