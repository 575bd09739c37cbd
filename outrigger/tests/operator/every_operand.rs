//! A user edits and deletes each operand in turn, on `OpenShift` and standalone.

use crate::{
    fixture::Place,
    flavour::{Flavour, Managed},
    objects::{MINE, MINE_ENCODED},
    process_fixture::{Manager, Mark},
};
use rstest::rstest;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The edit of a user for an object of this kind with these labels.
fn damage(kind: &str, labels: &Value) -> Value {
    let label = ["k8s-app", "app.kubernetes.io/name"]
        .into_iter()
        .find(|label| labels.get(label).is_some());
    let labels = json!({"labels": label.map(|label| BTreeMap::from([(label, MINE)])).unwrap_or_default()});
    match kind {
        "ConfigMap" => json!({"data": {"cloud.conf": MINE, "ca-bundle.crt": MINE, "ca.crt": MINE}}),
        "Secret" => json!({"data": {"tls.crt": MINE_ENCODED, "tls.key": MINE_ENCODED}}),
        "Deployment" => json!({
            "metadata": labels,
            "spec": {"replicas": 7, "template": {"spec": {"serviceAccountName": MINE}}},
        }),
        // W28: of a DaemonSet only the labels.
        "DaemonSet" => json!({"metadata": labels}),
        // W17: the ports of a Service.
        "Service" => json!({"spec": {"ports": [{"name": "https", "port": 4444, "targetPort": 4444}]}}),
        "ServiceAccount" => json!({"automountServiceAccountToken": true}),
        "PodDisruptionBudget" => json!({"spec": {"minAvailable": 0, "maxUnavailable": null}}),
        "Role" | "ClusterRole" => json!({"rules": []}),
        "RoleBinding" | "ClusterRoleBinding" => json!({"subjects": []}),
        "ServiceMonitor" => json!({"spec": {"endpoints": [{"port": MINE}]}}),
        "PrometheusRule" => json!({"spec": {"groups": [{"name": MINE, "rules": []}]}}),
        "ValidatingAdmissionPolicy" => json!({"spec": {"failurePolicy": "Ignore"}}),
        "ValidatingAdmissionPolicyBinding" => json!({"spec": {"validationActions": ["Audit"]}}),
        other => panic!("the test cannot damage a {other}"),
    }
}

/// Waits until an operand is restored, without the user's edit.
async fn restored(world: &Managed, operator: &Manager, place: &Place, expected: &Value) {
    let title = place.title();
    let look = async || {
        let live = world.api(&place.resource, &place.namespace).get_opt(&place.name).await;
        let content = live.unwrap().map(|live| live.data.to_string()).unwrap_or_default();
        let is_damaged = [MINE, MINE_ENCODED].iter().any(|text| content.contains(text));
        match world.snapshot().await.get(&title) {
            Some(found) if found == expected && !is_damaged => Ok(()),
            found => Err(format!("{found:#?} instead of {expected:#}")),
        }
    };
    operator.until(&format!("{title} as before"), look).await;
}

/// No object was written more than three times; reports do not count.
fn assert_few_writes(world: &Managed, mark: Mark, what: &str) {
    let writes = world.writes_since(mark);
    let is_report = |write: &str| write.contains("clusteroperators") || write.contains("cloudcontrollermanagers");
    let mut counted = BTreeMap::<_, usize>::new();
    for write in writes.iter().filter(|write| !is_report(write)) {
        *counted.entry(write).or_default() += 1;
    }
    assert!(counted.values().all(|times| *times <= 3), "{what}: {writes:#?}");
}

/// W17, W28: each operand in turn is edited and deleted. The operator reverts its own fields, keeps the user's
/// label, and does not write repeatedly.
#[rstest]
#[case::azure(Flavour::OpenShift("Azure"), 11, 0)]
#[ignore = "has the kinds of the others: make test-full runs it"]
#[case::azure_stack_hub(Flavour::OpenShift("Azure/AzureStackCloud"), 7, 0)]
#[case::vsphere(Flavour::OpenShift("VSphere"), 8, 0)]
#[ignore = "has the kinds of the others: make test-full runs it"]
#[case::gcp(Flavour::OpenShift("GCP"), 8, 0)]
#[case::aws(Flavour::OpenShift("AWS"), 6, 0)]
#[ignore = "has the kinds of the others: make test-full runs it"]
#[case::ibm(Flavour::OpenShift("IBMCloud"), 4, 0)]
#[ignore = "has the kinds of the others: make test-full runs it"]
#[case::powervs(Flavour::OpenShift("PowerVS"), 4, 0)]
#[ignore = "has the kinds of the others: make test-full runs it"]
#[case::nutanix(Flavour::OpenShift("Nutanix"), 8, 0)]
#[case::openstack(Flavour::OpenShift("OpenStack"), 5, 2)]
#[case::standalone(Flavour::Standalone, 11, 2)]
#[tokio::test]
async fn w17_w28_every_operand(#[case] flavour: Flavour, #[case] kinds: usize, #[case] secrets: usize) {
    let world = flavour.cluster().await;
    if let Managed::OpenShift(world, _) = &world {
        // Our own manager on OpenStack: with the Secrets of its certificate.
        world.prefer_our_own();
    }
    let operator = world.operator().start();
    world.rolled_out(&operator).await;
    world.settled().await;
    let (snapshot, places) = (world.snapshot().await, world.places().await);
    let found: BTreeSet<_> = places.iter().map(|place| place.resource.kind.as_str()).collect();
    assert_eq!(found.len(), kinds, "{found:?}");
    assert_eq!(places.iter().filter(|place| place.is("Secret")).count(), secrets);
    for place in &places {
        let Place {
            resource,
            namespace,
            name,
        } = place;
        let (before, mark) = (&snapshot[&place.title()], world.mark());
        let mut patch = damage(&resource.kind, &before["metadata"]["labels"]);
        patch["metadata"]["labels"]["user"] = json!("kept");
        world.edit(resource, namespace, name, patch).await;
        let mut expected = before.clone();
        expected["metadata"]["labels"]["user"] = json!("kept");
        restored(&world, &operator, place, &expected).await;

        world.delete(resource, namespace, name).await;
        restored(&world, &operator, place, before).await;
        assert_few_writes(&world, mark, &place.title());
    }
    world.settled().await;
    world.rolled_out(&operator).await;
    world.settled().await;
    let mark = world.mark();
    world.settled().await;
    assert_eq!(world.writes_since(mark), [""; 0]);
    assert_eq!(world.snapshot().await, snapshot);
}
