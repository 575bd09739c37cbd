//! If nothing changes, no requests are sent.

use crate::world::{World, config_map, kind};
use futures::{StreamExt, stream};
use kube::api::{DynamicObject, PostParams};
use serde_json::json;
use std::time::Duration;

/// How long no request may be sent.
const WHILE: Duration = Duration::from_secs(20);

async fn burst(world: &World, namespace: &str) {
    let api = world.api(&config_map(), namespace);
    let create = |n: usize| {
        let api = api.clone();
        async move {
            let object: DynamicObject = serde_json::from_value(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("unrelated-{n}")}, "data": {"a": "b"},
            }))
            .unwrap();
            api.create(&PostParams::default(), &object).await.unwrap();
        }
    };
    stream::iter((0..1000).map(create))
        .buffer_unordered(16)
        .collect::<Vec<_>>()
        .await;
}

/// Only watches are open, and only the lease is renewed; changes of other objects in the same namespaces cause no request.
#[tokio::test]
async fn sends_no_requests() {
    let (world, operator) = World::running("Azure").await;
    world.settled().await;
    let mark = world.mark();
    tokio::time::sleep(WHILE).await;
    let asked = |mark| {
        let all = world.requests_since(mark).into_iter();
        let all = all.filter(|entry| entry.verb != "watch");
        all.map(|entry| entry.what()).collect::<Vec<_>>()
    };
    assert_eq!(asked(mark), [""; 0]);

    let mark = world.mark();
    burst(&world, &world.namespace).await;
    burst(&world, "openshift-config").await;
    // W19: an object of the same name in another namespace is another object.
    let service = json!({"spec": {"ports": [{"port": 1}]}});
    let services = kind("Service");
    world
        .apply(&services, "openshift-config", "azure-cloud-controller-manager", service)
        .await;
    world.settled().await;
    assert_eq!(asked(mark), [""; 0]);
    assert!(operator.ended().is_none());
}
