//! Replaces an object that cannot be changed.

use super::{
    api::{Call, Mode},
    report::{Class, Failure},
};
use kube::api::{Preconditions, PropagationPolicy};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often to look whether an object is gone, at first and at last.
const POLL: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// Puts an object in the place of one that is there. The old one is only deleted once the server would take the new one.
pub(super) async fn replace(
    call: &Call<'_>,
    wanted: &Value,
    live: &Value,
    patience: Duration,
) -> Result<Value, Failure> {
    if live["metadata"].get("deletionTimestamp").is_none() {
        call.apply(&rehearsal(wanted), Mode::DryRun).await?;
        let uid = live["metadata"]["uid"].as_str().map(str::to_owned);
        let preconditions = Preconditions {
            uid,
            resource_version: None,
        };
        call.delete(preconditions, PropagationPolicy::Background).await?;
    }
    if let Some(waits) = still_there(call, &live["metadata"]["uid"], patience).await? {
        return Err(call.fail(
            Class::Transient,
            format!("the old one is still there after {} s: {waits}", patience.as_secs()),
        ));
    }
    call.apply(wanted, Mode::Real).await
}

/// The same under another name, which nobody has yet.
pub(super) fn rehearsal(wanted: &Value) -> Value {
    const SUFFIX: &str = "-dry-run";
    let mut rehearsal = wanted.clone();
    let name = wanted["metadata"]["name"].as_str().unwrap_or_default();
    // Names of Services are labels of DNS.
    let longest = if wanted["kind"] == "Service" { 63 } else { 253 } - SUFFIX.len();
    let name = name.get(..longest).unwrap_or(name);
    rehearsal["metadata"]["name"] = json!(format!("{name}{SUFFIX}"));
    rehearsal
}

/// Waits until an object is gone: what holds it if it is not by then.
pub(super) async fn still_there(call: &Call<'_>, uid: &Value, patience: Duration) -> Result<Option<String>, Failure> {
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
    match names.as_slice() {
        [] => "it is not deleted yet".to_owned(),
        ["foregroundDeletion"] => "its Pods are still there".to_owned(),
        names => format!("it waits for finalizer {}", names.join(", ")),
    }
}
