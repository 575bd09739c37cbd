//! A release on `OpenShift`: installed from its manifests, upgraded, on another cloud and back, and finally without one.

mod removal;
mod switch;

pub use removal::story as removal;
pub use switch::story as switch;

use crate::{
    cloud::OpenStack,
    fixture::{ETC, Fixture, related, root},
    history::{History, State, assert_versions_after_the_roll_out},
    stand_in,
};
use kube::api::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

const OPERATOR: &str = "openshift-cloud-controller-manager-operator";
const OPERANDS: &str = "openshift-cloud-controller-manager";
const CLUSTER_OPERATOR: &str = "/apis/config.openshift.io/v1/clusteroperators/cloud-controller-manager";
const INFRASTRUCTURE: &str = "/apis/config.openshift.io/v1/infrastructures/cluster";
const OPERATOR_LABEL: &str = "k8s-app%3Dcloud-manager-operator";
/// The image and the version in the manifests: a release replaces them.
const OPERATOR_IMAGE: &str = "quay.io/openshift/origin-cluster-cloud-controller-manager-operator";
const IMAGES: &str = "images.json: |\n    {\n";
const VERSION: &str = "0.0.1-snapshot";
/// Not served here: its definition is in no module of the registry. The image stream of `image-references` is for the release only.
const LEFT_OUT: &str = "CredentialsRequest";

/// A release: its version and its image.
struct Release(&'static str, &'static str);

const FIRST: Release = Release("5.0.0", "localhost/outrigger:5.0.0");
const SECOND: Release = Release("5.0.1", "localhost/outrigger:5.0.1");

/// Installs and upgrades.
pub async fn story(fixture: &Fixture, cloud: &OpenStack) -> History {
    create_cluster_objects(fixture, cloud).await;
    for Release(_, image) in [FIRST, SECOND] {
        fixture.import(image);
    }
    fixture.assert_uninitialised(fixture.machine()).await;
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "ClusterOperator");
    let history = History::begin(fixture, &ApiResource::from_gvk(&kind), "cloud-controller-manager").await;

    apply(fixture, &FIRST);
    fixture.pod(OPERATOR, OPERATOR_LABEL, FIRST.1).await;
    let operand = fixture.pod(OPERANDS, &labels("openstack"), FIRST.1).await;
    let command = operand["spec"]["containers"][0]["command"].to_string();
    assert!(
        command.contains("exec /usr/bin/openstack-cloud-controller-manager"),
        "{command}"
    );
    fixture.initialised(&cloud.provider_id()).await;
    let states = reports(fixture, &history, &FIRST).await;
    assert!(states.iter().any(|state| state.version.is_empty()), "{states:#?}");

    apply(fixture, &SECOND);
    let states = reports(fixture, &history, &SECOND).await;
    // A kubelet may give the new images to the operator of the first release before that is replaced: then it rolls them out and
    // reports it, and the second operator has nothing to do.
    let towards = format!("True SyncingResources Progressing towards operator: {}", SECOND.0);
    let by_the_first = format!("True AsExpected rolling out Deployment {OPERANDS}/openstack-cloud-controller-manager");
    progressed(&states, &[&towards, &by_the_first]);
    let deployment = fixture.find(&deployment("openstack")).await.unwrap();
    assert_eq!(
        deployment["spec"]["template"]["spec"]["containers"][0]["image"],
        SECOND.1
    );
    assert_eq!(deployment["status"]["updatedReplicas"], 1, "{}", deployment["status"]);
    assert_eq!(deployment["status"]["availableReplicas"], 1, "{}", deployment["status"]);
    fixture.pod(OPERANDS, &labels("openstack"), SECOND.1).await;
    history
}

/// The selector of the Pods of a cloud's manager.
fn labels(cloud: &str) -> String {
    format!("k8s-app%3D{cloud}-cloud-controller-manager")
}

/// Those Pods.
fn pods(cloud: &str) -> String {
    format!("/api/v1/namespaces/{OPERANDS}/pods?labelSelector={}", labels(cloud))
}

/// The Deployment of a cloud's manager.
fn deployment(cloud: &str) -> String {
    format!("/apis/apps/v1/namespaces/{OPERANDS}/deployments/{cloud}-cloud-controller-manager")
}

/// The objects that the operator lists.
async fn made(fixture: &Fixture) -> Vec<String> {
    related(&fixture.find(CLUSTER_OPERATOR).await.unwrap())
}

/// The objects of a cluster before the operator is installed.
async fn create_cluster_objects(fixture: &Fixture, cloud: &OpenStack) {
    fixture.cluster.plane.install_openshift_crds().await.unwrap();
    let namespaces = [
        "openshift-config",
        "openshift-config-managed",
        "openshift-monitoring",
        OPERANDS,
    ];
    fixture.apply(&namespaces.map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})));
    let config = |kind: &str, spec: Value| json!({"apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": {"name": "cluster"}, "spec": spec});
    let network = json!({"serviceNetwork": ["172.30.0.0/16"], "clusterNetwork": [], "networkType": "OVNKubernetes"});
    let reference = json!({"cloudConfig": {"name": "cloud-provider-config", "key": "config"}, "platformSpec": {"type": "OpenStack"}});
    fixture.apply(&[
        config("FeatureGate", json!({})),
        config("Network", network),
        config("Proxy", json!({"trustedCA": {"name": ""}})),
        config("APIServer", json!({})),
        config("Infrastructure", reference),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cloud-provider-config", "namespace": "openshift-config"},
               "data": {"config": OpenStack::config()}}),
        // The Secret of the credential operator.
        cloud.credentials(OPERANDS, "openstack-cloud-credentials"),
    ]);
    let gates = [FIRST, SECOND].map(|Release(version, _)| json!({"version": version, "enabled": [], "disabled": []}));
    let path = "/apis/config.openshift.io/v1/featuregates/cluster/status";
    fixture.patch(path, json!({"status": {"featureGates": gates}})).await;
    set_platform(fixture, "OpenStack").await;
    // Like the machine config operator: the API server without a Pod network.
    let url = fixture.cluster.plane.url().trim_start_matches("https://").to_owned();
    let (host, port) = url.split_once(':').unwrap();
    let variables = format!("KUBERNETES_SERVICE_HOST='{host}'\nKUBERNETES_SERVICE_PORT='{port}'\n");
    fs::write(PathBuf::from(ETC).join("apiserver-url.env"), variables).unwrap();
}

/// One node means one replica.
async fn set_platform(fixture: &Fixture, platform: &str) {
    let status = json!({
        "infrastructureName": "lab-x7k2p", "controlPlaneTopology": "SingleReplica", "infrastructureTopology": "SingleReplica",
        "apiServerURL": "https://api.lab:6443", "apiServerInternalURI": "https://api-int.lab:6443", "etcdDiscoveryDomain": "",
        "platform": platform, "platformStatus": {"type": platform}, "cpuPartitioning": "None",
    });
    fixture
        .patch(&format!("{INFRASTRUCTURE}/status"), json!({"status": status}))
        .await;
}

/// Applies the manifests in the order of their names, as the cluster-version operator does.
fn apply(fixture: &Fixture, Release(version, image): &Release) {
    let folder = fs::read_dir(root().join("deploy/openshift/manifests")).unwrap();
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let is_tombstone = text.contains("release.openshift.io/delete: \"true\"");
        if is_tombstone || text.contains(&format!("kind: {LEFT_OUT}")) {
            continue;
        }
        let text = text.replace(OPERATOR_IMAGE, image);
        // On AWS another program than ours, as the comment in the file says.
        let of_aws = format!(
            "{IMAGES}      \"cloudControllerManagerAWS\": \"{}\",\n",
            stand_in::IMAGE
        );
        let text = text.replace(IMAGES, &of_aws);
        let text = text.replace(VERSION, version);
        fixture.run_with("kubectl apply --server-side --force-conflicts -f -", &text);
    }
}

/// Waits until the `ClusterOperator` reports this release without failures; returns its states until then.
async fn reports(fixture: &Fixture, history: &History, Release(version, _): &Release) -> Vec<State> {
    let states = states_until(fixture, history, |state| state.is_well() && state.version == *version).await;
    assert_versions_after_the_roll_out(&states);
    states
}

/// Waits until the `ClusterOperator` has such a state; returns its states from the last call until then.
async fn states_until(fixture: &Fixture, history: &History, what: impl Fn(&State) -> bool) -> Vec<State> {
    let look = async || {
        let operator = fixture.find(CLUSTER_OPERATOR).await;
        let state = State::of(&operator.unwrap_or_default());
        what(&state).then_some(()).ok_or_else(|| format!("{state:#?}"))
    };
    fixture.until("the state of the ClusterOperator", look).await;
    history.states(fixture).await
}

/// A state reported the progress, with one of these texts.
fn progressed(states: &[State], words: &[&str]) {
    let is_reported = |state: &State| words.iter().any(|words| state.conditions[1].contains(words));
    assert!(states.iter().any(is_reported), "{words:?}: {states:#?}");
}
