//! Managers are run, changed and removed.

use super::cluster::{Cluster, IMAGES, scope};
use crate::world::deployment;
use kube::api::{Patch, PatchParams};
use serde_json::json;

#[tokio::test]
async fn runs_a_manager_and_removes_it() {
    let world = Cluster::new().await;
    world.manager("lab", json!({"provider": "memory"})).await;
    let operator = world.start();
    let progressing = ["Progressing=True RollingOut", "Available=False", "Degraded=False"];
    world.reports(&operator, "lab", &progressing).await;
    world.installed(&operator, "lab").await;
    let related = world.related("lab").await;
    for operand in [
        "deployments lab-cloud-controller-manager",
        "poddisruptionbudgets lab-cloud-controller-manager",
        "secrets lab-cloud-controller-manager-serving-cert",
        "servicemonitors lab-cloud-controller-manager",
        "prometheusrules lab-cloud-controller-manager",
    ] {
        assert!(
            related.iter().any(|each| each == operand),
            "{operand} is not in {related:#?}"
        );
    }

    // A restart writes nothing.
    world.settled().await;
    operator.signal("TERM");
    assert_eq!(operator.exited().await.code, 0);
    let mark = world.mark();
    let operator = world.start();
    operator.logged("acquired lease").await;
    world.settled().await;
    assert_eq!(world.writes_since(mark), [""; 0]);

    // Damage by a user is repaired.
    let api = world.api(&deployment(), &world.namespace);
    let edit = json!({"spec": {"replicas": 7}});
    let name = "lab-cloud-controller-manager";
    api.patch(name, &PatchParams::default(), &Patch::Merge(&edit))
        .await
        .unwrap();
    let reverted = async || {
        let live = api.get(name).await.unwrap();
        let replicas = live.data["spec"]["replicas"].as_i64();
        if replicas == Some(2) {
            Ok(())
        } else {
            Err(format!("{replicas:?} replicas"))
        }
    };
    operator.until("two replicas again", reverted).await;

    world
        .manager("lab", json!({"provider": "memory", "managementState": "Removed"}))
        .await;
    world.removed(&operator, "lab").await;
    world
        .reports(&operator, "lab", &["Available=False Removed", "Progressing=False"])
        .await;
    assert!(api.get_opt(name).await.unwrap().is_none());
}

#[tokio::test]
async fn two_managers_do_not_interfere() {
    let world = Cluster::new().await;
    world.manager("older", json!({"provider": "memory"})).await;
    // Of two that were created within one second the first by name counts as the older one.
    world
        .manager("younger", json!({"provider": "memory", "securePort": 10300}))
        .await;
    let operator = world.start();
    world.installed(&operator, "older").await;
    world
        .reports(
            &operator,
            "younger",
            &["Degraded=True ScopeOverlap", "Available=False ScopeOverlap"],
        )
        .await;
    assert_eq!(world.related("younger").await, [""; 0]);

    world
        .manager("older", json!({"provider": "memory", "scope": scope("a")}))
        .await;
    world.installed(&operator, "older").await;
    world
        .manager(
            "younger",
            json!({"provider": "memory", "securePort": 10300, "scope": scope("b")}),
        )
        .await;
    world.installed(&operator, "younger").await;
}

/// Mistakes are reported in the resource, and the report ends after a correction.
#[tokio::test]
async fn says_what_is_wrong() {
    let world = Cluster::new().await;
    world.folder.write("images.json", "{}");
    world
        .manager("lab", json!({"provider": "memory", "scope": scope("a")}))
        .await;
    world
        .manager(
            "cloud",
            json!({"provider": "openstack", "securePort": 10300, "scope": scope("b")}),
        )
        .await;
    let operator = world.start();
    world.reports(&operator, "lab", &["Degraded=True NoImage"]).await;
    world.folder.write("images.json", IMAGES);
    world
        .reports(&operator, "lab", &["Degraded=False", "Progressing=True"])
        .await;
    world.reports(&operator, "cloud", &["Degraded=True"]).await;
    let spec = json!({"provider": "memory", "scope": scope("a"), "extraArgs": ["--profilin"]});
    world.manager("lab", spec).await;
    let complaint = "Degraded=True InvalidSpec spec.extraArgs: the manager has no flag --profilin";
    world.reports(&operator, "lab", &[complaint]).await;
    world.unmanage("cloud").await;
    world.settled().await;
    assert!(operator.ended().is_none(), "{}", operator.log_tail());
}

/// Another image in images.json is rolled out although nothing in the cluster has changed.
#[tokio::test]
async fn follows_its_file() {
    let (world, operator) = Cluster::running().await;
    world.settled().await;
    world
        .folder
        .write("images.json", &IMAGES.replace("outrigger:1", "outrigger:2"));
    let look = async || {
        let live = world.deployment("lab").await.unwrap_or_default();
        let image = live["spec"]["template"]["spec"]["containers"][0]["image"].clone();
        if image == "registry.lab/outrigger:2" {
            Ok(())
        } else {
            Err(image.to_string())
        }
    };
    operator.until("the new image", look).await;
}
