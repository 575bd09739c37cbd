//! The swap: one image changes. What the Go program created stays as it is when ours takes over, under the same command line, and again when the Go program
//! comes back.

use crate::{
    cluster::{Cluster, Program},
    facts::snapshot,
    fixture::{self, Manager},
    services,
};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{Api, Resource, ResourceExt, api::ListParams};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// What both programs run with.
const ROUTES: [&str; 3] = [
    "--configure-cloud-routes=true",
    "--cluster-cidr=10.244.0.0/16",
    "--allocate-node-cidrs=true",
];

/// All objects of a kind, without what the API server counts, who wrote what, and the notes that are ours alone.
async fn objects<K>(api: Api<K>) -> Vec<Value>
where
    K: Resource + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let list = api.list(&ListParams::default()).await.unwrap();
    let mut all: Vec<Value> = list.items.into_iter().map(|object| json!(object)).collect();
    for object in &mut all {
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
        if let Some(notes) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            notes.retain(|key, _| !key.starts_with("outrigger.dev/"));
            if notes.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    all
}

async fn all_objects(api: &fixture::Fixture) -> Vec<Value> {
    let (services, nodes) = (
        objects::<Service>(api.services()).await,
        objects::<Node>(api.nodes()).await,
    );
    services.into_iter().chain(nodes).collect()
}

/// Another program takes over. Returns it, and the writes of its first pass.
async fn take_over(cluster: &Cluster, from: Manager, to: Program) -> (Manager, Vec<String>) {
    cluster.at_rest(&from).await;
    from.signal("TERM");
    from.exited().await;
    let (before, mark) = (all_objects(&cluster.api).await, cluster.aws.account.mark().unwrap());
    let account = snapshot(cluster).await;
    let manager = cluster.start(to, &ROUTES).await;
    let called = async || match cluster.calls_since(mark).len() {
        0 => Err("no call yet".to_owned()),
        _ => Ok(()),
    };
    manager.until("the first call", called).await;
    cluster.at_rest(&manager).await;
    let writes = cluster.calls_since(mark).into_iter().filter(|call| call.write);
    let writes: Vec<String> = writes
        .map(|call| format!("{} {}", call.action, json!(call.params)))
        .collect();
    let after = all_objects(&cluster.api).await;
    assert_eq!(before.len(), after.len(), "{to:?} created or deleted an object");
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after, "{to:?} changed an object, and wrote {writes:#?}");
    }
    for (name, object) in snapshot(cluster).await {
        assert_eq!(
            account.get(&name),
            Some(&object),
            "{to:?} changed {name}, and wrote {writes:#?}"
        );
    }
    (manager, writes)
}

#[tokio::test(flavor = "multi_thread")]
async fn swapping_the_programs_in_both_directions_changes_nothing() {
    let cluster = Cluster::new("").await;
    let manager = cluster.start(Program::Go, &ROUTES).await;
    cluster.join(&manager, 3).await;
    let all = [
        services::classic(&cluster.aws),
        services::network(&cluster.aws),
        services::foreign(),
    ]
    .concat();
    let mut names = Vec::new();
    for service in services::numbered(all) {
        names.push(cluster.api.create(service).await.name_any());
    }
    for name in names.iter().filter(|name| !name.starts_with("f-")) {
        cluster.served(&manager, name).await;
    }

    let (manager, writes) = take_over(&cluster, manager, Program::Outrigger).await;
    assert_eq!(writes, [""; 0], "{}", manager.log_tail());
    cluster.assert_valid().await;

    // The Go program writes some settings on every start; nothing is different afterwards.
    take_over(&cluster, manager, Program::Go).await;
}
