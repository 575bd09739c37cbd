//! With the controllers of the cluster at work on the same objects.

use crate::world::{World, assert_all, keys, outcomes};
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams},
};
use operator::operands::{
    Ask, Outcome,
    health::{Rollout, State, health, rollout},
};
use serde_json::{Value, json};
use std::time::Duration;

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

/// Looks at the Deployment until it is as expected.
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
    tokio::time::timeout(Duration::from_mins(1), wait)
        .await
        .expect("the controllers do their work")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_controllers_write_is_no_drift_and_pods_are_waited_for() {
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

    // operator.md W4: rolled out, and dead since.
    set_ready(&pods, "False").await;
    let live = deployment(&world, |live| health(&key, Some(live), &[]).available == 0).await;
    assert_eq!(health(&key, Some(&live), &[]).state, State::Unavailable);

    assert_all(&world.converge(&everything).await, &Outcome::Kept);
    assert_eq!(world.writes(), writes);

    let engine = world.engine().patience(Duration::from_secs(30));
    let report = engine.remove_all(&keys(&everything), &Ask).await;
    assert!(report.is_complete(), "{:?}", outcomes(&report));
    assert!(pods.list(&ListParams::default()).await.unwrap().items.is_empty());
    let deleted: Vec<_> = world.writes().split_off(writes.len());
    assert_eq!(
        deleted.len(),
        everything.len() - 1,
        "all but the namespace: {deleted:#?}"
    );
}
