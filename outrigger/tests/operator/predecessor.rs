//! Operands that are not listed: the Go operator does not list them, and a list can be lost.

use crate::{
    fixture::Place,
    objects::look_of,
    process_fixture::Manager,
    world::{World, infrastructure, kind},
};
use kube::api::{DeleteParams, PostParams};
use rstest::rstest;
use serde_json::{Value, json};

const GO: &str = "cluster-controller-manager-operator";

/// The related objects in the status of the Go operator, as a list of resources and names.
type Word = &'static [&'static str];

/// Three objects, none of which is an operand.
const WORD: Word = &[
    "namespaces/own",
    "config.openshift.io/clusteroperators/cloud-controller-manager",
];

/// Those of a newer version: also objects of a release.
const NEWER: Word = &[
    "config.openshift.io/clusteroperators/cloud-controller-manager",
    "namespaces/own",
    "rbac.authorization.k8s.io/clusterroles/cloud-controller-manager",
    "rbac.authorization.k8s.io/clusterrolebindings/cloud-node-manager",
];

/// A cluster on AWS with operands of the Go operator, and with its status.
async fn taken_over(word: Word) -> (World, Vec<Place>) {
    let world = World::left_behind("AWS").await;
    let places = world.places().await;
    for place in &places {
        make_again(&world, place, GO).await;
    }
    let reference = |text: &str| {
        let mut parts = text.rsplit('/');
        let (name, resource) = (parts.next().unwrap(), parts.next().unwrap());
        json!({"group": parts.next().unwrap_or_default(), "resource": resource, "name": name})
    };
    let last = format!("namespaces/{}", world.namespace);
    let related: Value = word.iter().copied().chain([last.as_str()]).map(reference).collect();
    world.set_related(related).await;
    (world, places)
}

/// The same object, but created by another client.
async fn make_again(world: &World, place: &Place, manager: &str) {
    let api = world.api(&place.resource, &place.namespace);
    let live = api.get(&place.name).await.unwrap();
    let mut object = look_of(serde_json::to_value(&live).unwrap());
    object["apiVersion"] = json!(place.resource.api_version);
    object["kind"] = json!(place.resource.kind);
    api.delete(&place.name, &DeleteParams::background()).await.unwrap();
    let params = PostParams {
        field_manager: Some(manager.to_owned()),
        ..PostParams::default()
    };
    api.create(&params, &serde_json::from_value(object).unwrap())
        .await
        .unwrap();
}

/// Waits until exactly these exist.
async fn left(world: &World, operator: &Manager, places: &[Place], expected: impl Fn(&Place) -> bool) {
    let look = async || {
        world.collect_garbage().await;
        let mut wrong = Vec::new();
        for place in places {
            let is_there = world
                .get(&place.resource, &place.namespace, &place.name)
                .await
                .is_some();
            if is_there != expected(place) {
                wrong.push(format!("{} {}: {is_there}", place.resource.kind, place.name));
            }
        }
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(format!("{wrong:#?}\n{}", world.conditions().await))
        }
    };
    operator.until("the rest to go", look).await;
}

/// On a platform without operands all of them are deleted, except an object of a user with one of the names.
#[tokio::test]
async fn objects_of_the_go_operator_are_deleted() {
    let (world, places) = taken_over(WORD).await;
    let users = places.iter().find(|place| place.is("Service")).unwrap();
    make_again(&world, users, "kubectl-create").await;
    world.set_platform("None").await;
    let operator = world.start();
    let stays = |place: &Place| place.is("Service") || place.name == "ccm-trusted-ca";
    left(&world, &operator, &places, stays).await;
    world
        .reports(&operator, &["Available=True", "Progressing=False", "Degraded=False"])
        .await;
    world.settled().await;
    left(&world, &operator, &places, stays).await;
}

/// W18: an object of the Go operator that is not desired since the cluster has one machine is deleted, and the others are taken over.
#[rstest]
#[case::three(WORD)]
#[case::newer(NEWER)]
#[tokio::test]
async fn w18_leftovers_of_the_go_operator_are_deleted(#[case] word: Word) {
    let (world, places) = taken_over(word).await;
    world.set_platform("AWS SingleReplica").await;
    let operator = world.start();
    left(&world, &operator, &places, |place| !place.is("PodDisruptionBudget")).await;
    world.runs(&operator, "aws").await;
    world.settled().await;
    left(&world, &operator, &places, |place| !place.is("PodDisruptionBudget")).await;
}

/// Our own list is lost, and no operands are desired: they are found without it.
#[tokio::test]
async fn a_list_that_is_lost() {
    let world = World::left_behind("AWS").await;
    world
        .delete(&kind("ClusterOperator"), "", "cloud-controller-manager")
        .await;
    let annotation = "infrastructure.openshift.io/external-cloud-provider";
    let off = json!({"metadata": {"annotations": {annotation: "false"}}});
    world.edit(&infrastructure(), "", "cluster", off).await;
    let operator = world.start();
    world.gone(&operator, "aws").await;
    world.reports(&operator, &["Available=True", "Progressing=False"]).await;
    let policies = kind("ValidatingAdmissionPolicy");
    let name = "openshift-cloud-controller-manager-cloud-provider-aws";
    assert_eq!(world.get(&policies, "", name).await, None::<Value>);
}
