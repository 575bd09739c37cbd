//! Twins: the same Services in equal accounts, served by the Go program in one and by ours in the other. What a user and the owner of the account see is the same
//! when they are created, changed and deleted, and when Nodes come and go; each difference is listed with its reason.

use crate::{
    cluster::{Cluster, Program},
    facts::{Words, snapshot},
    services,
};
use kube::{
    ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

type Snapshot = BTreeMap<String, Value>;

/// Where ours differs on purpose: the object, and why.
const DIFFERENCES: [(&str, &str); 0] = [];

/// The cluster and its account at the end of each chapter: created, changed, with other Nodes.
async fn phases(program: Program) -> [Snapshot; 3] {
    let cluster = Cluster::new("").await;
    let manager = cluster.start(program, &[]).await;
    let nodes = cluster.join(&manager, 3).await;
    let all = [
        services::classic(&cluster.aws),
        services::network(&cluster.aws),
        services::foreign(),
    ]
    .concat();
    for service in services::numbered(all) {
        cluster.api.create(service).await;
    }
    cluster.at_rest(&manager).await;
    let created = seen(&cluster).await;

    let api = cluster.api.services();
    for (name, change) in services::changes() {
        let patched = api.patch(name, &PatchParams::default(), &Patch::Merge(change)).await;
        assert!(patched.is_ok(), "cannot change {name}: {patched:?}");
    }
    for name in services::DELETED {
        cluster.api.end(&manager, name).await;
    }
    cluster.at_rest(&manager).await;
    let changed = seen(&cluster).await;

    let late = cluster.aws.boot(0, "t3.medium", 1).await.unwrap().remove(0);
    cluster.register(&late.name, "tainted ready:True").await;
    cluster.api.initialised(&manager, &late.name).await;
    cluster
        .api
        .nodes()
        .delete(&nodes[1].name, &DeleteParams::default())
        .await
        .unwrap();
    cluster.at_rest(&manager).await;
    let moved = seen(&cluster).await;
    cluster.assert_valid().await;
    [created, changed, moved]
}

/// Everything in the account, and what stands on the Services.
async fn seen(cluster: &Cluster) -> Snapshot {
    let mut all = snapshot(cluster).await;
    let words = Words::of(cluster).await;
    for service in cluster.api.services().list(&ListParams::default()).await.unwrap() {
        let facts = json!([service.finalizers(), json!(service.status)["loadBalancer"]]);
        let text = words.instead(&facts.to_string());
        all.insert(
            format!("Service {}", service.name_any()),
            serde_json::from_str(&text).unwrap(),
        );
    }
    all
}

/// Where ours is different, an object a line.
fn differences(theirs: &Snapshot, ours: &Snapshot) -> Vec<String> {
    let names: std::collections::BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
    let differs = |name: &&&String| theirs.get(**name) != ours.get(**name);
    let is_listed = |name: &&String| DIFFERENCES.iter().any(|(object, _)| name.contains(object));
    let show = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
    let found = names.iter().filter(differs).filter(|name| !is_listed(name));
    found
        .map(|name| {
            format!(
                "{name}:\n  ours   {}\n  theirs {}",
                show(ours.get(*name)),
                show(theirs.get(*name))
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_programs_end_in_the_same_state() {
    let (theirs, ours) = tokio::join!(phases(Program::Go), phases(Program::Outrigger));
    for (chapter, (theirs, ours)) in ["created", "changed", "moved"].iter().zip(theirs.iter().zip(&ours)) {
        let found = differences(theirs, ours);
        assert!(
            found.is_empty(),
            "{chapter}: {} differ\n{}",
            found.len(),
            found.join("\n")
        );
    }
}
