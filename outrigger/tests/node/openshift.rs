//! A release on `OpenShift`: installed from its manifests, upgraded, and without a cloud in the end.

use crate::{
    cloud::OpenStack,
    site::{ETC, Site, condition, related, root},
};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

const OPERATOR: &str = "openshift-cloud-controller-manager-operator";
const OPERANDS: &str = "openshift-cloud-controller-manager";
const CLUSTER_OPERATOR: &str = "/apis/config.openshift.io/v1/clusteroperators/cloud-controller-manager";
const INFRASTRUCTURE: &str = "/apis/config.openshift.io/v1/infrastructures/cluster";
const DEPLOYMENT: &str =
    "/apis/apps/v1/namespaces/openshift-cloud-controller-manager/deployments/openstack-cloud-controller-manager";
const OPERATOR_LABEL: &str = "k8s-app%3Dcloud-manager-operator";
const OPERAND_LABEL: &str = "k8s-app%3Dopenstack-cloud-controller-manager";
/// What the manifests call the image and the version: a release puts its own there.
const PLACEHOLDERS: [&str; 2] = [
    "quay.io/openshift/origin-cluster-cloud-controller-manager-operator",
    "0.0.1-snapshot",
];
/// Not served here: its definition is in no module of the registry. The image stream of `image-references` is for the release only.
const LEFT_OUT: &str = "CredentialsRequest";

/// A release: its version and its image.
struct Release(&'static str, &'static str);

const FIRST: Release = Release("5.0.0", "localhost/outrigger:5.0.0");
const SECOND: Release = Release("5.0.1", "localhost/outrigger:5.0.1");

/// Installs, upgrades, and switches to a platform without a cloud.
pub async fn story(site: &Site, cloud: &OpenStack) {
    furnish(site, cloud).await;
    for Release(_, image) in [FIRST, SECOND] {
        site.import(image);
    }
    site.assert_uninitialised().await;

    apply(site, &FIRST);
    site.pod(OPERATOR, OPERATOR_LABEL, FIRST.1).await;
    let operand = site.pod(OPERANDS, OPERAND_LABEL, FIRST.1).await;
    let command = operand["spec"]["containers"][0]["command"].to_string();
    assert!(
        command.contains("exec /usr/bin/openstack-cloud-controller-manager"),
        "{command}"
    );
    site.initialised(&cloud.provider_id()).await;
    reports(site, &FIRST).await;

    apply(site, &SECOND);
    reports(site, &SECOND).await;
    // The version was not told before the last Pod was a new one.
    let deployment = site.find(DEPLOYMENT).await.unwrap();
    assert_eq!(
        deployment["spec"]["template"]["spec"]["containers"][0]["image"],
        SECOND.1
    );
    assert_eq!(deployment["status"]["updatedReplicas"], 1, "{}", deployment["status"]);
    assert_eq!(deployment["status"]["availableReplicas"], 1, "{}", deployment["status"]);
    site.pod(OPERANDS, OPERAND_LABEL, SECOND.1).await;

    let made = related(&site.find(CLUSTER_OPERATOR).await.unwrap());
    assert!(made.contains(&DEPLOYMENT.to_owned()), "{made:#?}");
    set_platform(site, "None").await;
    site.gone(DEPLOYMENT).await;
    site.gone(&format!("/api/v1/namespaces/{OPERANDS}/pods")).await;
    // Everything goes but what is there on every platform.
    for path in made.iter().filter(|path| !path.ends_with("/configmaps/ccm-trusted-ca")) {
        site.gone(path).await;
    }
    reports(site, &SECOND).await;
    site.initialised(&cloud.provider_id()).await;
}

/// What a cluster has before the operator comes.
async fn furnish(site: &Site, cloud: &OpenStack) {
    site.cluster.plane.install_openshift_crds().await.unwrap();
    let namespaces = [
        "openshift-config",
        "openshift-config-managed",
        "openshift-monitoring",
        OPERANDS,
    ];
    site.apply(&namespaces.map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})));
    let config = |kind: &str, spec: Value| json!({"apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": {"name": "cluster"}, "spec": spec});
    let network = json!({"serviceNetwork": ["172.30.0.0/16"], "clusterNetwork": [], "networkType": "OVNKubernetes"});
    let reference = json!({"cloudConfig": {"name": "cloud-provider-config", "key": "config"}, "platformSpec": {"type": "OpenStack"}});
    site.apply(&[
        config("FeatureGate", json!({})),
        config("Network", network),
        config("Proxy", json!({"trustedCA": {"name": ""}})),
        config("APIServer", json!({})),
        config("Infrastructure", reference),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cloud-provider-config", "namespace": "openshift-config"},
               "data": {"config": OpenStack::config()}}),
        // That of the credential operator.
        cloud.credentials(OPERANDS, "openstack-cloud-credentials"),
    ]);
    let gates = [FIRST, SECOND].map(|Release(version, _)| json!({"version": version, "enabled": [], "disabled": []}));
    let path = "/apis/config.openshift.io/v1/featuregates/cluster/status";
    site.patch(path, json!({"status": {"featureGates": gates}})).await;
    set_platform(site, "OpenStack").await;
    // As the machine config operator writes it: the API server without a network of pods.
    let url = site.cluster.plane.url().trim_start_matches("https://").to_owned();
    let (host, port) = url.split_once(':').unwrap();
    let variables = format!("KUBERNETES_SERVICE_HOST='{host}'\nKUBERNETES_SERVICE_PORT='{port}'\n");
    fs::write(PathBuf::from(ETC).join("apiserver-url.env"), variables).unwrap();
}

/// One node is one replica.
async fn set_platform(site: &Site, platform: &str) {
    let status = json!({
        "infrastructureName": "lab-x7k2p", "controlPlaneTopology": "SingleReplica", "infrastructureTopology": "SingleReplica",
        "apiServerURL": "https://api.lab:6443", "apiServerInternalURI": "https://api-int.lab:6443", "etcdDiscoveryDomain": "",
        "platform": platform, "platformStatus": {"type": platform}, "cpuPartitioning": "None",
    });
    site.patch(&format!("{INFRASTRUCTURE}/status"), json!({"status": status}))
        .await;
}

/// Applies the manifests in the order of their names, as the cluster-version operator does.
fn apply(site: &Site, Release(version, image): &Release) {
    let folder = fs::read_dir(root().join("deploy/openshift")).unwrap();
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let is_tombstone = text.contains("release.openshift.io/delete: \"true\"");
        if is_tombstone || text.contains(&format!("kind: {LEFT_OUT}")) {
            continue;
        }
        let text = text.replace(PLACEHOLDERS[0], image).replace(PLACEHOLDERS[1], version);
        site.run_with("kubectl apply --server-side --force-conflicts -f -", &text);
    }
}

/// Waits until the `ClusterOperator` says that this release is there, and that all is well.
async fn reports(site: &Site, Release(version, _): &Release) {
    let look = async || {
        let operator = site.find(CLUSTER_OPERATOR).await.unwrap_or_default();
        let said = ["Available", "Progressing", "Degraded", "Upgradeable"].map(|type_| condition(&operator, type_));
        let well = said
            .iter()
            .zip(["True", "False", "False", "True"])
            .all(|(said, truth)| said.starts_with(truth));
        let versions = operator["status"]["versions"].as_array().into_iter().flatten();
        let told = versions
            .filter(|each| each["name"] == "operator")
            .any(|each| each["version"] == *version);
        (well && told)
            .then_some(())
            .ok_or_else(|| format!("{said:#?} {}", operator["status"]["versions"]))
    };
    site.until(&format!("the ClusterOperator at {version}"), look).await;
}
