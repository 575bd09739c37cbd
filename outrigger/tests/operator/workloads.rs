//! Simulates the controllers of workloads and the garbage collector, which these clusters lack.

use crate::objects::{self, kind};
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

/// Every Deployment and `DaemonSet` of a namespace.
async fn all(client: &Client, namespace: &str) -> Vec<(Api<DynamicObject>, DynamicObject)> {
    let mut found = Vec::new();
    for name in ["Deployment", "DaemonSet"] {
        let api = objects::api(client, &kind(name), namespace);
        let list = api.list(&ListParams::default()).await.unwrap();
        found.extend(list.into_iter().map(|object| (api.clone(), object)));
    }
    found
}

/// Sets the status of all of them as their controllers would: so many of their Pods are available.
pub async fn roll_out(client: &Client, namespace: &str, available: i64) {
    for (api, object) in all(client, namespace).await {
        let (generation, name) = (object.metadata.generation, object.metadata.name.unwrap());
        let replicas = object.data["spec"]["replicas"].as_i64().unwrap_or(3);
        let running = available.min(replicas);
        let status = json!({"status": {
            "observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas,
            "readyReplicas": running, "availableReplicas": running, "unavailableReplicas": replicas - running,
            "conditions": [
                {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": ""},
            ],
            "currentNumberScheduled": 3, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3,
            "numberMisscheduled": 0, "numberReady": available.min(3), "numberAvailable": available.min(3),
        }});
        let patched = api
            .patch_status(&name, &PatchParams::default(), &Patch::Merge(&status))
            .await;
        unless_gone(&api, &name, patched).await;
    }
}

/// Deletes objects that wait for their Pods.
pub async fn collect_garbage(client: &Client, namespace: &str) {
    let none: Value = json!({"metadata": {"finalizers": null}});
    for (api, object) in all(client, namespace).await {
        if object.metadata.deletion_timestamp.is_some() {
            let name = object.metadata.name.unwrap();
            let patched = api.patch(&name, &PatchParams::default(), &Patch::Merge(&none)).await;
            unless_gone(&api, &name, patched).await;
        }
    }
}

/// The operator may be faster.
async fn unless_gone(api: &Api<DynamicObject>, name: &str, patched: kube::Result<DynamicObject>) {
    assert!(
        patched.is_ok() || api.get_opt(name).await.unwrap().is_none(),
        "{name}: {patched:?}"
    );
}
