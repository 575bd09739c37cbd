//! Replaces an object that cannot be changed.

use crate::operands::{
    api::{Call, Mode},
    report::{Class, Failure},
};
use kube::api::{Preconditions, PropagationPolicy};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often an object that is being deleted is read, at first and at last.
const POLL: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// Why the deletion of a workload takes time.
const PODS: &str = "its Pods still exist";

/// The result of an attempt.
pub(in crate::operands) enum Replaced {
    /// The new object, as the server returned it.
    By(Value),
    /// The old Pods still exist, and two workloads of a kind must not run at the same time.
    NotYet(String),
}

/// Replaces an existing object. The old one is deleted only if the server would accept the new one; the
/// deletion of Pods is not awaited.
pub(in crate::operands) async fn replace(
    call: &Call<'_>,
    wanted: &Value,
    live: &Value,
    patience: Duration,
) -> Result<Replaced, Failure> {
    let (policy, patience) = if call.runs_pods() {
        (PropagationPolicy::Foreground, Duration::ZERO)
    } else {
        (PropagationPolicy::Background, patience)
    };
    if live["metadata"].get("deletionTimestamp").is_none() {
        call.apply(&rehearsal(wanted), Mode::DryRun).await?;
        let uid = live["metadata"]["uid"].as_str().map(str::to_owned);
        let preconditions = Preconditions {
            uid,
            resource_version: None,
        };
        call.delete(preconditions, policy).await.map_err(by_hand)?;
    }
    let Some(waits) = still_there(call, &live["metadata"]["uid"], patience).await? else {
        return Ok(Replaced::By(call.apply(wanted, Mode::Real).await?));
    };
    let why = format!("the old one still exists: {waits}");
    if waits == PODS {
        return Ok(Replaced::NotYet(why));
    }
    Err(call.fail(Class::Transient, why))
}

/// The server would accept the object once the user has deleted the old one.
fn by_hand(mut failure: Failure) -> Failure {
    if failure.class == Class::Refused {
        failure.reason += "; it cannot be changed: delete it by hand, and it is recreated";
    }
    failure
}

/// The same object under an unused name.
pub(in crate::operands) fn rehearsal(wanted: &Value) -> Value {
    const SUFFIX: &str = "-dry-run";
    let mut rehearsal = wanted.clone();
    let name = wanted["metadata"]["name"].as_str().unwrap_or_default();
    // The name of a Service is a DNS label.
    let longest = if wanted["kind"] == "Service" { 63 } else { 253 } - SUFFIX.len();
    let name = name.get(..longest).unwrap_or(name);
    rehearsal["metadata"]["name"] = json!(format!("{name}{SUFFIX}"));
    rehearsal
}

/// Waits until an object does not exist any more. Returns why it still does, if it takes too long.
pub(in crate::operands) async fn still_there(
    call: &Call<'_>,
    uid: &Value,
    patience: Duration,
) -> Result<Option<String>, Failure> {
    let end = Instant::now() + patience;
    let (mut pause, longest) = POLL;
    loop {
        let Some(live) = call.find().await?.filter(|live| live["metadata"]["uid"] == *uid) else {
            return Ok(None);
        };
        if Instant::now() + pause > end {
            return Ok(Some(held_by(&live)));
        }
        sleep(pause).await;
        pause = longest.min(pause * 2);
    }
}

fn held_by(live: &Value) -> String {
    let finalizers = live["metadata"]["finalizers"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let names: Vec<_> = finalizers.iter().filter_map(Value::as_str).collect();
    let others: Vec<_> = names
        .iter()
        .filter(|name| **name != "foregroundDeletion")
        .copied()
        .collect();
    match (names.as_slice(), others.as_slice()) {
        ([], _) => "it is not deleted yet".to_owned(),
        (_, []) => PODS.to_owned(),
        (_, others) => format!("it waits for finalizer {}", others.join(", ")),
    }
}
