//! Somebody edits or deletes what the operator has made for a manager, one thing after the other.

use super::cluster::Cluster;
use crate::rig::Manager;
use base64::{Engine, prelude::BASE64_STANDARD};
use kube::api::{ApiResource, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

/// What somebody writes in place of something of ours.
const MINE: &str = "mine-and-not-the-operators";

/// What somebody does to an object of this kind.
fn damage(kind: &str) -> Value {
    match kind {
        "ConfigMap" => json!({"data": {"ca.crt": MINE}}),
        "Secret" => json!({"data": {"tls.crt": BASE64_STANDARD.encode(MINE), "tls.key": BASE64_STANDARD.encode(MINE)}}),
        "Deployment" => json!({"spec": {"replicas": 7, "template": {"spec": {"serviceAccountName": MINE}}}}),
        "Service" => json!({"spec": {"ports": [{"name": "https", "port": 4444, "targetPort": 4444}]}}),
        "ServiceAccount" => json!({"automountServiceAccountToken": true}),
        "PodDisruptionBudget" => json!({"spec": {"minAvailable": 0, "maxUnavailable": null}}),
        "Role" => json!({"rules": []}),
        "RoleBinding" | "ClusterRoleBinding" => json!({"subjects": []}),
        "ServiceMonitor" => json!({"spec": {"endpoints": [{"port": MINE}]}}),
        "PrometheusRule" => json!({"spec": {"groups": [{"name": MINE, "rules": []}]}}),
        other => panic!("nobody has thought of damaging a {other}"),
    }
}

/// Waits until an object looks like this again, and nothing that somebody wrote is left in it.
async fn restored(world: &Cluster, operator: &Manager, what: &Operand, expected: &Value) {
    let look = async || {
        let api = world.api(&what.resource, &what.namespace);
        let live = api.get_opt(&what.name).await.unwrap();
        let raw = live.map(|live| json!(live.data).to_string()).unwrap_or_default();
        let all = world.snapshot("lab").await;
        let found = all.get(&what.title);
        let theirs = [MINE, &BASE64_STANDARD.encode(MINE)]
            .iter()
            .any(|text| raw.contains(*text));
        if found == Some(expected) && !theirs {
            Ok(())
        } else {
            Err(format!("{found:#?} instead of {expected:#}"))
        }
    };
    operator.until(&format!("{} as before", what.title), look).await;
}

/// Something that the operator has made.
struct Operand {
    /// As in the snapshot.
    title: String,
    resource: ApiResource,
    namespace: String,
    name: String,
}

/// Everything that the manager says is its own.
async fn operands(world: &Cluster) -> Vec<Operand> {
    let manager = world.get("lab").await;
    let related = manager["status"]["relatedObjects"].as_array().unwrap().iter();
    let operand = |reference: &Value| {
        let text = |key: &str| reference[key].as_str().unwrap_or_default().to_owned();
        let kinds = world.kinds();
        let same = |resource: &ApiResource| resource.plural == text("resource") && resource.group == text("group");
        let found = kinds.into_iter().find(|(resource, _)| same(resource));
        let (resource, _) = found.unwrap_or_else(|| panic!("{reference} is of no kind that is looked at"));
        Operand {
            title: format!("{} {}", resource.kind, text("name")),
            resource,
            namespace: text("namespace"),
            name: text("name"),
        }
    };
    related.map(operand).collect()
}

/// Each is edited and deleted: what is ours is put right, what the user has added stays, and in the end nobody writes any more.
#[tokio::test]
async fn every_operand_is_put_right() {
    let world = Cluster::new().await;
    world.manager("lab", json!({"provider": "memory"})).await;
    let operator = world.start();
    world.installed(&operator, "lab").await;
    world.settled().await;
    let snapshot = world.snapshot("lab").await;
    let operands = operands(&world).await;
    let kinds: std::collections::BTreeSet<_> = operands.iter().map(|each| each.resource.kind.as_str()).collect();
    assert_eq!(kinds.len(), 11, "{kinds:?}");
    assert_eq!(operands.iter().filter(|each| each.resource.kind == "Secret").count(), 2);
    for operand in &operands {
        let before = &snapshot[&operand.title];
        let api = world.api(&operand.resource, &operand.namespace);
        let mut patch = damage(&operand.resource.kind);
        patch["metadata"]["labels"] = json!({"user": "kept"});
        api.patch(&operand.name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", operand.title));
        let mut expected = before.clone();
        expected["metadata"]["labels"]["user"] = json!("kept");
        restored(&world, &operator, operand, &expected).await;

        api.delete(&operand.name, &DeleteParams::background()).await.unwrap();
        restored(&world, &operator, operand, before).await;
    }
    world.settled().await;
    world.roll_out().await;
    let done = ["Available=True", "Progressing=False", "Degraded=False"];
    world.says(&operator, "lab", &done).await;
    world.settled().await;
    let mark = world.mark();
    world.settled().await;
    assert_eq!(world.writes_since(mark), [""; 0]);
    assert_eq!(world.snapshot("lab").await, snapshot);
}
