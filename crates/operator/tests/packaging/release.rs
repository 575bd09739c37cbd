//! A release of the chart, with the real Helm: install, upgrade, rollback, uninstall.

use crate::{
    apply::plane,
    occm,
    tools::{Ran, run},
};
use kube::{
    Api, Client,
    api::DynamicObject,
    core::{ApiResource, GroupVersionKind},
};
use std::path::PathBuf;

struct Release {
    kubeconfig: PathBuf,
    client: Client,
}

impl Release {
    fn helm(&self, args: &[&str]) -> Ran {
        run(&lab::peer::helm().unwrap(), args, &[("KUBECONFIG", &self.kubeconfig)])
    }

    async fn find(
        &self,
        (group, version, kind): (&str, &str, &str),
        namespace: &str,
        name: &str,
    ) -> Option<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = match namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        api.get_opt(name).await.unwrap()
    }
}

const DEPLOYMENT: (&str, &str, &str) = ("apps", "v1", "Deployment");
const MANAGER: (&str, &str, &str) = ("outrigger.dev", "v1alpha1", "CloudControllerManager");
const CHART: &str = "charts/outrigger";

#[tokio::test(flavor = "multi_thread")]
async fn is_installed_upgraded_rolled_back_and_removed() {
    let plane = plane().await;
    let release = Release {
        kubeconfig: plane.kubeconfig(),
        client: plane.client(),
    };
    let there = ["--namespace=outrigger-system"];
    let memory = ["--set=managers.lab.provider=memory,managers.lab.replicas=1"];
    let told = release
        .helm(&[&["install", "outrigger", CHART], &there[..], &memory[..]].concat())
        .printed();
    assert!(
        told.contains("kubectl get ccm") && told.contains("helm -n outrigger-system test outrigger"),
        "{told}"
    );
    let operator = async || {
        release
            .find(DEPLOYMENT, "outrigger-system", "outrigger-operator")
            .await
            .map(|found| found.data)
    };
    let manager = async |name: &str| {
        release
            .find(MANAGER, "", name)
            .await
            .map(|found| found.data["spec"].clone())
    };
    assert_eq!(operator().await.unwrap()["spec"]["replicas"], 1);
    assert_eq!(manager("lab").await.unwrap()["provider"], "memory");

    let changed =
        ["--set=managers.lab.provider=memory,managers.lab.replicas=2,replicas=2,managers.edge.provider=memory"];
    let told = release
        .helm(&[&["upgrade", "outrigger", CHART], &there[..], &changed[..]].concat())
        .printed();
    assert!(told.contains("helm show crds"), "{told}");
    assert_eq!(operator().await.unwrap()["spec"]["replicas"], 2);
    assert_eq!(manager("lab").await.unwrap()["replicas"], 2);
    assert!(manager("edge").await.is_some());
    // A mistake that only the API server detects changes nothing.
    let wrong = ["--reuse-values", "--set=managers.lab.routes=Enabled"];
    let why = release
        .helm(&[&["upgrade", "outrigger", CHART], &there[..], &wrong[..]].concat())
        .refused();
    assert!(why.contains("routes need clusterCIDRs"), "{why}");
    assert_eq!(manager("lab").await.unwrap()["replicas"], 2);

    release
        .helm(&[&["rollback", "outrigger", "1"], &there[..]].concat())
        .printed();
    assert_eq!(operator().await.unwrap()["spec"]["replicas"], 1);
    assert_eq!(manager("lab").await.unwrap()["replicas"], 1);
    assert!(manager("edge").await.is_none());

    release
        .helm(&[&["uninstall", "outrigger"], &there[..]].concat())
        .printed();
    assert!(operator().await.is_none());
    assert!(manager("lab").await.is_none());
    let definition = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let kept = release
        .find(definition, "", "cloudcontrollermanagers.outrigger.dev")
        .await;
    assert!(kept.is_some(), "Helm keeps definitions");

    swaps(&release).await;
}

/// From their chart to ours, and back: all of their objects are as before.
async fn swaps(release: &Release) {
    let theirs = occm::CHART.display().to_string();
    let there = ["--namespace=clouds"];
    let config = ["--set=cloudConfig.global.auth-url=https://keystone.example.com"];
    release
        .helm(&[&["install", "occm", &theirs], &there[..], &config[..]].concat())
        .printed();
    let role = async |name: &str| {
        release
            .find(("rbac.authorization.k8s.io", "v1", "ClusterRole"), "", name)
            .await
            .map(|found| found.data["rules"].clone())
    };
    let before = role("system:cloud-controller-manager").await.unwrap();
    let values = release
        .helm(&[&["get", "values", "occm", "--output=json"], &there[..]].concat())
        .printed();
    assert!(values.contains("auth-url"), "{values}");

    let add = [
        "--reset-then-reuse-values",
        "--set=mode=manager,provider=openstack,kind=DaemonSet,cluster.name=prod,image.repository=localhost/outrigger",
    ];
    release
        .helm(&[&["upgrade", "occm", CHART], &there[..], &add[..]].concat())
        .printed();
    let daemon_set = ("apps", "v1", "DaemonSet");
    let ours = release
        .find(daemon_set, "clouds", "occm-cloud-controller-manager")
        .await
        .unwrap()
        .data;
    assert_eq!(ours["spec"]["template"]["spec"]["containers"][0]["args"][0], "ccm");
    assert!(
        release
            .find(daemon_set, "clouds", "openstack-cloud-controller-manager")
            .await
            .is_none()
    );
    let secret = release.find(("", "v1", "Secret"), "clouds", "cloud-config").await;
    assert!(secret.is_some());

    release
        .helm(&[&["rollback", "occm", "1"], &there[..]].concat())
        .printed();
    assert_eq!(role("system:cloud-controller-manager").await, Some(before));
    assert!(
        release
            .find(daemon_set, "clouds", "openstack-cloud-controller-manager")
            .await
            .is_some()
    );
    assert!(
        release
            .find(daemon_set, "clouds", "occm-cloud-controller-manager")
            .await
            .is_none()
    );
    release.helm(&[&["uninstall", "occm"], &there[..]].concat()).printed();
}
