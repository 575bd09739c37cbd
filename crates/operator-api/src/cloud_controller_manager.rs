//! A cloud controller manager that the operator runs: our own kind, for every Kubernetes that is not `OpenShift`.
//!
//! The doc comments of the fields are what `kubectl explain ccm.spec` prints.

mod claim;
mod definition;
mod scope;
mod status;

pub use claim::Claim;
pub use definition::{Texts, crd, crd_yaml};
pub use scope::{LabelSelector, Requirement, Scope, ServicesWithoutClass};
pub use status::Status;

use definition::{int_or_string, taken};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The default port of a cloud controller manager.
pub const SECURE_PORT: i32 = 10258;

/// The format of an image: a repository with an optional registry, tag and digest.
pub const IMAGE: &str = "^([a-zA-Z0-9.-]+(:[0-9]+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127})?(@[a-z0-9]+:[a-f0-9]{32,})?$";

/// The placeholder in examples for values that only the user knows. It is never valid.
pub const PLACEHOLDER: &str = "CHANGE-ME";

/// The format of a cluster's name: without blanks, because it becomes part of names and tags in the cloud.
pub const CLUSTER_NAME: &str = r"^\S+$";

/// The flags that `extraArgs` may not contain: the operator sets them, most of them from fields, or relies on their defaults.
pub const OWN_FLAGS: &[&str] = &[
    "--bind-address",
    "--cloud-config",
    "--cloud-provider",
    "--cluster-cidr",
    "--cluster-name",
    "--configure-cloud-routes",
    "--controllers",
    "--kubeconfig",
    "--leader-elect",
    "--leader-elect-resource-name",
    "--leader-elect-resource-namespace",
    "--load-balancer-class",
    "--load-balancer-without-class",
    "--master",
    "--node-selector",
    "--provider-id-scheme",
    "--secure-port",
    "--tls-cert-file",
    "--tls-private-key-file",
    "--use-service-account-credentials",
    "--v",
];

/// The desired manager.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq)]
#[kube(
    group = "outrigger.dev",
    version = "v1alpha1",
    kind = "CloudControllerManager",
    plural = "cloudcontrollermanagers",
    shortname = "ccm",
    status = "Status",
    derive = "Default",
    derive = "PartialEq",
    doc = "A cloud controller manager: it gives the nodes of one cloud their addresses and labels, removes those whose machines are gone, \
           and gives Services their load balancers. Several of them, with scopes that do not meet, serve several clouds."
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self.routes == 'Disabled' || (has(self.clusterCIDRs) && size(self.clusterCIDRs) > 0)",
    "message": "routes need clusterCIDRs: name the networks of the pods",
    "fieldPath": ".clusterCIDRs",
}]))]
pub struct Spec {
    /// The cloud, by the name of its provider in --cloud-provider: {providers}. If it is changed, the manager is replaced.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub provider: String,

    /// How the operator manages the manager.
    #[serde(default)]
    pub management_state: ManagementState,

    /// The manager's image: another build of Outrigger than the operator's own, which is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024), regex(pattern = IMAGE))]
    pub image: Option<String>,

    /// Secrets in the operator's namespace for pulling the image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub image_pull_secrets: Vec<Reference>,

    /// The provider's configuration, in the operator's namespace. {changes}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_config: Option<CloudConfig>,

    /// The credentials of the manager. Omit it if the configuration, or the machine that the manager runs on, has the credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,

    /// The cluster's name in the cloud: part of the names of load balancers and other objects. Choose a name that no other cluster of the project has, and
    /// do not change it. The default is kubernetes, and two clusters with that name use each other's load balancers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 255),
        regex(pattern = CLUSTER_NAME),
        extend("x-kubernetes-validations" = [{
            "rule": format!("self != '{PLACEHOLDER}'"),
            "message": "this is the placeholder of the example: choose a name that no other cluster of the project has",
        }])
    )]
    pub cluster_name: Option<String>,

    /// The networks of the pods, at most one of each family. Only routes and the node-ipam-controller need them.
    #[serde(default, rename = "clusterCIDRs", skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 2),
        inner(length(max = 64)),
        extend("x-kubernetes-list-type" = "atomic", "x-kubernetes-validations" = [
            {"rule": "self.all(net, isCIDR(net))", "message": "each is a network such as 10.244.0.0/16"},
            {"rule": "size(self) != 2 || !self.all(net, isCIDR(net)) || cidr(self[0]).ip().family() != cidr(self[1]).ip().family()",
             "message": "two networks have to be of different families"},
        ])
    )]
    pub cluster_cidrs: Vec<String>,

    /// Whether the manager creates routes.
    #[serde(default)]
    pub routes: Routes,

    /// The nodes and Services of this manager; by default all nodes, and all Services without a class. Overlapping scopes are refused:
    /// the younger manager is not run, and its status has the reason.
    #[serde(default, skip_serializing_if = "crate::is_empty")]
    pub scope: Scope,

    /// Which controllers run: * for all that are enabled by default, a name to enable a controller, -name to disable it. The controllers are
    /// cloud-node-controller, cloud-node-lifecycle-controller, service-lb-controller, node-route-controller, node-ipam-controller, do-firewall and tagging.
    #[serde(default = "all")]
    #[schemars(
        length(min = 1, max = 16),
        inner(length(max = 64), regex(pattern = "^(\\*|-?[a-z][-a-z0-9]*)$")),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub controllers: Vec<String>,

    /// The number of replicas. One of them leads, the others are on standby. Each needs a node of its own: set it to 1 if only one node may run them.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 9))]
    pub replicas: i32,

    /// The port of metrics and health on each node that runs the manager. Managers on the same nodes need different ports, because
    /// they use the network of their nodes.
    #[serde(default = "secure_port")]
    #[schemars(range(min = 1024, max = 65535))]
    pub secure_port: i32,

    /// The verbosity of the log: 0 changes, 2 more, 4 decisions, 6 everything, 8 also libraries.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10))]
    pub log_verbosity: i32,

    /// Additional flags of the manager, as --flag=value. Flags that the operator sets itself are refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(length(max = 1024), regex(pattern = "^--[a-z0-9][-a-z0-9]*(=.*)?$")),
        extend("x-kubernetes-list-type" = "atomic", "x-kubernetes-validations" = taken())
    )]
    pub extra_args: Vec<String>,

    /// Environment variables of the manager: for example `HTTPS_PROXY`, or `KUBERNETES_SERVICE_HOST` if the address of the API server's Service cannot be
    /// reached before the cluster's network works.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub env: Vec<Variable>,

    /// The nodes that run the manager. By default those of the control plane, or others if there are none.
    #[serde(default, skip_serializing_if = "crate::is_empty")]
    pub placement: Placement,

    /// The resources of each replica. By default a small request, and no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,

    /// Additional labels and annotations of the Pods.
    #[serde(default, skip_serializing_if = "crate::is_empty")]
    pub pod_template: PodTemplate,

    /// How Prometheus finds the manager, if the cluster has the Prometheus operator.
    #[serde(default, skip_serializing_if = "crate::is_empty")]
    pub monitoring: Monitoring,
}

/// Additional labels and annotations of the Pods.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
pub struct PodTemplate {
    /// Additional labels. The labels that the operator sets itself cannot be changed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub labels: BTreeMap<String, String>,
    /// Additional annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub annotations: BTreeMap<String, String>,
}

/// How Prometheus finds the manager.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
pub struct Monitoring {
    /// Additional labels of the `ServiceMonitor` and the `PrometheusRule`, for a Prometheus that selects by label: for example release:
    /// kube-prometheus-stack.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub labels: BTreeMap<String, String>,
}

/// How the operator manages the manager. Managed: it runs the manager. Unmanaged: it changes nothing, and existing objects are kept. Removed: it
/// deletes all objects of the manager; load balancers are kept in the cloud, and nodes are not changed.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ManagementState {
    /// It runs the manager.
    #[default]
    Managed,
    /// It changes nothing, and existing objects are kept.
    Unmanaged,
    /// It deletes all objects of the manager. Load balancers are kept in the cloud, and nodes are not changed.
    Removed,
}

/// Whether the manager creates routes to the pod networks of nodes in the cloud. Enabled needs clusterCIDRs, and is only for pod networks that need routes.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Routes {
    /// It does not create routes.
    #[default]
    Disabled,
    /// It creates routes.
    Enabled,
}

/// Where the provider's configuration is: in a `ConfigMap` or in a `Secret`.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.configMap) != has(self.secret)",
    "message": "name either a configMap or a secret",
}]))]
pub struct CloudConfig {
    /// A `ConfigMap`, for a configuration without credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<KeyReference>,
    /// A `Secret`, for a configuration with credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<KeyReference>,
}

/// One key of an object in the operator's namespace.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyReference {
    /// The object's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key.
    #[serde(default = "cloud_conf")]
    #[schemars(length(min = 1, max = 253), regex(pattern = "^[-._a-zA-Z0-9]+$"))]
    pub key: String,
}

/// The credentials of the manager.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// A `Secret` in the operator's namespace. Its keys become files in /etc/outrigger/credentials.
    /// {credentials}
    pub secret: Reference,
}

/// An object in the operator's namespace.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
pub struct Reference {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// An environment variable.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    #[schemars(length(min = 1, max = 253), regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub name: String,
    /// Its value.
    #[schemars(length(max = 32768))]
    pub value: String,
}

/// The nodes that run the manager.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// Only on nodes with these labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Additional tolerations, besides those for the control plane and for nodes that are not initialized, not ready or without network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub tolerations: Vec<Toleration>,
}

/// A toleration.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Toleration {
    /// The taint's key; if omitted, every key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Exists for every value, Equal for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Exists", "Equal"]))]
    pub operator: Option<String>,
    /// The taint's value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The taint's effect; if omitted, every effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["NoSchedule", "PreferNoSchedule", "NoExecute"]))]
    pub effect: Option<String>,
    /// For `NoExecute`: how long the taint is tolerated, in seconds; if omitted, forever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// The resources of each replica.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    /// The requests: cpu and memory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "int_or_string")]
    pub requests: BTreeMap<String, Value>,
    /// The limits: cpu and memory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "int_or_string")]
    pub limits: BTreeMap<String, Value>,
}

fn all() -> Vec<String> {
    vec!["*".to_owned()]
}

fn two() -> i32 {
    2
}

fn secure_port() -> i32 {
    SECURE_PORT
}

fn cloud_conf() -> String {
    "cloud.conf".to_owned()
}
