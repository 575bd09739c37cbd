//! With the controllers of the cluster running on the same objects.

use crate::world::{World, assert_all, keys, outcomes, with};
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams},
};
use operator::{
    Key, Object,
    operands::{
        Outcome, Uncached,
        health::{Rollout, State, health, rollout},
    },
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

type Pods = Api<kube::api::DynamicObject>;

fn pods(world: &World) -> Pods {
    let resource = kube::api::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk("", "v1", "Pod"));
    Api::namespaced_with(world.admin.clone(), &world.namespace, &resource)
}

async fn set_ready(pods: &Pods, status: &str) {
    for pod in pods.list(&ListParams::default()).await.unwrap() {
        let conditions = json!({ "status": { "conditions": [{ "type": "Ready", "status": status }] } });
        let name = pod.metadata.name.unwrap();
        pods.patch_status(&name, &PatchParams::default(), &Patch::Merge(conditions))
            .await
            .unwrap();
    }
}

/// Reads the Deployment until it is as expected.
async fn deployment(world: &World, expected: impl Fn(&Value) -> bool) -> Value {
    let key = world.of("Deployment").key().clone();
    let wait = async {
        loop {
            let live = world.get(&key).await;
            if expected(&live) {
                return live;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(4), wait)
        .await
        .expect("the controllers do their work")
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_controllers_are_no_drift_and_pods_are_awaited() {
    let plane = lab::ControlPlane::start().unwrap();
    tokio::task::block_in_place(|| plane.start_controllers()).unwrap();
    let world = World::on(&plane, "controllers").await;
    let (everything, pods) = (world.everything(), pods(&world));
    let key = world.of("Deployment").key().clone();
    world.converge(&everything).await;
    let writes = world.writes();

    let live = deployment(&world, |live| live["status"]["replicas"] == 2).await;
    assert!(matches!(rollout(&key, Some(&live)), Rollout::Underway(_)), "{live:#}");
    assert_eq!(health(&key, Some(&live), &[]).state, State::Changing);

    set_ready(&pods, "True").await;
    let live = deployment(&world, |live| rollout(&key, Some(live)) == Rollout::Complete).await;
    assert_eq!(
        health(&key, Some(&live), &[]).to_string(),
        format!("{key}: 2 of 2 Pods available")
    );

    // Operator.md W4: rolled out, and not available since.
    set_ready(&pods, "False").await;
    let live = deployment(&world, |live| health(&key, Some(live), &[]).available == 0).await;
    assert_eq!(health(&key, Some(&live), &[]).state, State::Unavailable);

    assert_all(&world.converge(&everything).await, &Outcome::Kept);
    assert_eq!(world.writes(), writes);

    let engine = world.engine().patience(Duration::from_secs(30));
    let report = engine.remove_all(&keys(&everything), &Uncached).await;
    assert!(report.is_complete(), "{:?}", outcomes(&report));
    assert!(pods.list(&ListParams::default()).await.unwrap().items.is_empty());
    let deleted: Vec<_> = world.writes().split_off(writes.len());
    assert_eq!(
        deleted.len(),
        everything.len() - 1,
        "all but the namespace: {deleted:#?}"
    );
}

/// The existing Pods, by their UIDs.
async fn uids(pods: &Pods) -> BTreeSet<String> {
    let all = pods.list(&ListParams::default()).await.unwrap();
    all.into_iter().filter_map(|pod| pod.metadata.uid).collect()
}

/// Sets the finalizers of a Pod: with one it is not deleted.
async fn hold(pods: &Pods, name: &str, finalizers: Value) {
    let patch = json!({ "metadata": { "finalizers": finalizers } });
    pods.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

/// Converges repeatedly, until the Pods are as expected.
async fn converge_until(
    world: &World,
    pods: &Pods,
    desired: &[Object],
    inventory: &mut Vec<Key>,
    enough: impl Fn(&BTreeSet<String>) -> bool,
) -> BTreeSet<String> {
    let engine = world.engine();
    let wait = async {
        loop {
            let report = engine.converge(desired.to_vec(), inventory, &Uncached).await;
            assert_eq!(report.failures().count(), 0, "{:?}", outcomes(&report));
            *inventory = report.inventory();
            let there = uids(pods).await;
            if enough(&there) {
                return there;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(4), wait)
        .await
        .expect("the controllers do their work")
}

/// The old Pods are deleted, one of them late: until then there are no others.
async fn replaced(world: &World, pods: &Pods, desired: &[Object], inventory: &mut Vec<Key>) {
    let old = uids(pods).await;
    assert_eq!(old.len(), 2);
    let late = pods.list(&ListParams::default()).await.unwrap().items.remove(0);
    let name = late.metadata.name.unwrap();
    hold(pods, &name, json!(["example.com/late"])).await;
    let beside = |there: &BTreeSet<String>| assert!(there.is_subset(&old), "{there:?} beside {old:?}");
    let alone = |there: &BTreeSet<String>| {
        beside(there);
        there.len() == 1
    };
    let last = converge_until(world, pods, desired, inventory, alone).await;
    assert_eq!(last.into_iter().next(), late.metadata.uid);
    // The controllers would have had the time to create new ones.
    for _ in 0..5 {
        beside(&converge_until(world, pods, desired, inventory, |_| true).await);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    hold(pods, &name, Value::Null).await;
    let new = |there: &BTreeSet<String>| there.len() == 2 && there.is_disjoint(&old);
    converge_until(world, pods, desired, inventory, new).await;
}

// Operator.md W18: the new Pods of a workload that is recreated, or that replaces another one, wait for the old ones.
#[tokio::test(flavor = "multi_thread")]
async fn old_and_new_pods_never_run_at_the_same_time() {
    let plane = lab::ControlPlane::start().unwrap();
    tokio::task::block_in_place(|| plane.start_controllers()).unwrap();
    let world = World::on(&plane, "overlap").await;
    let (account, first, pods) = (world.of("ServiceAccount"), world.of("Deployment"), pods(&world));
    let mut inventory = world.converge(&[account.clone(), first.clone()]).await.inventory();
    deployment(&world, |live| live["status"]["replicas"] == 2).await;

    let selected = |object: &Object| {
        let object = with(object, "/spec/selector/matchLabels/k8s-app", json!("new"));
        with(&object, "/spec/template/metadata/labels/k8s-app", json!("new"))
    };
    let second = selected(&first);
    replaced(&world, &pods, &[account.clone(), second.clone()], &mut inventory).await;
    let third = with(&second, "/metadata/name", json!("another"));
    replaced(&world, &pods, &[account, third], &mut inventory).await;
    assert_eq!(world.find(first.key()).await, None);
}
