//! What was read from a cluster, and what could not be read.

use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment},
    coordination::v1::Lease,
    core::v1::{ConfigMap, Node, PersistentVolume, Pod, Service},
    storage::v1::CSIDriver,
};
use operator_api::Infrastructure;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::collections::BTreeMap;

/// What was read from a cluster, and from its cloud. A list is empty both if there are no objects and if they could not be read:
/// [`Snapshot::unread`] distinguishes the two.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// The version of the API server.
    pub version: Option<String>,
    /// The Pods of the namespaces with programs of the control plane.
    pub pods: Vec<Pod>,
    /// All Nodes.
    pub nodes: Vec<Node>,
    /// All Services.
    pub services: Vec<Service>,
    /// All persistent volumes.
    pub volumes: Vec<PersistentVolume>,
    /// The CSI drivers.
    pub drivers: Vec<CSIDriver>,
    /// All daemon sets.
    pub daemon_sets: Vec<DaemonSet>,
    /// All Deployments.
    pub deployments: Vec<Deployment>,
    /// The Leases of the namespaces with programs of the control plane.
    pub leases: Vec<Lease>,
    /// The `ConfigMap`s with the configuration of the control plane.
    pub config_maps: Vec<ConfigMap>,
    /// The `MachineConfig`s of `OpenShift` that nodes run with.
    pub machine_configs: Vec<Value>,
    /// The Infrastructure of `OpenShift`.
    pub infrastructure: Option<Infrastructure>,
    /// The `KubeControllerManager` of `OpenShift`.
    pub kube_controller_manager: Option<Value>,
    /// The `ClusterOperator` `cloud-controller-manager` of `OpenShift`.
    pub cluster_operator: Option<Value>,
    /// The configuration of kubelets, by node.
    pub configz: BTreeMap<String, Value>,
    /// What the user gave on the command line.
    pub given: Vec<Given>,
    /// What accounts may do.
    pub access: Vec<Access>,
    /// What our provider reads in the cloud, if its configuration is given.
    pub cloud: Option<CloudView>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// The command line of a program, or its manifest, in a file that the user named.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Given {
    /// `kubelet`, `kube-apiserver` or `kube-controller-manager`.
    pub program: String,
    /// The node, if the file is not for all.
    #[serde(default)]
    pub node: Option<String>,
    /// The file.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// Whether an account may do something with an object in `kube-system`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Access {
    /// The user, for example `system:kube-controller-manager`.
    pub user: String,
    /// The verb.
    pub verb: String,
    /// The Lease.
    pub lease: String,
    /// Whether it is allowed.
    pub allowed: bool,
}

/// What could not be read, and why.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Unread {
    /// For example `nodes`, or `Infrastructure cluster`.
    pub what: String,
    /// The answer of the API server, or of the cloud.
    pub reason: String,
}

/// What our provider reads in the cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CloudView {
    /// The provider.
    pub provider: String,
    /// The name of the cluster that the view is for.
    pub cluster_name: String,
    /// The instance of each Node.
    pub nodes: BTreeMap<String, Match>,
    /// The load balancer of each Service, by `namespace/name`.
    pub services: BTreeMap<String, Adoption>,
}

/// The instance of a Node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Match {
    /// It exists.
    Found {
        /// Its provider ID, if the cloud has any.
        #[serde(rename = "providerID")]
        provider_id: Option<String>,
        /// What would be written to the Node; empty for nothing.
        changes: String,
    },
    /// The cloud has none.
    Missing,
    /// The cloud cannot say, for this reason.
    Unknown(String),
}

/// The load balancer of a Service.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Adoption {
    /// The provider finds it.
    Found {
        /// Its name.
        name: String,
        /// Its addresses.
        addresses: Vec<String>,
    },
    /// The provider does not find it.
    Missing {
        /// The name that it searches for.
        name: String,
    },
    /// The cloud cannot say, for this reason.
    Unknown(String),
}

/// Why objects in a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is no YAML.
    #[error("not a list of YAML documents: {0}")]
    Yaml(String),
    /// An object has a kind that a migration does not depend on.
    #[error("document {number} has kind {kind:?}, which is not used: remove it")]
    Kind {
        /// Its position, from 1.
        number: usize,
        /// Its kind.
        kind: String,
    },
    /// An object cannot be read.
    #[error("document {number}, a {kind}, cannot be read: {reason}")]
    Object {
        /// Its position, from 1.
        number: usize,
        /// Its kind.
        kind: String,
        /// Why.
        reason: String,
    },
}

/// The part of a snapshot that is no object of the API server, as a document of kind `Observed`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Observed {
    #[serde(rename = "kind")]
    _kind: String,
    version: Option<String>,
    configz: BTreeMap<String, Value>,
    given: Vec<Given>,
    access: Vec<Access>,
    cloud: Option<CloudView>,
    unread: Vec<Unread>,
}

impl Snapshot {
    /// Reads YAML documents: objects as `kubectl get --output=yaml` prints them, and at most one of kind `Observed` with the rest.
    ///
    /// # Errors
    /// If one cannot be read, with its position.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(text).map_err(|error| Error::Yaml(error.to_string()))?;
        let mut snapshot = Self::default();
        for (index, document) in documents.into_iter().enumerate() {
            snapshot.add(index + 1, document)?;
        }
        Ok(snapshot)
    }

    /// The data of a `ConfigMap`, if it was read.
    #[must_use]
    pub fn config_map(&self, namespace: &str, name: &str) -> Option<&BTreeMap<String, String>> {
        let is_it = |map: &&ConfigMap| {
            map.metadata.namespace.as_deref() == Some(namespace) && map.metadata.name.as_deref() == Some(name)
        };
        self.config_maps.iter().find(is_it)?.data.as_ref()
    }

    /// A Lease, if it was read.
    #[must_use]
    pub fn lease(&self, name: &str) -> Option<&Lease> {
        self.leases
            .iter()
            .find(|lease| lease.metadata.name.as_deref() == Some(name))
    }

    /// Why this could not be read, if so.
    #[must_use]
    pub fn reason(&self, what: &str) -> Option<&str> {
        let unread = self.unread.iter().find(|unread| unread.what == what)?;
        Some(&unread.reason)
    }

    fn add(&mut self, number: usize, document: Value) -> Result<(), Error> {
        let kind = document["kind"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "List" => {
                let items = document["items"].as_array().cloned().unwrap_or_default();
                items.into_iter().try_for_each(|item| self.add(number, item))?;
            }
            "Pod" => self.pods.push(read(number, &kind, document)?),
            "Node" => self.nodes.push(read(number, &kind, document)?),
            "Service" => self.services.push(read(number, &kind, document)?),
            "PersistentVolume" => self.volumes.push(read(number, &kind, document)?),
            "CSIDriver" => self.drivers.push(read(number, &kind, document)?),
            "DaemonSet" => self.daemon_sets.push(read(number, &kind, document)?),
            "Deployment" => self.deployments.push(read(number, &kind, document)?),
            "Lease" => self.leases.push(read(number, &kind, document)?),
            "ConfigMap" => self.config_maps.push(read(number, &kind, document)?),
            "Infrastructure" => self.infrastructure = Some(read(number, &kind, document)?),
            "MachineConfig" => self.machine_configs.push(document),
            "KubeControllerManager" => self.kube_controller_manager = Some(document),
            "ClusterOperator" => self.cluster_operator = Some(document),
            "Observed" => self.observe(read(number, &kind, document)?),
            _ => return Err(Error::Kind { number, kind }),
        }
        Ok(())
    }

    fn observe(&mut self, observed: Observed) {
        let Observed {
            _kind: _,
            version,
            configz,
            given,
            access,
            cloud,
            unread,
        } = observed;
        self.version = version;
        self.configz = configz;
        self.given = given;
        self.access = access;
        self.cloud = cloud;
        self.unread = unread;
    }
}

fn read<T: DeserializeOwned>(number: usize, kind: &str, document: Value) -> Result<T, Error> {
    serde_json::from_value(document).map_err(|error| Error::Object {
        number,
        kind: kind.to_owned(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn reads_objects_and_lists() {
        let text = "
kind: List
items:
- {kind: Node, apiVersion: v1, metadata: {name: a}}
- {kind: Node, apiVersion: v1, metadata: {name: b}}
---
kind: Observed
version: v1.25.15
unread: [{what: services, reason: forbidden}]
";
        let snapshot = Snapshot::parse(text).unwrap();
        assert_eq!(snapshot.nodes.len(), 2);
        assert_eq!(snapshot.version.as_deref(), Some("v1.25.15"));
        assert_eq!(snapshot.reason("services"), Some("forbidden"));
    }

    #[rstest]
    #[case::kind("kind: Secret", "document 1 has kind \"Secret\", which is not used: remove it")]
    #[case::no_object("- 1", "document 1 has kind \"\", which is not used: remove it")]
    #[case::field(
        "kind: Node\nspec: 5",
        "document 1, a Node, cannot be read: invalid type: integer `5`, expected NodeSpec"
    )]
    fn names_what_it_cannot_read(#[case] text: &str, #[case] message: &str) {
        let error = Snapshot::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}
