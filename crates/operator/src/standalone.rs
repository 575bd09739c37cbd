//! A cloud controller manager on any Kubernetes: from a [`CloudControllerManager`] to the objects that run it.
//!
//! [`resources`] is pure: the objects of the YAML files beside it, with values inserted after the YAML was parsed. [`scope::overlaps`] decides
//! which managers would interfere with each other. [`leftovers`] are the Pods of deleted managers.
//!
//! Not among the objects: the namespace and the `ClusterRole` [`names::CLUSTER_ROLE`], which are installed with the operator, and the
//! Secret [`names::serving_cert`] with the certificate, which cannot be decided purely. The manager owns all of its objects: if
//! it is deleted, Kubernetes deletes them, whether the operator runs or not.

mod apply;
mod decide;
mod observe;
mod operator;
mod own_image;
mod own_service;
mod preview;
mod report;
pub mod scope;
pub mod spec;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use operator::Operator;
pub use scope::leftovers;
pub use spec::{controllers, names, provider};

use crate::{
    Key, Object,
    platforms::placeholder::{self, Values},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};
use operator_api::{
    CloudControllerManager,
    cloud_controller_manager::{CloudConfig, Spec},
};
use provider::{Credentials, Provider};
use serde_json::{Value, json};
pub(crate) use spec::flags::{CONFIG, CONFIG_FILE};
use spec::{
    check,
    flags::{self, SERVING_CERT},
};
use status::Cause;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    sync::Arc,
};

pub(crate) const ACCOUNT: &str = include_str!("standalone/account.yaml");
pub(crate) const RBAC: &str = include_str!("standalone/rbac.yaml");
pub(crate) const SERVICE: &str = include_str!("standalone/service.yaml");
pub(crate) const SEVERAL: &str = include_str!("standalone/availability.yaml");
pub(crate) const DEPLOYMENT: &str = include_str!("standalone/deployment.yaml");
/// Where credentials are mounted.
pub(crate) const CREDENTIALS: &str = "/etc/outrigger/credentials";
/// Readable only by the group of the manager.
pub(crate) const MODE: u32 = 0o440;
/// The priority of a manager and of the operator.
pub(crate) const PRIORITY: &str = "system-cluster-critical";

/// The context of all managers.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The operator's own namespace, which is also that of its managers: so it does not need to read Secrets of another one.
    pub namespace: &'a str,
    /// The operator's own image.
    pub image: &'a str,
    /// The providers of that image.
    pub providers: &'a [Provider],
    /// The flags of a manager in that image, without dashes; empty if they are not known.
    pub flags: &'a [String],
}

/// How the operator is configured.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The operator's own namespace, and that of its managers.
    pub(crate) namespace: String,
    /// The source of the operator's own image.
    pub(crate) images: ImageSource,
    /// The Service of the operator's own metrics, if the operator issues its certificate.
    pub(crate) metrics_service: Option<String>,
    /// Additional labels of the objects for Prometheus.
    pub(crate) monitor_labels: BTreeMap<String, String>,
    /// The providers of that image.
    pub(crate) providers: Arc<[Provider]>,
    /// The flags of a manager in that image.
    pub(crate) flags: Arc<[String]>,
    pub(crate) monitoring: Monitoring,
    pub(crate) cluster: Cluster,
    /// The objects of every platform, whose names are reserved on `OpenShift`.
    pub(crate) reserved: BTreeSet<Key>,
}

/// The source of the operator's own image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ImageSource {
    /// In a file that names the images of a release.
    File(PathBuf),
    /// In the operator's own Pod: so the manifests name the image once.
    OwnPod { namespace: String, name: String },
}

impl fmt::Display for ImageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::OwnPod { namespace, name } => write!(f, "Pod {namespace}/{name}"),
        }
    }
}

/// Whether the cluster serves the kinds of the Prometheus operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Monitoring {
    Served,
    Absent,
}

/// Whether the cluster has a manager for its platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cluster {
    /// The operator runs one for the platform, in the same namespace.
    OpenShift,
    /// It has none.
    Kubernetes,
}

/// Why the objects of a manager cannot be rendered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The spec is not valid.
    #[error("{}", .0.join("; "))]
    Spec(Vec<String>),
    /// A manifest of ours is invalid.
    #[error("manifest: {0}")]
    Manifest(String),
}

/// All objects that run a manager, in the order in which they are written.
///
/// # Errors
/// If the spec is not valid.
pub fn resources(manager: &CloudControllerManager, context: &Context<'_>) -> Result<Vec<Object>, Error> {
    let problems = check::problems(manager, context.providers, context.flags);
    if !problems.is_empty() {
        return Err(Error::Spec(problems));
    }
    let several = (manager.spec.replicas > 1).then_some(SEVERAL);
    let files = [ACCOUNT, RBAC, SERVICE].into_iter().chain(several).chain([DEPLOYMENT]);
    let values = values(manager, context);
    let mut objects = Vec::new();
    for file in files {
        let documents: Vec<Value> = serde_saphyr::from_multiple(file).map_err(|error| wrong(&error))?;
        for document in documents {
            objects.push(object(document, manager, &values, context)?);
        }
    }
    Ok(objects)
}

fn object(
    mut object: Value,
    manager: &CloudControllerManager,
    values: &Values,
    context: &Context<'_>,
) -> Result<Object, Error> {
    placeholder::fill(&mut object, values).map_err(|error| wrong(&error))?;
    own(&mut object, manager);
    if object["kind"] == "Deployment" {
        leftovers::mark(&mut object["spec"]["template"], manager);
        annotate(&mut object["spec"]["template"], &manager.spec);
        let pod = &mut object["spec"]["template"]["spec"];
        set_env(pod, &manager.spec, context.providers);
        mount_config(pod, manager.spec.cloud_config.as_ref());
        mount_credentials(pod, &manager.spec);
        place(pod, &manager.spec);
        if !manager.spec.image_pull_secrets.is_empty() {
            pod["imagePullSecrets"] = json!(manager.spec.image_pull_secrets);
        }
    }
    Object::new(object).map_err(|error| wrong(&error))
}

fn wrong(error: &impl ToString) -> Error {
    Error::Manifest(error.to_string())
}

fn values(manager: &CloudControllerManager, context: &Context<'_>) -> Values {
    let (name, spec) = (manager.name_any(), &manager.spec);
    let full = names::full(&name);
    let resources = spec
        .resources
        .as_ref()
        .map_or_else(resources_by_default, |given| json!(given));
    let cert = json!({"name": "serving-cert", "mountPath": SERVING_CERT, "readOnly": true});
    let secret = json!({"secretName": names::serving_cert(&name), "defaultMode": MODE});
    [
        ("kind", json!("Deployment")),
        ("account", json!(full)),
        ("clusterBinding", json!(format!("outrigger:{full}"))),
        (
            "readerBinding",
            json!(format!("outrigger:{full}:authentication-reader")),
        ),
        ("leaseNamespace", json!(context.namespace)),
        ("leases", json!([full])),
        ("name", json!(full)),
        ("namespace", json!(context.namespace)),
        ("clusterRole", json!(names::CLUSTER_ROLE)),
        ("podLabels", json!(pod_labels(manager, &name))),
        ("dnsPolicy", json!("Default")),
        ("priorityClass", json!(PRIORITY)),
        ("pullPolicy", json!("IfNotPresent")),
        ("volumeMounts", json!([cert])),
        ("volumes", json!([{"name": "serving-cert", "secret": secret}])),
        ("selector", json!(names::selector(&name))),
        ("replicas", json!(spec.replicas)),
        ("image", json!(spec.image.as_deref().unwrap_or(context.image))),
        ("args", json!(flags::of(manager, &name, context))),
        ("port", json!(spec.secure_port)),
        ("resources", resources),
    ]
    .into()
}

/// The default resources of a replica: a small request.
pub(crate) fn resources_by_default() -> Value {
    json!({"requests": {"cpu": "20m", "memory": "32Mi"}})
}

/// The user's labels, below those by which the operator and the Service select the Pods.
fn pod_labels(manager: &CloudControllerManager, name: &str) -> BTreeMap<String, String> {
    let mut labels = manager.spec.pod_template.labels.clone();
    let own = names::labels(manager, name).into_iter();
    labels.extend(own.map(|(label, value)| (label.to_owned(), value)));
    labels
}

fn annotate(template: &mut Value, spec: &Spec) {
    for (name, value) in &spec.pod_template.annotations {
        // The annotations of the operator are not overridden.
        if template["metadata"]["annotations"].get(name).is_none() {
            template["metadata"]["annotations"][name] = json!(value);
        }
    }
}

/// The user's variables, and the path of the credentials unless the user sets the variable.
fn set_env(pod: &mut Value, spec: &Spec, providers: &[Provider]) {
    let mut env: Vec<Value> = spec.env.iter().map(|variable| json!(variable)).collect();
    let credentials = credentials_variable(spec, providers);
    env.extend(credentials.filter(|variable| !spec.env.iter().any(|given| variable["name"] == given.name)));
    if !env.is_empty() {
        pod["containers"][0]["env"] = json!(env);
    }
}

/// The variable with which the provider finds its credentials, if the user gives any.
fn credentials_variable(spec: &Spec, providers: &[Provider]) -> Option<Value> {
    let secret = &spec.credentials.as_ref()?.secret.name;
    match provider::find(providers, &spec.provider)?.needs.credentials {
        Credentials::None => None,
        Credentials::File { variable, key } => Some(json!({"name": variable, "value": format!("{CREDENTIALS}/{key}")})),
        Credentials::Variable { variable, key } => {
            Some(json!({"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}))
        }
    }
}

/// An object that is owned by the manager.
fn owned(mut object: Value, manager: &CloudControllerManager) -> Result<Object, Cause> {
    own(&mut object, manager);
    valid(object)
}

fn valid(object: Value) -> Result<Object, Cause> {
    Object::new(object).map_err(|error| Cause::Terminal(("InvalidManifest", error.to_string())))
}

/// Sets the manager as the owner of an object, and adds its labels.
fn own(object: &mut Value, manager: &CloudControllerManager) {
    object["metadata"]["labels"] = json!(names::labels(manager, &manager.name_any()));
    if let Some(owner) = manager.owner_ref(&()) {
        let owner = OwnerReference {
            controller: Some(true),
            ..owner
        };
        object["metadata"]["ownerReferences"] = json!([owner]);
    }
}

fn mount_config(pod: &mut Value, config: Option<&CloudConfig>) {
    let Some(CloudConfig { config_map, secret }) = config else {
        return;
    };
    let items = |key: &str| json!([{"key": key, "path": CONFIG_FILE}]);
    let volume = match (config_map, secret) {
        (Some(map), _) => {
            json!({"name": "config", "configMap": {"name": map.name, "items": items(&map.key), "defaultMode": MODE}})
        }
        (None, Some(secret)) => {
            json!({"name": "config", "secret": {"secretName": secret.name, "items": items(&secret.key), "defaultMode": MODE}})
        }
        (None, None) => return,
    };
    mount(pod, volume, CONFIG);
}

fn mount_credentials(pod: &mut Value, spec: &Spec) {
    if let Some(credentials) = &spec.credentials {
        let name = &credentials.secret.name;
        let volume = json!({"name": "credentials", "secret": {"secretName": name, "defaultMode": MODE}});
        mount(pod, volume, CREDENTIALS);
    }
}

fn mount(pod: &mut Value, volume: Value, path: &str) {
    let mount = json!({"name": volume["name"], "mountPath": path, "readOnly": true});
    push(&mut pod["containers"][0]["volumeMounts"], mount);
    push(&mut pod["volumes"], volume);
}

fn place(pod: &mut Value, spec: &Spec) {
    for (label, value) in &spec.placement.node_selector {
        pod["nodeSelector"][label] = json!(value);
    }
    for toleration in &spec.placement.tolerations {
        push(&mut pod["tolerations"], json!(toleration));
    }
}

fn push(list: &mut Value, item: Value) {
    if let Some(list) = list.as_array_mut() {
        list.push(item);
    }
}
