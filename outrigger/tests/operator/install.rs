//! From an Infrastructure to operands that run, and back.

use crate::world::{RELEASE, World, kind};
use rstest::rstest;
use serde_json::Value;

/// operator-observed.md §2.4: how many objects each platform has, on several machines and on one, and the two
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
        .says(
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
    let available =
        format!("Available=True AsExpected Cluster Cloud Controller Manager Operator is available at {RELEASE}");
    world
        .says(
            &operator,
            &[&available, "Progressing=False", "Degraded=False", "Upgradeable=True"],
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

#[rstest]
#[case::external("External")]
#[case::none("None")]
#[case::bare_metal("BareMetal")]
#[tokio::test]
async fn installs_nothing(#[case] platform: &str) {
    let world = World::new(platform).await;
    let operator = world.start();
    world
        .says(
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

/// W18: what is not wanted any more goes: with the topology, with the platform, and altogether.
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
    // The garbage collector has not seen to the old Pods yet.
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
    world
        .roll_out_until(&operator, "Deployment aws-cloud-controller-manager")
        .await;

    let infrastructure = kind("config.openshift.io", "v1", "Infrastructure", "infrastructures");
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
    world.says(&operator, &["Available=True", "Progressing=False"]).await;
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
    world
        .roll_out_until(&operator, "Deployment aws-cloud-controller-manager")
        .await;
}

/// What another process writes for the operands goes with them, and comes back.
#[tokio::test]
async fn removes_what_config_sync_wrote() {
    let world = World::new("AWS").await;
    let sync = world.common(world.program("config-sync-controllers")).start();
    sync.leading().await;
    let operator = world.start();
    let deployment = "Deployment aws-cloud-controller-manager";
    world.roll_out_until(&operator, deployment).await;
    assert!(world.operands().await.contains(&"ConfigMap cloud-conf".to_owned()));

    world.set_platform("None").await;
    world.gone(&operator, "cloud-conf").await;
    world.settled().await;
    assert_eq!(world.operands().await, ["ConfigMap ccm-trusted-ca"]);

    world.set_platform("AWS").await;
    world.roll_out_until(&operator, deployment).await;
    let annotation = "infrastructure.openshift.io/external-cloud-provider";
    let off = serde_json::json!({"metadata": {"annotations": {annotation: "false"}}});
    world.edit(&crate::world::infrastructure(), "", "cluster", off).await;
    world.gone(&operator, "cloud-conf").await;
    world.settled().await;
    assert_eq!(world.operands().await, ["ConfigMap ccm-trusted-ca"]);
}
