//! Changes and deletions by users are reverted, and fields of users are kept.

use crate::world::{World, assert_all, content, outcomes};
use operator::operands::{Outcome, Uncached};
use rstest::rstest;
use serde_json::{Value, json};

const CONTAINER: &str = "/spec/template/spec/containers/0";

fn add(path: impl AsRef<str>, value: impl Into<Value>) -> Value {
    json!([{ "op": "add", "path": path.as_ref(), "value": value.into() }])
}

fn remove(path: &str) -> Value {
    json!([{ "op": "remove", "path": path }])
}

fn in_container(path: &str) -> String {
    format!("{CONTAINER}{path}")
}

// And the first part of W17: ports of a Service are compared.
#[rstest]
#[case::namespace("Namespace", add("/metadata/labels/k8s-app", "x"))]
#[case::account("ServiceAccount", add("/automountServiceAccountToken", true))]
#[case::role("Role", add("/rules/0/verbs/-", "delete"))]
#[case::role_more("Role", add("/rules/-", json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["*"] })))]
#[case::cluster_role("ClusterRole", remove("/rules/1"))]
#[case::cluster_role_aggregated("ClusterRole", add("/aggregationRule", json!({ "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] })))]
#[case::binding("RoleBinding", add("/subjects/-", json!({ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "me" })))]
#[case::cluster_binding("ClusterRoleBinding", remove("/subjects"))]
#[case::config("ConfigMap", add("/data/cloud.conf", "x"))]
#[case::config_more("ConfigMap", add("/data/more", "x"))]
#[case::config_less("ConfigMap", remove("/data/cloud.conf"))]
#[case::config_empty_less("ConfigMap", remove("/data/empty"))]
#[case::config_none("ConfigMap", remove("/data"))]
#[case::config_binary("ConfigMap", add("/binaryData", json!({ "x": "eA==" })))]
#[case::secret("Secret", add("/data/password", "eA=="))]
#[case::secret_more("Secret", add("/data/more", "eA=="))]
#[case::policy("ValidatingAdmissionPolicy", add("/spec/failurePolicy", "Fail"))]
#[case::policy_rules("ValidatingAdmissionPolicy", add("/spec/validations/-", json!({ "expression": "true" })))]
#[case::policy_condition("ValidatingAdmissionPolicy", add("/spec/matchConditions", json!([{ "name": "never", "expression": "false" }])))]
#[case::policy_binding("ValidatingAdmissionPolicyBinding", add("/spec/validationActions", json!(["Deny"])))]
#[case::policy_binding_scope("ValidatingAdmissionPolicyBinding", add("/spec/matchResources", json!({ "namespaceSelector": { "matchLabels": { "a": "b" } } })))]
#[case::budget("PodDisruptionBudget", add("/spec/minAvailable", 2))]
#[case::w17_port_moved("Service", add("/spec/ports/0/port", 4444))]
#[case::w17_target_moved("Service", add("/spec/ports/0/targetPort", 4444))]
#[case::w17_port_added("Service", add("/spec/ports/-", json!({ "name": "more", "port": 80 })))]
#[case::service_type("Service", add("/spec/type", "NodePort"))]
#[case::service_affinity("Service", add("/spec/sessionAffinity", "ClientIP"))]
#[case::service_selector("Service", add("/spec/selector/more", "x"))]
#[case::monitor("ServiceMonitor", add("/spec/endpoints/0/port", "http"))]
#[case::monitor_more("ServiceMonitor", add("/spec/sampleLimit", 1))]
#[case::alert("PrometheusRule", add("/spec/groups/0/rules/0/expr", "up == 7"))]
#[case::alert_more("PrometheusRule", add("/spec/groups/-", json!({ "name": "mine", "rules": [] })))]
#[case::replicas("Deployment", add("/spec/replicas", 0))]
#[case::strategy("Deployment", json!([
    { "op": "replace", "path": "/spec/strategy", "value": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1 } } },
]))]
#[case::default("Deployment", add("/spec/progressDeadlineSeconds", 7))]
#[case::paused("Deployment", add("/spec/paused", true))]
#[case::config_hash(
    "Deployment",
    add("/spec/template/metadata/annotations/operator.openshift.io~1config-hash", "7")
)]
#[case::image("Deployment", add(in_container("/image"), "evil"))]
#[case::command("Deployment", add(in_container("/command/2"), "sleep 1"))]
#[case::args("Deployment", add(in_container("/args"), json!(["--v=9"])))]
#[case::variable("Deployment", add(in_container("/env/0/value"), "x"))]
#[case::variable_added("Deployment", add(in_container("/env/-"), json!({ "name": "X", "value": "1" })))]
#[case::variable_removed("Deployment", remove("/spec/template/spec/containers/0/env/0"))]
#[case::variables_swapped("Deployment", json!([
    { "op": "move", "from": "/spec/template/spec/containers/0/env/0", "path": "/spec/template/spec/containers/0/env/1" },
]))]
#[case::init_swapped("Deployment", json!([
    { "op": "move", "from": "/spec/template/spec/initContainers/0", "path": "/spec/template/spec/initContainers/1" },
]))]
#[case::sidecar("Deployment", add("/spec/template/spec/containers/-", json!({ "name": "spy", "image": "spy" })))]
#[case::probe_added("Deployment", add(in_container("/readinessProbe"), json!({ "httpGet": { "path": "/", "port": 80 } })))]
#[case::probe_changed("Deployment", add(in_container("/livenessProbe/periodSeconds"), 99))]
#[case::probe_removed("Deployment", remove("/spec/template/spec/containers/0/livenessProbe"))]
#[case::limits("Deployment", add(in_container("/resources/limits"), json!({ "cpu": "2" })))]
#[case::security("Deployment", add("/spec/template/spec/securityContext/runAsUser", 0))]
#[case::toleration("Deployment", add("/spec/template/spec/tolerations/-", json!({ "operator": "Exists" })))]
#[case::node_selector(
    "Deployment",
    remove("/spec/template/spec/nodeSelector/node-role.kubernetes.io~1master")
)]
#[case::volume("Deployment", add("/spec/template/spec/volumes/-", json!({ "name": "more", "emptyDir": {} })))]
#[case::volume_changed("Deployment", add("/spec/template/spec/volumes/1/emptyDir/medium", "Memory"))]
#[case::w28_label("DaemonSet", add("/metadata/labels/k8s-app", "x"))]
#[case::w28_label_removed("DaemonSet", remove("/metadata/labels/k8s-app"))]
#[case::daemons("DaemonSet", add("/spec/updateStrategy/rollingUpdate/maxUnavailable", 7))]
#[case::daemon_default("DaemonSet", add("/spec/minReadySeconds", 7))]
#[tokio::test]
async fn edits_are_reverted(#[case] kind: &str, #[case] edit: Value) {
    let world = World::new("edit").await;
    let (engine, object) = (world.engine(), vec![world.of(kind)]);
    let key = object[0].key().clone();
    engine.converge(object.clone(), &[], &Uncached).await;
    let before = world.get(&key).await;
    world.edit(&key, edit).await;
    assert_ne!(
        content(&world.get(&key).await),
        content(&before),
        "the edit does something"
    );

    let report = engine.converge(object.clone(), &[], &Uncached).await;
    assert_all(&report, &Outcome::Updated);
    assert_eq!(content(&world.get(&key).await), content(&before));
    let writes = world.writes();
    assert!(writes.len() <= 3, "{writes:?}");

    // Operator.md W28: one repair, and no further writes; also by a process that has just started.
    assert_all(&engine.converge(object.clone(), &[], &Uncached).await, &Outcome::Kept);
    assert_all(&world.converge(&object).await, &Outcome::Kept);
    assert_eq!(world.writes(), writes);
}

#[tokio::test]
async fn deleted_objects_of_every_kind_are_recreated() {
    let world = World::new("delete").await;
    let (engine, everything) = (world.engine(), world.everything());
    engine.converge(everything.clone(), &[], &Uncached).await;
    for object in everything.iter().filter(|object| object.key().kind != "Namespace") {
        let before = world.get(object.key()).await;
        world.delete(object.key()).await;
        let report = engine.converge(everything.clone(), &[], &Uncached).await;
        let changed: Vec<_> = outcomes(&report)
            .into_iter()
            .filter(|outcome| !outcome.starts_with("kept"))
            .collect();
        assert_eq!(changed, [format!("created {}", object.key().kind)]);
        assert_eq!(content(&world.get(object.key()).await), content(&before));
    }
    let writes = world.writes();
    assert_eq!(writes.len(), 2 * everything.len() - 1, "{writes:#?}");
}

/// No Pod runs without a workload, so one that is deleted repeatedly is recreated at once each time; another object is left
/// alone for a while.
#[tokio::test]
async fn a_deleted_workload_is_recreated_at_once() {
    let world = World::new("deleted").await;
    let (engine, desired) = (world.engine(), vec![world.of("Deployment"), world.of("ServiceMonitor")]);
    engine.converge(desired.clone(), &[], &Uncached).await;
    // Ten within a minute are a contest.
    for _ in 0..100 {
        for object in &desired {
            if world.find(object.key()).await.is_some() {
                world.delete(object.key()).await;
            }
        }
        let report = engine.converge(desired.clone(), &[], &Uncached).await;
        assert_eq!(report.outcome(desired[0].key()), Some(&Outcome::Created));
        if report
            .failures()
            .any(|failure| failure.key.as_ref() == desired[1].key())
        {
            return;
        }
    }
    panic!("the other object is never left alone");
}

// A user's label is kept, the system's is reverted.
#[tokio::test]
async fn metadata_of_users_is_kept_for_every_kind() {
    let world = World::new("labels").await;
    let everything = world.everything();
    world.converge(&everything).await;
    for object in &everything {
        let patch = json!([
            { "op": "add", "path": "/metadata/labels/team", "value": "x" },
            { "op": "add", "path": "/metadata/annotations", "value": { "note": "mine" } },
        ]);
        world.edit(object.key(), patch).await;
    }
    let before = world.writes();
    assert_all(&world.converge(&everything).await, &Outcome::Kept);
    assert_eq!(world.writes(), before);

    for object in &everything {
        world.edit(object.key(), add("/metadata/labels/k8s-app", "x")).await;
    }
    assert_all(&world.converge(&everything).await, &Outcome::Updated);
    for object in &everything {
        let metadata = world.get(object.key()).await["metadata"].clone();
        assert_eq!(
            [&metadata["labels"]["team"], &metadata["annotations"]["note"]],
            ["x", "mine"],
            "{}",
            object.key()
        );
        assert_eq!(metadata["labels"]["k8s-app"], "ccm", "{}", object.key());
    }
    assert_eq!(world.writes().len() - before.len(), everything.len());
}

#[tokio::test]
async fn a_restart_by_kubectl_is_kept() {
    let world = World::new("restart").await;
    let deployment = vec![world.of("Deployment")];
    world.converge(&deployment).await;
    let path = "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt";
    world.edit(deployment[0].key(), add(path, "now")).await;
    assert_all(&world.converge(&deployment).await, &Outcome::Kept);
    // Also if another field is repaired, which takes over fields.
    world.edit(deployment[0].key(), add("/spec/paused", true)).await;
    assert_all(&world.converge(&deployment).await, &Outcome::Updated);
    let live = world.get(deployment[0].key()).await;
    assert_eq!(live.pointer(path), Some(&json!("now")));
    assert_eq!(live.pointer("/spec/paused"), None);
}

/// Created with `kubectl create` before: the server's defaults in it have the same owner.
#[tokio::test]
async fn an_existing_object_is_adopted_once() {
    let world = World::new("before").await;
    for object in world
        .everything()
        .into_iter()
        .filter(|object| object.key().kind != "Namespace")
    {
        world.create(object, "kubectl-create").await;
    }
    let everything = world.everything();
    let report = world.converge(&everything).await;
    assert!(report.is_complete(), "{:?}", outcomes(&report));
    let writes = world.writes();
    assert_all(&world.converge(&everything).await, &Outcome::Kept);
    assert_eq!(world.writes(), writes);
}

/// Fields that another program applies to our objects by server-side apply are removed, also if they repeat ours.
#[tokio::test]
async fn fields_of_another_applier_are_removed() {
    let world = World::new("gitops").await;
    let deployment = vec![world.of("Deployment")];
    let key = deployment[0].key();
    world.converge(&deployment).await;
    let before = world.get(key).await;
    let theirs = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": key.name, "labels": { "gitops": "x" } },
        "spec": { "replicas": 2, "template": { "spec": { "containers": [
            { "name": "spy", "image": "spy", "livenessProbe": { "httpGet": { "path": "/", "port": 80 } } },
            { "name": "ccm", "readinessProbe": { "httpGet": { "path": "/", "port": 80 } } },
        ] } } },
    });
    let params = kube::api::PatchParams::apply("gitops");
    world
        .api(key)
        .patch(&key.name, &params, &kube::api::Patch::Apply(&theirs))
        .await
        .unwrap();

    assert_all(&world.converge(&deployment).await, &Outcome::Updated);
    let mut after = content(&world.get(key).await);
    assert_eq!(
        after["metadata"]["labels"].as_object_mut().unwrap().remove("gitops"),
        Some(json!("x"))
    );
    assert_eq!(after, content(&before));
    assert_all(&world.converge(&deployment).await, &Outcome::Kept);
}
