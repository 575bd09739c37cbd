//! Objects of the Go operator are taken over.

use crate::world::{World, assert_all, content, outcomes, with};
use operator::operands::{Outcome, Uncached};
use rstest::rstest;
use serde_json::{Value, json};

#[rstest]
#[case("cluster-controller-manager-operator")]
#[case("config-sync-controllers")]
#[tokio::test]
async fn fields_of_the_go_operator_are_taken_over(#[case] manager: &str) {
    let world = World::new("takeover").await;
    let fresh = World::new("takeover").await;
    fresh.converge(&[fresh.of("Deployment")]).await;

    let theirs = with(
        &world.of("Deployment"),
        "/spec/template/spec/containers/0/env/-",
        json!({ "name": "OLD", "value": "1" }),
    );
    let theirs = with(
        &theirs,
        "/metadata/annotations",
        json!({ "operator.openshift.io/spec-hash": "0", "operator.openshift.io/generation": "1" }),
    );
    let theirs = with(&theirs, "/spec/template/spec/dnsPolicy", json!("Default"));
    world.create(theirs, manager).await;
    let key = world.of("Deployment").key().clone();
    world
        .edit(
            &key,
            json!([{ "op": "add", "path": "/metadata/labels/team", "value": "x" }]),
        )
        .await;

    assert_all(&world.converge(&[world.of("Deployment")]).await, &Outcome::Updated);
    let live = world.get(&key).await;
    let mut after = content(&live);
    assert_eq!(
        after["metadata"]["labels"].as_object_mut().unwrap().remove("team"),
        Some(json!("x"))
    );
    let text = |content: &Value, world: &World| {
        let mut content = content.clone();
        content["metadata"].as_object_mut().unwrap().remove("annotations");
        content.to_string().replace(&world.namespace, "NAME")
    };
    assert_eq!(after["metadata"].get("annotations"), None);
    let undisturbed = content(&fresh.get(fresh.of("Deployment").key()).await);
    assert_eq!(text(&after, &world), text(&undisturbed, &fresh));
    assert!(!live["metadata"]["managedFields"].to_string().contains(manager));
    assert_all(&world.converge(&[world.of("Deployment")]).await, &Outcome::Kept);
    assert_eq!(world.writes().len(), 2);
}

#[tokio::test]
async fn of_every_kind_with_at_most_two_writes() {
    let world = World::new("inherit").await;
    for object in world
        .everything()
        .into_iter()
        .filter(|object| object.key().kind != "Namespace")
    {
        world.create(object, "cluster-controller-manager-operator").await;
    }
    let everything: Vec<_> = world
        .everything()
        .into_iter()
        .filter(|object| object.key().kind != "Namespace")
        .collect();
    assert_all(&world.converge(&everything).await, &Outcome::Updated);
    assert_eq!(world.writes().len(), 2 * everything.len());
    assert_all(&world.converge(&everything).await, &Outcome::Kept);
}

#[tokio::test]
async fn undesired_objects_of_the_go_operator_are_deleted() {
    let world = World::new("orphan").await;
    let (theirs, users) = (world.of("ConfigMap"), world.of("Secret"));
    world
        .create(theirs.clone(), "cluster-controller-manager-operator")
        .await;
    world.create(users.clone(), "kubectl-create").await;
    let inventory = [theirs.key().clone(), users.key().clone()];
    let report = world.engine().converge(vec![], &inventory, &Uncached).await;
    assert_eq!(
        outcomes(&report),
        ["left: it was not made by the operator Secret", "pruned ConfigMap"]
    );
    assert_eq!(world.find(theirs.key()).await, None);
    assert!(world.find(users.key()).await.is_some());
}
