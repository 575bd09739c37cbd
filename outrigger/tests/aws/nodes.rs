//! Nodes of all kinds: both programs write the same on them, and delete the same ones.

use crate::{
    cluster::{Cluster, Program},
    facts::Words,
};
use k8s_openapi::api::core::v1::Node;
use kube::{ResourceExt, api::ListParams};
use lab::aws::Instance;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where ours differs on purpose, and why.
const DIFFERENCES: [(&str, &str); 1] = [(
    "with an ID of another cloud",
    "the manager of that cloud initialises it; the Go program reads an instance out of any ID",
)];

/// What the kubelet of an instance reports, in the words of [`testkit::node::node`].
struct Kubelet {
    /// What it is about, in failures.
    what: &'static str,
    /// The Node's name.
    name: String,
    words: String,
    /// Whether the Node is initialised in the end.
    ends: Ends,
}

/// What becomes of a Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Initialised,
    Tainted,
    Deleted,
}

/// Instances of all kinds and their kubelets, in the same order in every account: private addresses follow it.
async fn boot(cluster: &Cluster) -> Vec<Kubelet> {
    let mut all = Vec::new();
    let mut add = |what, name: &str, words: &str, ends| {
        all.push(Kubelet {
            what,
            name: name.to_owned(),
            words: format!("tainted {words}"),
            ends,
        });
    };
    let plain: Vec<Instance> = cluster.aws.boot(0, "t3.medium", 12).await.unwrap();
    let placed = cluster.aws.boot(1, "p4d.24xlarge", 1).await.unwrap().remove(0);
    let elsewhere = cluster.aws.boot(2, "m5.large", 1).await.unwrap().remove(0);
    let ready = "ready:True";
    add("by name", &plain[0].name, ready, Ends::Initialised);
    let id = |n: usize| &plain[n].id;
    add(
        "by ID",
        &plain[1].name,
        &format!("{ready} id:aws:///us-east-1a/{}", id(1)),
        Ends::Initialised,
    );
    add(
        "by an ID without a zone",
        &plain[2].name,
        &format!("{ready} id:aws:///{}", id(2)),
        Ends::Initialised,
    );
    add(
        "by an ID without a scheme",
        &plain[3].name,
        &format!("{ready} id:{}", id(3)),
        Ends::Initialised,
    );
    add(
        "by an ID with another zone",
        &plain[4].name,
        &format!("{ready} id:aws:///us-east-1c/{}", id(4)),
        Ends::Initialised,
    );
    add(
        "named after its ID",
        &format!("{}.ec2.internal", id(5)),
        ready,
        Ends::Initialised,
    );
    add(
        "labelled before",
        &plain[6].name,
        &format!(
            "{ready} topology.kubernetes.io/zone=mine beta.kubernetes.io/instance-type=mine topology.k8s.aws/zone-id=mine"
        ),
        Ends::Initialised,
    );
    add(
        "with an address of its own",
        &plain[7].name,
        &format!("{ready} Hostname=host.lab InternalIP=10.9.9.9"),
        Ends::Initialised,
    );
    add("stopped", &plain[8].name, "ready:Unknown", Ends::Initialised);
    add(
        "terminated",
        &plain[9].name,
        &format!("ready:Unknown id:aws:///us-east-1a/{}", id(9)),
        Ends::Deleted,
    );
    add("with a name of its own", "nobody.lab", ready, Ends::Tainted);
    add(
        "with a name of its own, not ready",
        "gone.lab",
        "ready:Unknown",
        Ends::Deleted,
    );
    add(
        "with an ID of another cloud",
        &plain[10].name,
        &format!("{ready} id:gce://p/z/{}", id(10)),
        Ends::Tainted,
    );
    add("in a placed type", &placed.name, ready, Ends::Initialised);
    add("in another zone", &elsewhere.name, ready, Ends::Initialised);
    cluster.aws.stop(&plain[8].id).await.unwrap();
    cluster.aws.terminate(&plain[9].id).await.unwrap();
    all
}

/// What both programs write on a Node. Ours also reports why one is not initialised, in a condition and an event.
fn written(node: &Node, words: &Words) -> Value {
    let (metadata, spec, status) = (json!(node.metadata), json!(node.spec), json!(node.status));
    let facts = json!([
        metadata["labels"],
        metadata["annotations"],
        spec["providerID"],
        spec["taints"],
        status["addresses"],
    ]);
    serde_json::from_str(&words.instead(&facts.to_string())).unwrap()
}

/// What stands on every Node in the end, by what it is about.
async fn end_state(program: Program) -> BTreeMap<&'static str, Value> {
    let cluster = Cluster::new("").await;
    let kubelets = boot(&cluster).await;
    let manager = cluster
        .start(program, &["--node-deletion-grace-period=0s"][..flags(program)])
        .await;
    for Kubelet { name, words, .. } in &kubelets {
        cluster.register(name, words).await;
    }
    for Kubelet { name, ends, .. } in &kubelets {
        match ends {
            Ends::Initialised => drop(cluster.api.initialised(&manager, name).await),
            Ends::Deleted => cluster.api.node_gone(&manager, name).await,
            Ends::Tainted => {}
        }
    }
    cluster
        .api
        .node_until(&manager, &kubelets[8].name, "tainted as shut down", |node| {
            json!(node.spec)["taints"]
                .to_string()
                .contains("node.cloudprovider.kubernetes.io/shutdown")
        })
        .await;
    cluster.assert_valid().await;
    let words = Words::of(&cluster).await;
    let nodes = cluster.api.nodes().list(&ListParams::default()).await.unwrap();
    let find = |kubelet: &Kubelet| nodes.items.iter().find(|node| node.name_any() == kubelet.name);
    let fact = |kubelet: &Kubelet| {
        (
            kubelet.what,
            find(kubelet).map_or(Value::Null, |node| written(node, &words)),
        )
    };
    kubelets.iter().map(fact).collect()
}

/// The grace period is a flag of ours: the Go program deletes at once.
fn flags(program: Program) -> usize {
    usize::from(program == Program::Outrigger)
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_alike() {
    let (theirs, ours) = tokio::join!(end_state(Program::Go), end_state(Program::Outrigger));
    let differs = |what: &&&str| theirs[**what] != ours[**what];
    let different: Vec<&str> = theirs.keys().filter(differs).copied().collect();
    let listed: Vec<&str> = DIFFERENCES.iter().map(|(what, _)| *what).collect();
    let show = |what: &&str| format!("{what}:\n  ours   {}\n  theirs {}\n", ours[*what], theirs[*what]);
    assert_eq!(different, listed, "{}", different.iter().map(show).collect::<String>());
}
