//! From an Infrastructure to running operands, and back.

use crate::{
    process_fixture::Manager,
    world::{RELEASE, World, kind},
};
use kube::api::{ListParams, Patch, PatchParams};
use rstest::rstest;
use serde_json::Value;

/// How many objects each platform has, on several machines and on one, and the two
/// `ConfigMaps` that all of these have.
#[rstest]
#[case::aws("AWS", 5)]
#[case::aws_single("AWS SingleReplica", 4)]
#[case::azure("Azure", 12)]
#[case::azure_stack("Azure/AzureStackCloud", 6)]
#[case::gcp("GCP", 7)]
#[case::ibm("IBMCloud", 3)]
#[case::powervs("PowerVS", 3)]
#[case::openstack("OpenStack", 3)]
#[case::vsphere("VSphere", 9)]
#[case::nutanix("Nutanix", 7)]
#[tokio::test]
async fn installs(#[case] platform: &str, #[case] operands: usize) {
    let world = World::new(platform).await;
    let mark = world.mark();
    let operator = world.start();
    world
        .reports(
            &operator,
            &[
                "Progressing=True SyncingResources",
                "Available=False",
                "Upgradeable=True",
            ],
        )
        .await;
    let look = async || match world.operands().await {
        found if found.len() == operands + 2 => Ok(()),
        found => Err(format!("{found:#?}")),
    };
    operator.until("all operands", look).await;
    world.settled().await;
    let writes = world.writes_since(mark);
    let of_status = writes
        .iter()
        .filter(|write| write.starts_with("update clusteroperators/status"))
        .count();
    assert!(of_status <= 2, "{writes:#?}");
    assert_eq!(
        writes.len(),
        operands + 2 + of_status + 1,
        "one write an object: {writes:#?}"
    );

    world.roll_out(9).await;
    world
        .reports(
            &operator,
            &[&available(), "Progressing=False", "Degraded=False", "Upgradeable=True"],
        )
        .await;
    world.settled().await;

    // A restart with nothing changed writes nothing.
    operator.signal("TERM");
    assert_eq!(operator.exited().await.code, 0);
    let mark = world.mark();
    let operator = world.start();
    operator.logged("acquired lease").await;
    world.settled().await;
    assert_eq!(world.writes_since(mark), [""; 0]);
}

/// The messages of the events with this reason, those of earlier worlds included, each as often as it was emitted.
async fn events(world: &World, reason: &str) -> Vec<String> {
    let api = world.api(&kind("Event"), "default");
    let found = api.list(&ListParams::default()).await.unwrap();
    let found = found.into_iter().filter(|event| event.data["reason"] == reason);
    let messages = found.flat_map(|event| {
        let times = event.data["count"].as_u64().unwrap_or(1);
        (0..times).map(move |_| event.data["message"].to_string())
    });
    messages.collect()
}

/// Waits for an event about the annotation with these words.
async fn complained(world: &World, operator: &Manager, words: &str) {
    let look = async || {
        let events = events(world, "ExternalCloudProvider").await;
        let is_reported = events.iter().any(|event| event.contains(words));
        is_reported.then_some(()).ok_or_else(|| format!("{events:#?}"))
    };
    operator.until("an event", look).await;
}

/// The conditions when everything runs.
fn available() -> String {
    format!("Available=True AsExpected Cluster Cloud Controller Manager Operator is available at {RELEASE}")
}

#[rstest]
#[case::external("External")]
#[case::none("None")]
#[case::bare_metal("BareMetal")]
#[tokio::test]
async fn installs_nothing(#[case] platform: &str) {
    let world = World::new(platform).await;
    let operator = world.start();
    world
        .reports(
            &operator,
            &[
                "Available=True",
                "Progressing=False",
                "Degraded=False",
                "Upgradeable=True",
            ],
        )
        .await;
    assert_eq!(world.operands().await, ["ConfigMap ccm-trusted-ca"]);
}

/// W18: objects that are not desired any more are deleted: with the topology, with the platform, and completely.
#[tokio::test]
async fn switches_and_removes() {
    let world = World::new("VSphere").await;
    let operator = world.start();
    world
        .roll_out_until(&operator, "PodDisruptionBudget vsphere-cloud-controller-manager")
        .await;

    world.set_platform("VSphere SingleReplica").await;
    world.gone(&operator, "PodDisruptionBudget").await;

    world.set_platform("AWS").await;
    // The garbage collector has not deleted the old Pods yet.
    let look = async || match world.conditions().await {
        conditions if conditions.contains("waits for Deployment") => Ok(()),
        conditions => Err(conditions),
    };
    operator.until("the wait for the old Pods", look).await;
    let operands = world.operands().await;
    assert!(
        !operands.contains(&"Deployment aws-cloud-controller-manager".to_owned()),
        "{operands:#?}"
    );
    world.gone(&operator, "vsphere").await;
    world.runs(&operator, "aws").await;

    let infrastructure = kind("Infrastructure");
    let annotation = "infrastructure.openshift.io/external-cloud-provider";
    world
        .edit(
            &infrastructure,
            "",
            "cluster",
            serde_json::json!({"metadata": {"annotations": {annotation: "false"}}}),
        )
        .await;
    world.gone(&operator, "aws").await;
    world.gone(&operator, "cloud-conf").await;
    // Kubernetes has no in-tree provider of AWS any more: no program does the manager's work, which is reported.
    let alone = format!(
        "{}; {annotation} is false, so the cloud controller manager is deleted; but",
        available()
    );
    world.reports(&operator, &[&alone, "Progressing=False"]).await;
    complained(&world, &operator, "new nodes stay uninitialized").await;
    operator.logged("new nodes stay uninitialized").await;
    world.settled().await;
    assert_eq!(world.operands().await, ["ConfigMap ccm-trusted-ca"]);

    world
        .edit(
            &infrastructure,
            "",
            "cluster",
            serde_json::json!({"metadata": {"annotations": {annotation: Value::Null}}}),
        )
        .await;
    world.runs(&operator, "aws").await;
    let conditions = world.conditions().await;
    assert!(!conditions.contains(annotation), "{conditions}");
}

/// An invalid value of the annotation changes nothing, and is reported.
#[tokio::test]
async fn an_unclear_annotation() {
    let (world, operator) = World::running("AWS").await;
    let annotation = "infrastructure.openshift.io/external-cloud-provider";
    let off = serde_json::json!({"metadata": {"annotations": {annotation: "off"}}});
    world.edit(&crate::world::infrastructure(), "", "cluster", off).await;
    let ignored = format!(r#"{annotation} is "off", which is neither true nor false: it is ignored"#);
    world
        .reports(&operator, &[&format!("{}; {ignored}", available())])
        .await;
    complained(&world, &operator, "neither true nor false").await;
    let deployment = "Deployment aws-cloud-controller-manager";
    assert!(world.operands().await.contains(&deployment.to_owned()));
}

/// An operator that has run for a while in a cluster whose platform is set in two steps: the first is a failure of the cloud configuration.
#[tokio::test]
async fn installs_late() {
    let world = World::without_infrastructure().await;
    let operator = world.start();
    world.reports(&operator, &["Available=True"]).await;
    world
        .set_source(r#"{"cloud": "AzurePublicCloud", "tenantId": "t"}"#)
        .await;
    let spec = serde_json::json!({"spec": {
        "cloudConfig": {"name": "cloud-provider-config", "key": ""}, "platformSpec": {"type": "Azure"},
    }});
    world.apply(&crate::world::infrastructure(), "", "cluster", spec).await;
    world.reports(&operator, &["CloudConfigControllerDegraded=True"]).await;
    world.settled().await;

    let mark = world.mark();
    world.set_platform("Azure").await;
    world.installed(&operator, 14).await;
    world.reports(&operator, &["CloudConfigControllerDegraded=False"]).await;
    world.settled().await;
    assert!(world.reports_since(mark) <= 2, "{:#?}", world.writes_since(mark));
}

/// The roll-out of many Pods, one after the other, does not cause a write for each of them.
#[tokio::test]
async fn rolls_out_without_events() {
    let world = World::new("Azure").await;
    let before = events(&world, "StatusUpgrade").await.len();
    let operator = world.start();
    world.installed(&operator, 14).await;
    world.settled().await;
    let progressing = format!(
        "Progressing=True SyncingResources Progressing towards operator: {RELEASE}: rolling out Deployment \
         {0}/azure-cloud-controller-manager, DaemonSet {0}/azure-cloud-node-manager",
        world.namespace
    );
    world.reports(&operator, &[&progressing]).await;
    let mark = world.mark();
    let daemon_sets = kind("DaemonSet");
    let api = world.api(&daemon_sets, &world.namespace);
    for updated in 0..50 {
        let status = serde_json::json!({"status": {
            "observedGeneration": 1, "currentNumberScheduled": 50, "desiredNumberScheduled": 50,
            "updatedNumberScheduled": updated, "numberAvailable": 45, "numberMisscheduled": 0, "numberReady": 45,
        }});
        let (params, patch) = (PatchParams::default(), Patch::Merge(&status));
        api.patch_status("azure-cloud-node-manager", &params, &patch)
            .await
            .unwrap();
    }
    world.settled().await;
    assert_eq!(world.writes_since(mark), [""; 0]);
    world.roll_out(9).await;
    world.reports(&operator, &["Available=True", "Progressing=False"]).await;
    world.settled().await;
    assert_eq!(world.reports_since(mark), 1, "{:#?}", world.writes_since(mark));
    assert_eq!(events(&world, "StatusUpgrade").await.len(), before + 1);
}

/// Objects of another process for the operands are deleted with them, and created again.
#[tokio::test]
async fn removes_what_config_sync_wrote() {
    let world = World::new("AWS").await;
    let sync = world.common(world.program("config-sync-controllers")).start();
    sync.leading().await;
    let operator = world.start();
    world.runs(&operator, "aws").await;
    assert!(world.operands().await.contains(&"ConfigMap cloud-conf".to_owned()));

    world.set_platform("None").await;
    world.gone(&operator, "cloud-conf").await;
    world.settled().await;
    assert_eq!(world.operands().await, ["ConfigMap ccm-trusted-ca"]);

    world.set_platform("AWS").await;
    world.runs(&operator, "aws").await;
    let annotation = "infrastructure.openshift.io/external-cloud-provider";
    let off = serde_json::json!({"metadata": {"annotations": {annotation: "false"}}});
    world.edit(&crate::world::infrastructure(), "", "cluster", off).await;
    world.gone(&operator, "cloud-conf").await;
    world.settled().await;
    assert_eq!(world.operands().await, ["ConfigMap ccm-trusted-ca"]);
}
