//! An object that cannot be changed is recreated, and only if the server would accept the new one.

use crate::world::{World, assert_all, outcomes, with};
use operator::{
    Object,
    operands::{Class, Outcome, Uncached},
};
use rstest::rstest;
use serde_json::{Value, json};

fn selected_by(object: &Object, value: &str) -> Object {
    let object = with(object, "/spec/selector/matchLabels/k8s-app", json!(value));
    with(&object, "/spec/template/metadata/labels/k8s-app", json!(value))
}

// A changed selector causes a new object; W17: so does a changed role.
#[rstest]
#[case::w17_role("RoleBinding", "/roleRef/name")]
#[case::w17_cluster_role("ClusterRoleBinding", "/roleRef/name")]
#[case::type_of_secret("Secret", "/type")]
#[case::headless("Service", "/spec/clusterIP")]
#[tokio::test]
async fn a_new_object_takes_its_place(#[case] kind: &str, #[case] pointer: &str) {
    let world = World::new("recreate").await;
    let old = world.of(kind);
    world.converge(std::slice::from_ref(&old)).await;
    let uid = world.get(old.key()).await["metadata"]["uid"].clone();
    let new = match kind {
        "Secret" => with(&old, pointer, json!("example.com/new")),
        "Service" => with(&old, pointer, json!("None")),
        _ => with(&old, pointer, json!("other")),
    };

    assert_all(&world.converge(std::slice::from_ref(&new)).await, &Outcome::Recreated);
    let live = world.get(old.key()).await;
    assert_ne!(live["metadata"]["uid"], uid);
    assert_eq!(live.pointer(pointer), new.value().pointer(pointer));
    assert_eq!(world.writes().len(), 3, "made, deleted, made");
    assert_all(&world.converge(&[new]).await, &Outcome::Kept);
}

/// Two workloads of a kind never run at the same time: the new one waits for the end of the old one's Pods, and the operator does not block on that.
#[rstest]
#[case::deployment("Deployment")]
#[case::daemon_set("DaemonSet")]
#[tokio::test]
async fn workloads_wait_for_the_old_pods(#[case] kind: &str) {
    let world = World::new("workload").await;
    let (old, service) = (world.of(kind), world.of("Service"));
    world.converge(std::slice::from_ref(&old)).await;
    let uid = world.get(old.key()).await["metadata"]["uid"].clone();
    let new = selected_by(&old, "new");
    for _ in 0..2 {
        let report = world.converge(&[new.clone(), service.clone()]).await;
        let waits = "the old one still exists: its Pods still exist";
        assert_eq!(report.outcome(new.key()), Some(&Outcome::Pending(waits.into())));
        assert!(report.inventory().contains(new.key()));
        assert_eq!(world.get(old.key()).await["metadata"]["uid"], uid);
    }
    world.collect(old.key()).await;
    assert_all(&world.converge(std::slice::from_ref(&new)).await, &Outcome::Created);
    assert_eq!(world.writes().len(), 4, "made, deleted, the Service, made");
    assert_all(&world.converge(&[new]).await, &Outcome::Kept);
}

/// A user deletes our binding and creates another one of the same name for another role.
#[tokio::test]
async fn w17_a_binding_to_another_role_is_replaced() {
    let world = World::new("usurper").await;
    let (binding, service) = (world.of("RoleBinding"), world.of("Service"));
    world
        .create(with(&binding, "/roleRef/name", json!("theirs")), "kubectl-create")
        .await;
    let report = world.converge(&[binding.clone(), service]).await;
    assert_eq!(outcomes(&report), ["created Service", "recreated RoleBinding"]);
    assert_eq!(world.get(binding.key()).await["roleRef"]["name"], world.namespace);
}

#[rstest]
#[case::by_a_user(json!([{ "op": "add", "path": "/immutable", "value": true }]))]
#[case::and_changed(json!([{ "op": "add", "path": "/data/x", "value": "eA==" }, { "op": "add", "path": "/immutable", "value": true }]))]
#[tokio::test]
async fn an_object_made_immutable_is_replaced(#[case] edit: Value) {
    let world = World::new("immutable").await;
    for kind in ["ConfigMap", "Secret"] {
        let object = world.of(kind);
        world.converge(std::slice::from_ref(&object)).await;
        world.edit(object.key(), edit.clone()).await;
        assert_all(
            &world.converge(std::slice::from_ref(&object)).await,
            &Outcome::Recreated,
        );
        assert_eq!(world.get(object.key()).await.get("immutable"), None);
    }
}

#[tokio::test]
async fn our_own_immutable_objects_are_replaced_by_new_content() {
    let world = World::new("immutable").await;
    let immutable = with(&world.of("ConfigMap"), "/immutable", json!(true));
    world.converge(std::slice::from_ref(&immutable)).await;
    assert_all(&world.converge(std::slice::from_ref(&immutable)).await, &Outcome::Kept);
    let new = with(&immutable, "/data/cloud.conf", json!("new"));
    assert_all(&world.converge(std::slice::from_ref(&new)).await, &Outcome::Recreated);
    assert_eq!(world.get(new.key()).await["data"]["cloud.conf"], "new");
}

// A malformed one leaves the old object.
#[tokio::test]
async fn a_replacement_that_the_server_would_refuse_keeps_the_old_object() {
    let world = World::new("malformed").await;
    let old = world.of("Deployment");
    world.converge(std::slice::from_ref(&old)).await;
    let before = world.get(old.key()).await;
    // The labels do not fit the selector.
    let new = with(&old, "/spec/selector/matchLabels/k8s-app", json!("new"));
    let report = world.converge(&[new]).await;
    let failure = report.failures().next().expect("a failure");
    assert_eq!(failure.class, Class::Refused);
    assert!(
        failure
            .to_string()
            .contains("`selector` does not match template `labels`"),
        "{failure}"
    );
    let reasons: Vec<_> = report.events().map(|event| event.reason).collect();
    assert_eq!(reasons, ["ResourceRecreating", "ResourceRecreateFailed"]);
    assert_eq!(world.get(old.key()).await, before);
}

// A deletion that a finalizer delays is reported, until the finalizer is removed.
#[tokio::test]
async fn a_finalizer_is_named() {
    let world = World::new("finalizer").await;
    let old = with(
        &world.of("Deployment"),
        "/metadata/finalizers",
        json!(["example.com/stuck"]),
    );
    world.converge(std::slice::from_ref(&old)).await;
    let new = selected_by(&world.of("Deployment"), "new");
    for _ in 0..2 {
        let report = world.converge(&[new.clone(), world.of("Service")]).await;
        let failure = report.failures().next().expect("a failure");
        assert_eq!(failure.class, Class::Transient);
        assert!(
            failure
                .to_string()
                .ends_with("it waits for finalizer example.com/stuck"),
            "{failure}"
        );
        assert_eq!(report.failures().count(), 1, "the others are written");
    }
    world
        .edit(old.key(), json!([{ "op": "remove", "path": "/metadata/finalizers" }]))
        .await;
    assert_all(&world.converge(std::slice::from_ref(&new)).await, &Outcome::Created);
}

/// An object that waited for the old one's Pods is reported as recreated once it exists.
#[tokio::test]
async fn a_slow_replacement_is_reported_once() {
    let world = World::new("slowly").await;
    let (engine, old) = (world.engine(), world.of("Deployment"));
    engine.converge(vec![old.clone()], &[], &Uncached).await;
    let new = selected_by(&old, "new");
    let reported = async || {
        let report = engine.converge(vec![new.clone()], &[], &Uncached).await;
        report.events().map(|event| event.reason).collect::<Vec<_>>()
    };
    assert_eq!(reported().await, [""; 0]);
    assert_eq!(reported().await, [""; 0]);
    world.collect(old.key()).await;
    assert_eq!(reported().await, ["ResourceRecreating", "ResourceRecreateSuccess"]);
    assert_eq!(reported().await, [""; 0]);
}
