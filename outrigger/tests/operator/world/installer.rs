//! The objects of a cluster before the operator: those of the installer, and the operator's own files.

use super::{OPERATOR_NAMESPACE, RELEASE, World, api_server, config_map, is_ours, kind, proxy};
use crate::objects;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The certificates of the system are the same in all worlds.
static SYSTEM: LazyLock<String> = LazyLock::new(|| certificate("system"));

impl World {
    pub(super) async fn clean(&self) {
        let all = objects::kinds(&[
            (
                "",
                "ClusterOperator Infrastructure Network Proxy FeatureGate APIServer ClusterVersion ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
            ),
            (OPERATOR_NAMESPACE, "Lease"),
            ("openshift-config", "ConfigMap"),
            ("openshift-config-managed", "ConfigMap"),
        ]);
        let mut operands = self.kinds();
        operands.retain(|(_, namespace)| *namespace == self.namespace);
        for (resource, namespace) in all.into_iter().chain(operands) {
            let api = self.api(&resource, &namespace);
            let deleted = api
                .delete_collection(&DeleteParams::default(), &ListParams::default())
                .await;
            if let Err(error) = deleted {
                panic!("cannot remove {}: {error}", resource.plural);
            }
        }
        self.remove_roles().await;
    }

    async fn remove_roles(&self) {
        let roles = objects::kinds(&[
            ("", "ClusterRole ClusterRoleBinding"),
            ("kube-system", "Role RoleBinding"),
        ]);
        for (resource, namespace) in roles {
            let api = self.api(&resource, &namespace);
            for role in api.list(&ListParams::default()).await.unwrap() {
                if is_ours(&role) {
                    api.delete(&role.metadata.name.unwrap(), &DeleteParams::default())
                        .await
                        .unwrap();
                }
            }
        }
    }

    /// The namespaces, and the operator's own files.
    pub(super) async fn make_room(&self) {
        self.folder.write("images.json", &images().to_string());
        self.folder.write("bundle.pem", &SYSTEM);
        for name in [
            "openshift-config",
            "openshift-config-managed",
            OPERATOR_NAMESPACE,
            self.namespace.as_str(),
        ] {
            self.apply(&kind("Namespace"), "", name, json!({})).await;
        }
    }

    /// Writes the objects of the installer.
    pub async fn write_config(&self) {
        self.write_config_without_proxy().await;
        let proxy_ = json!({"spec": {"trustedCA": {"name": ""}}});
        self.apply(&proxy(), "", "cluster", proxy_).await;
    }

    /// The same in a cluster that has no Proxy.
    pub async fn write_config_without_proxy(&self) {
        let gates = json!({"spec": {}});
        self.apply(&kind("FeatureGate"), "", "cluster", gates).await;
        self.set_gates(&[]).await;
        let network = json!({"spec": {"serviceNetwork": ["172.30.0.0/16"], "clusterNetwork": [], "networkType": "OVNKubernetes"}});
        self.apply(&kind("Network"), "", "cluster", network).await;
        self.apply(&api_server(), "", "cluster", json!({"spec": {}})).await;
    }

    /// Sets the enabled features.
    pub async fn set_gates(&self, on: &[&str]) {
        let on: Vec<_> = on.iter().map(|name| json!({"name": name})).collect();
        let status = json!({"featureGates": [{"version": RELEASE, "enabled": on, "disabled": []}]});
        self.set_status(&kind("FeatureGate"), "cluster", status).await;
    }

    /// Sets another cloud configuration.
    pub async fn set_source(&self, text: &str) {
        let data = json!({"data": {"cloud.conf": text, "endpoints": "{}"}});
        self.apply(&config_map(), "openshift-config", "cloud-provider-config", data)
            .await;
    }

    /// Sets the platform: `AWS`, or `AWS SingleReplica`; with the cloud configuration of such a cluster.
    pub async fn set_platform(&self, platform: &str) {
        let (type_, topology) = platform.split_once(' ').unwrap_or((platform, "HighlyAvailable"));
        let (type_, cloud) = type_.split_once('/').unwrap_or((type_, ""));
        let source = source(type_, cloud);
        if let Some(text) = &source {
            self.set_source(text).await;
        }
        let reference = if source.is_some() { "cloud-provider-config" } else { "" };
        let spec = json!({"spec": {"cloudConfig": {"name": reference, "key": ""}, "platformSpec": {"type": type_}}});
        self.apply(&kind("Infrastructure"), "", "cluster", spec).await;
        let mut status = json!({
            "infrastructureName": "lab-x7k2p", "controlPlaneTopology": topology, "infrastructureTopology": topology,
            "apiServerURL": "https://api.lab:6443", "apiServerInternalURI": "https://api-int.lab:6443", "etcdDiscoveryDomain": "",
            "platform": type_, "platformStatus": {"type": type_}, "cpuPartitioning": "None",
        });
        if type_ == "Azure" {
            let cloud = if cloud.is_empty() { "AzurePublicCloud" } else { cloud };
            status["platformStatus"]["azure"] = json!({"cloudName": cloud, "resourceGroupName": "lab"});
        }
        if type_ == "AWS" {
            status["platformStatus"]["aws"] = json!({"region": "eu-lab-1"});
        }
        self.set_status(&kind("Infrastructure"), "cluster", status).await;
    }

    /// Removes images of other projects, so that our own program manages the cloud if it supports it.
    pub fn prefer_our_own(&self) {
        let mut images = images();
        images
            .as_object_mut()
            .unwrap()
            .remove("cloudControllerManagerOpenStack");
        self.folder.write("images.json", &images.to_string());
    }
}

/// `images.json` with every image.
pub fn images() -> Value {
    json!({
        "cloudControllerManagerOperator": "registry.lab/operator:1",
        "cloudControllerManagerAWS": "registry.lab/aws:1",
        "cloudControllerManagerAzure": "registry.lab/azure:1",
        "cloudNodeManagerAzure": "registry.lab/azure-node:1",
        "cloudControllerManagerGCP": "registry.lab/gcp:1",
        "cloudControllerManagerIBM": "registry.lab/ibm:1",
        "cloudControllerManagerOpenStack": "registry.lab/openstack:1",
        "cloudControllerManagerVSphere": "registry.lab/vsphere:1",
        "cloudControllerManagerPowerVS": "registry.lab/powervs:1",
        "cloudControllerManagerNutanix": "registry.lab/nutanix:1",
    })
}

/// The cloud configuration of a cluster on this platform.
fn source(platform: &str, cloud: &str) -> Option<String> {
    Some(match (platform, cloud) {
        ("AWS", _) => "[Global]\nZone = eu-lab-1a\n".to_owned(),
        ("Azure", "AzureStackCloud") => r#"{"cloud": "AzureStackCloud", "tenantId": "t"}"#.to_owned(),
        ("Azure", _) => r#"{"cloud": "AzurePublicCloud", "tenantId": "t"}"#.to_owned(),
        ("GCP", _) => "[global]\nproject-id = lab\n".to_owned(),
        ("OpenStack", _) => {
            "[Global]\nsecret-name = openstack-credentials\nsecret-namespace = kube-system\n".to_owned()
        }
        ("VSphere", _) => "global:\n  user: u\nvcenter:\n  vc:\n    server: vc.lab\n    datacenters: [dc]\n".to_owned(),
        ("IBMCloud" | "PowerVS", _) => "[global]\nversion = 1.1.0\n".to_owned(),
        ("Nutanix", _) => "{}".to_owned(),
        _ => return None,
    })
}

/// A certificate authority in PEM.
pub fn certificate(name: &str) -> String {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().pem()
}
