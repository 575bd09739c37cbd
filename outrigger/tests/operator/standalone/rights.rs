//! With exactly what `deploy/kubernetes/operator.yaml` grants: everything works, nothing is denied, and nothing is granted that is never used.

use super::cluster::{Cluster, scope};
use crate::{
    objects::{deployment, kind},
    rig::{Entry, Manager, Mark},
    rights::{hand_over, refused, unused},
};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const MANIFEST: &str = include_str!("../../../../deploy/kubernetes/operator.yaml");
/// The namespace in the manifest.
const NAMESPACE: &str = "outrigger-system";
/// What is granted for another reason than that the operator does it in this test.
const REASONS: [(&str, &str); 3] = [
    ("tokenreviews", "asked for whoever reads the metrics"),
    ("subjectaccessreviews", "asked for whoever reads the metrics"),
    ("bind ", "no request of its own: it is looked at when a binding is made"),
];

/// At its start it asks whether this is `OpenShift`; a refusal is as good an answer as any.
const PLATFORM: [&str; 2] = ["get apiservers /cluster", "get infrastructures /cluster"];

/// The manifest, for the namespace of this cluster.
fn manifest(world: &Cluster) -> String {
    MANIFEST.replace(NAMESPACE, &world.namespace)
}

/// Applies the rights in the manifest.
async fn grant(world: &Cluster) {
    let rbac = |name: &str| {
        kind(
            "rbac.authorization.k8s.io",
            "v1",
            name,
            &format!("{}s", name.to_lowercase()),
        )
    };
    for object in serde_saphyr::from_multiple::<Value>(&manifest(world)).unwrap() {
        let text = |pointer: &str| {
            let found = object.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        if text("/apiVersion").starts_with("rbac.") {
            let (kind, name, namespace) = (text("/kind"), text("/metadata/name"), text("/metadata/namespace"));
            world.apply(&rbac(&kind), &namespace, &name, object).await;
        }
    }
}

fn user(world: &Cluster) -> String {
    format!("system:serviceaccount:{}:outrigger-operator", world.namespace)
}

fn start(world: &Cluster) -> Manager {
    let group = format!("system:serviceaccounts:{}", world.namespace);
    let kubeconfig = world
        .plane()
        .kubeconfig_for(&user(world), &["system:serviceaccounts", &group]);
    world.operator_as(&kubeconfig).start()
}

/// What the operator's account asked.
fn asked(world: &Cluster, mark: Mark) -> Vec<Entry> {
    let all = mark.read(&world.plane().audit_log()).into_iter();
    all.filter(|entry| entry.user == user(world)).collect()
}

fn denied(world: &Cluster, mark: Mark) -> BTreeSet<String> {
    let all = refused(asked(world, mark));
    all.filter(|denied| !PLATFORM.contains(&denied.as_str())).collect()
}

/// Nobody grants these to the operator for its own sake: managers' roles pass them on, or managers have them.
fn is_passed_on(namespace: &str, resources: &[String], _: &[String], _: &[String]) -> bool {
    let of_managers = ["nodes", "nodes/status", "services", "services/status"];
    namespace.is_empty()
        && resources
            .iter()
            .all(|resource| of_managers.contains(&resource.as_str()))
}

/// The life of a manager: made, changed, damaged, failing, removed.
#[tokio::test]
async fn nothing_is_denied_and_nothing_is_too_much() {
    let world = Cluster::new().await;
    grant(&world).await;
    let mark = world.mark();
    world.config("cloud", "{}").await;
    let map = json!({"configMap": {"name": "cloud"}});
    let spec = json!({"provider": "memory", "cloudConfig": map, "scope": scope("west")});
    world.manager("lab", spec.clone()).await;
    let operator = start(&world);
    world.installed(&operator, "lab").await;

    // Every operand is written anew, and every one is deleted in the end.
    let mut other = spec.clone();
    other["provider"] = json!("openstack");
    world.manager("lab", other.clone()).await;
    world.installed(&operator, "lab").await;

    // Why nothing runs is asked of the Pods.
    let api = world.api(&deployment(), &world.namespace);
    let none = json!({"status": {"readyReplicas": 0, "availableReplicas": 0}});
    let name = "lab-cloud-controller-manager";
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(&none))
        .await
        .unwrap();
    let why = format!(
        "Available=False NothingRuns Deployment {}/{name}: 0 of 2 Pods available",
        world.namespace
    );
    world.says(&operator, "lab", &[why.as_str(), "Degraded=False"]).await;
    api.delete(name, &DeleteParams::background()).await.unwrap();
    world.says(&operator, "lab", &["Progressing=True RollingOut"]).await;

    let standby = start(&world);
    hand_over(operator, &standby, || asked(&world, mark)).await;

    other["managementState"] = json!("Removed");
    world.manager("lab", other).await;
    world.removed(&standby, "lab").await;
    world.settled().await;
    let denied = denied(&world, mark);
    assert!(denied.is_empty(), "{denied:#?}{}", standby.told());
    let unused = unused(&manifest(&world), &asked(&world, mark), &REASONS, is_passed_on);
    assert!(unused.is_empty(), "granted and never used: {unused:#?}");
}
