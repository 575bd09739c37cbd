//! The health of the operands, and its report in the `ClusterOperator`.

use crate::{
    policies::refuse_services,
    process_fixture::Manager,
    world::{OPERATOR_NAMESPACE, RELEASE, World, deployment, images, kind},
};
use futures::StreamExt;
use kube::{
    api::{DeleteParams, ListParams, Patch, PatchParams, WatchParams},
    core::WatchEvent,
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

const NEXT: &str = "5.1.0-lab";

async fn version(world: &World) -> Value {
    world.cluster_operator().await["status"]["versions"].clone()
}

async fn upgraded(world: &World) -> Manager {
    let gate = |version: &str| json!({"version": version, "enabled": [], "disabled": []});
    let status = json!({"featureGates": [gate(RELEASE), gate(NEXT)]});
    world.set_status(&kind("FeatureGate"), "cluster", status).await;
    let mut images = images();
    images["cloudControllerManagerAWS"] = json!("registry.lab/aws:2");
    world.folder.write("images.json", &images.to_string());
    world.common(world.operator()).env("RELEASE_VERSION", NEXT).start()
}

/// W1: the version is that of the running Pods, and changes when the last Pod has been replaced.
#[tokio::test]
async fn w1_versions_after_the_roll_out() {
    let world = World::new("AWS").await;
    let operator = world.start();
    world.installed(&operator, 7).await;
    world
        .reports(
            &operator,
            &["Progressing=True SyncingResources", "Available=False SyncingResources"],
        )
        .await;
    world.settled().await;
    assert_eq!(version(&world).await, Value::Null);
    world.runs(&operator, "aws").await;
    assert_eq!(version(&world).await, json!([{"name": "operator", "version": RELEASE}]));
    operator.signal("TERM");
    operator.exited().await;

    let operator = upgraded(&world).await;
    let towards = format!("Progressing=True SyncingResources Progressing towards operator: {NEXT}");
    world.reports(&operator, &[&towards, "Available=True"]).await;
    world.settled().await;
    assert_eq!(version(&world).await, json!([{"name": "operator", "version": RELEASE}]));
    event_message(&world, &operator, "default", "StatusUpgrade").await;
    world.runs(&operator, "aws").await;
    assert_eq!(version(&world).await, json!([{"name": "operator", "version": NEXT}]));
    let available =
        format!("Available=True AsExpected Cluster Cloud Controller Manager Operator is available at {NEXT}");
    world.reports(&operator, &[&available, "Progressing=False"]).await;
}

/// Waits for an event of this reason, and returns its message. W26: a reason is one word.
pub async fn event_message(world: &World, operator: &Manager, namespace: &str, reason: &str) -> String {
    let events = kind("Event");
    let look = async || {
        let found = world
            .api(&events, namespace)
            .list(&ListParams::default())
            .await
            .unwrap();
        let mut found = found.into_iter().filter(|event| event.data["reason"] == reason);
        let message = found.next().map(|event| event.data["message"].to_string());
        message.ok_or_else(|| format!("no event {reason}"))
    };
    operator.until(&format!("an event {reason}"), look).await
}

/// W4: if no Pod runs, this is reported soon, with the reason of the Pods; and so is the recovery.
#[tokio::test]
async fn w4_nothing_runs() {
    let (world, operator) = World::running("AWS").await;

    crash_looping_pod(&world).await;
    let since = Instant::now();
    world.roll_out(0).await;
    let conditions = world.reports(&operator, &["Available=False NothingRuns"]).await;
    // Other failures are reported after two minutes and a half.
    assert!(since.elapsed() < Duration::from_mins(2), "{:?}", since.elapsed());
    let line = conditions.lines().find(|line| line.starts_with("Available")).unwrap();
    for part in [
        "aws-cloud-controller-manager",
        "0 of 2 Pods available",
        "CrashLoopBackOff",
    ] {
        assert!(line.contains(part), "{line}");
    }

    // A Pod without a readiness probe is available until it crashes again: this is not reported as a recovery.
    let since = transition(&world, "Available").await;
    for _ in 0..3 {
        world.roll_out(9).await;
        world.settled().await;
        world.roll_out(0).await;
        world.settled().await;
    }
    assert_eq!(transition(&world, "Available").await, since);
    let pods = world.api(&kind("Pod"), &world.namespace);
    pods.delete("aws-1", &DeleteParams::default().grace_period(0))
        .await
        .unwrap();
    world.roll_out(9).await;
    world
        .reports(&operator, &["Available=True AsExpected", "Degraded=False"])
        .await;
}

/// W4: another failure hides neither that no Pod runs nor that Pods run again: a policy that rejects an object.
#[tokio::test]
async fn w4_nothing_runs_and_an_object_is_refused() {
    let (world, operator) = World::running("AWS").await;
    refuse_services(&world).await;
    world
        .delete(&kind("Service"), &world.namespace, "aws-cloud-controller-manager")
        .await;
    let line = operator.logged("not everything could be written").await;
    assert!(line.contains("no Services on Mondays"), "{line}");

    world.roll_out(0).await;
    let down = "Available=False NothingRuns";
    let conditions = world.reports(&operator, &[down]).await;
    let line = conditions.lines().find(|line| line.starts_with(down)).unwrap();
    assert!(line.contains("0 of 2 Pods available"), "{line}");
    world.roll_out(9).await;
    world.reports(&operator, &["Available=True AsExpected"]).await;
}

/// W4: the same with unreadable images, so that the desired workloads are unknown: the existing ones count.
#[tokio::test]
async fn w4_nothing_runs_and_images_are_broken() {
    let (world, operator) = World::running("AWS").await;
    world.folder.write("images.json", "[]");
    let degraded = "Degraded=True SyncingFailed Failed to resync";
    world.reports(&operator, &[degraded, "Available=True"]).await;

    world.roll_out(0).await;
    let down = "Available=False NothingRuns";
    let conditions = world.reports(&operator, &[down, degraded]).await;
    let line = conditions.lines().find(|line| line.starts_with(down)).unwrap();
    assert!(
        line.contains("0 of 2 Pods available") && line.contains("images.json"),
        "{line}"
    );
    world.roll_out(9).await;
    world.reports(&operator, &["Available=True AsExpected", degraded]).await;
}

/// Since when a condition is what it is, and that it is `False`.
async fn transition(world: &World, condition: &str) -> String {
    let operator = world.cluster_operator().await;
    let all = operator["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = all.into_iter().find(|each| each["type"] == condition).unwrap();
    assert_eq!(found["status"], "False", "{found}");
    found["lastTransitionTime"].to_string()
}

/// W2: every report, with a new version and without one, has a reason and a message.
#[tokio::test]
async fn w2_every_report_has_a_reason() {
    let (world, operator) = World::running("AWS SingleReplica").await;
    world.settled().await;
    let operators = kind("ClusterOperator");
    let version = world.cluster_operator().await["metadata"]["resourceVersion"].to_string();
    let api = world.api(&operators, "");
    let (seen, version) = (Arc::new(Mutex::new(Vec::new())), version.replace('"', ""));
    let watching = tokio::spawn({
        let seen = seen.clone();
        async move {
            let mut events = api.watch(&WatchParams::default(), &version).await.unwrap().boxed();
            while let Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object))) = events.next().await {
                seen.lock().unwrap().push(object.data["status"]["conditions"].clone());
            }
        }
    });
    world.set_platform("AWS").await;
    world.installed(&operator, 7).await;
    world.runs(&operator, "aws").await;
    world.reports(&operator, &["Progressing=False"]).await;
    world.settled().await;
    watching.abort();
    let seen = seen.lock().unwrap();
    let all: Vec<_> = seen.iter().filter_map(Value::as_array).flatten().collect();
    let progressing = |each: &&&Value| each["type"] == "Progressing" && each["status"] == "True";
    assert!(all.iter().any(|each| progressing(&each)), "{seen:#?}");
    for condition in all {
        let good = match condition["type"].as_str().unwrap() {
            "Progressing" => "False",
            name if name.ends_with("Degraded") => "False",
            _ => "True",
        };
        let silent = condition["message"].as_str().unwrap_or_default().is_empty();
        assert!(condition["status"] == good || !silent, "{condition}");
    }
}

async fn crash_looping_pod(world: &World) {
    let live = world
        .get(&deployment(), &world.namespace, "aws-cloud-controller-manager")
        .await
        .unwrap();
    let labels = &live["spec"]["template"]["metadata"]["labels"];
    let pods = kind("Pod");
    world
        .apply(&kind("ServiceAccount"), &world.namespace, "default", json!({}))
        .await;
    let pod = json!({"metadata": {"labels": labels}, "spec": {
        "automountServiceAccountToken": false,
        "containers": [{"name": "cloud-controller-manager", "image": "x"}],
    }});
    world.apply(&pods, &world.namespace, "aws-1", pod).await;
    let status = json!({"status": {"phase": "Running", "containerStatuses": [{
        "name": "cloud-controller-manager", "image": "x", "imageID": "", "ready": false, "restartCount": 9,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}},
    }]}});
    let api = world.api(&pods, &world.namespace);
    let patch = Patch::Merge(&status);
    api.patch_status("aws-1", &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// A node that restarts is not an outage: with one of two Pods nothing is reported or written for a while.
#[tokio::test]
async fn one_of_two_is_away() {
    let (world, operator) = World::running("AWS").await;
    world.settled().await;
    let (before, mark) = (world.conditions().await, world.mark());
    world.roll_out(1).await;
    world.settled().await;
    assert_eq!(world.conditions().await, before);
    assert_eq!(world.writes_since(mark), [""; 0]);
    assert!(operator.ended().is_none());
}

/// A roll-out that does not progress is reported until it is finished.
#[tokio::test]
async fn stalled() {
    let world = World::new("AWS").await;
    let operator = world.start();
    world.installed(&operator, 7).await;
    world.reports(&operator, &["Progressing=True SyncingResources"]).await;
    let api = world.api(&deployment(), &world.namespace);
    let status = json!({"status": {"observedGeneration": 1, "replicas": 2, "unavailableReplicas": 2, "conditions": [{
        "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too slow",
    }]}});
    let patch = Patch::Merge(&status);
    api.patch_status("aws-cloud-controller-manager", &PatchParams::default(), &patch)
        .await
        .unwrap();
    world.settled().await;
    let conditions = world.conditions().await;
    assert!(
        conditions.contains("Progressing=True") && conditions.contains("Available=False"),
        "{conditions}"
    );
    assert_eq!(version(&world).await, Value::Null);
    world.runs(&operator, "aws").await;
}

/// W26: the events about the leader are in the operator's namespace, and every reason is one word.
#[tokio::test]
async fn w26_events() {
    let (world, operator) = World::running("AWS").await;
    let message = event_message(&world, &operator, &world.namespace, "ResourceCreateSuccess").await;
    assert!(message.contains("Resource was successfully created"), "{message}");
    event_message(&world, &operator, OPERATOR_NAMESPACE, "LeaderElection").await;
    event_message(&world, &operator, "default", "StatusUpgrade").await;
    let message = event_message(&world, &operator, &world.namespace, "FeatureGatesInitialized").await;
    assert!(message.contains("none"), "{message}");
    world.set_gates(&["CloudControllerManagerWebhook"]).await;
    let message = event_message(&world, &operator, &world.namespace, "FeatureGatesModified").await;
    assert!(message.contains("CloudControllerManagerWebhook"), "{message}");
    let events = kind("Event");
    for event in world.api(&events, "").list(&ListParams::default()).await.unwrap() {
        let reason = event.data["reason"].as_str().unwrap_or_default();
        assert!(!reason.contains(' '), "{reason:?}");
    }
}

/// W27: a report of an older operator is brought up to date; its owner is removed.
#[tokio::test]
async fn w27_obsolete_conditions_are_removed() {
    let world = World::new("AWS").await;
    let operators = kind("ClusterOperator");
    world
        .apply(&operators, "", "cloud-controller-manager", json!({"spec": {}}))
        .await;
    let condition = |type_: &str, status: &str| json!({"type": type_, "status": status, "reason": "Old", "message": "old", "lastTransitionTime": "2020-01-01T00:00:00Z"});
    let status = json!({
        "conditions": [condition("Available", "True"), condition("Degraded", "True"), condition("CloudControllerOwner", "True")],
        "versions": [{"name": "operator", "version": "4.0.0-old"}],
    });
    world.set_status(&operators, "cloud-controller-manager", status).await;
    let operator = world.start();
    world
        .reports(&operator, &["Progressing=True SyncingResources", "Available=True"])
        .await;
    assert_eq!(
        version(&world).await,
        json!([{"name": "operator", "version": "4.0.0-old"}])
    );
    world.runs(&operator, "aws").await;
    let conditions = world
        .reports(&operator, &["Available=True AsExpected", "Degraded=False AsExpected"])
        .await;
    assert!(!conditions.contains("CloudControllerOwner"), "{conditions}");
    assert_eq!(version(&world).await, json!([{"name": "operator", "version": RELEASE}]));
    let all = world.cluster_operator().await;
    let available = all["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|each| each["type"] == "Available");
    // It was available all the time.
    assert_eq!(available.unwrap()["lastTransitionTime"], "2020-01-01T00:00:00Z");
}
