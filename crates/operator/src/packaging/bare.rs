//! The manager without the operator: manifests, a kustomize base with an overlay for each provider, and a static Pod.

use super::{
    ACCOUNTS, CLUSTER_ROLE, Error, File, GENERATED, IMAGE, cluster_role_values, plain, text, text::Fill, text::Target,
};
use crate::standalone::{
    self, CONFIG, CONFIG_FILE, CREDENTIALS, MODE, names,
    provider::{ClusterName, Config, Credentials, Provider},
};
use operator_api::cloud_controller_manager::PLACEHOLDER;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The name of all objects except the account, which has the same name as in other cloud controller managers.
const NAME: &str = "outrigger-cloud-controller-manager";
const ACCOUNT: &str = "cloud-controller-manager";
const NAMESPACE: &str = "kube-system";
/// The lease of every cloud controller manager: two of them cannot work at the same time.
const LEASE: &str = "cloud-controller-manager";
/// The lease while kube-controller-manager hands controllers over.
const MIGRATION: &str = "cloud-provider-extraction-migration";
/// The `ConfigMap` with values that only the user knows. Without it no Pod starts.
const SETTINGS: &str = "outrigger-cloud-controller-manager";
/// The Secret with the provider's configuration, as in other cloud controller managers.
const CONFIG_SECRET: &str = "cloud-config";
const CREDENTIALS_SECRET: &str = "cloud-credentials";
/// The accounts of controllers, with `--use-service-account-credentials`.
pub(super) const CONTROLLER_ACCOUNTS: [&str; 4] = [
    "node-controller",
    "route-controller",
    "service-controller",
    "tagging-controller",
];

const OVERLAY: &str = include_str!("overlay.yaml");
const NAMESPACE_TRANSFORMER: &str = include_str!("namespace-transformer.yaml");

type Values = BTreeMap<&'static str, Fill>;

/// The labels of the manager without the operator.
pub(super) fn labels() -> BTreeMap<&'static str, &'static str> {
    let mut labels = selector();
    labels.extend([
        ("app.kubernetes.io/part-of", "outrigger"),
        ("app.kubernetes.io/version", env!("CARGO_PKG_VERSION")),
    ]);
    labels
}

fn selector() -> BTreeMap<&'static str, &'static str> {
    [
        ("app.kubernetes.io/instance", "outrigger"),
        ("app.kubernetes.io/name", "cloud-controller-manager"),
    ]
    .into()
}

pub(super) fn files(providers: &[Provider]) -> Result<Vec<File>, Error> {
    let values = values();
    let both = |name: &str, head: &str, sources: &[&str]| {
        let written = |target| {
            let mut all = cluster_role_values();
            all.extend(values.clone());
            let documents: Result<Vec<_>, _> = sources.iter().map(|source| text::write(source, target, &all)).collect();
            documents.map(|documents| documents.join("---\n"))
        };
        let plain = format!("{head}{GENERATED}{}", written(Target::Manifest)?);
        let base = format!("{GENERATED}{}", written(Target::Base)?);
        Ok([
            File::new(format!("deploy/manager/{name}"), plain),
            File::new(format!("deploy/kustomize/base/manager/{name}"), base),
        ])
    };
    let rbac = [standalone::ACCOUNT, CLUSTER_ROLE, standalone::RBAC];
    let workload = [standalone::DEPLOYMENT, standalone::SERVICE, standalone::SEVERAL];
    let mut files = Vec::new();
    files.extend(both("rbac.yaml", RBAC_HEAD, &rbac)?);
    files.extend(both("rbac-service-accounts.yaml", "", &[ACCOUNTS])?);
    files.extend(both("deployment.yaml", DEPLOYMENT_HEAD, &workload)?);
    let deployment = text::write(standalone::DEPLOYMENT, Target::Manifest, &values)?;
    let deployment: Value = serde_saphyr::from_str(&deployment).map_err(|error| Error::Yaml(error.to_string()))?;
    files.push(File::new(
        "deploy/manager/daemonset.yaml",
        format!("{DAEMON_SET_HEAD}{GENERATED}{}", yaml(&daemon_set(&deployment))?),
    ));
    files.push(File::new(
        "deploy/manager/static-pod.yaml",
        format!("{STATIC_POD_HEAD}{GENERATED}{}", yaml(&static_pod(&deployment))?),
    ));
    for provider in providers {
        files.push(overlay(provider)?);
        files.push(namespace(provider.name, NAMESPACE)?);
    }
    Ok(files)
}

const RBAC_HEAD: &str = "# The account of a cloud controller manager without the operator, and what it may do. The ClusterRole has a name of its own: the manifests and charts of\n\
    # other cloud controller managers keep theirs.\n";
const DEPLOYMENT_HEAD: &str = "# The manager without the operator. Apply ./rbac.yaml first, and create what only you know; no Pod starts without it:\n\
    #\n\
    #   kubectl -n kube-system create configmap outrigger-cloud-controller-manager --from-literal=provider=openstack --from-literal=cluster-name=NAME\n\
    #   kubectl -n kube-system create secret generic cloud-config --from-file=cloud.conf\n\
    #\n\
    # ../kustomize has an overlay for each provider, and sets the namespace and the image in one place each.\n";
const DAEMON_SET_HEAD: &str = "# As ./deployment.yaml, on every node of the control plane.\n";
const STATIC_POD_HEAD: &str = "# A static Pod for a control plane node that kubeadm set up: copy it to /etc/kubernetes/manifests. It reads, on that node,\n\
    #\n\
    #   /etc/kubernetes/cloud-controller-manager.conf   a kubeconfig: kubeadm kubeconfig user --client-name=system:serviceaccount:kube-system:cloud-controller-manager\n\
    #   /etc/kubernetes/cloud.conf                      the configuration of the provider\n\
    #\n\
    # Both have to be readable by the group 65532. Apply ./rbac.yaml, and replace CHANGE-ME: the manager refuses to start with it.\n";

fn values() -> Values {
    let accounts =
        CONTROLLER_ACCOUNTS.map(|name| json!({"kind": "ServiceAccount", "name": name, "namespace": "kube-system"}));
    [
        ("kind", json!("Deployment")),
        ("name", json!(NAME)),
        ("account", json!(ACCOUNT)),
        ("namespace", json!(NAMESPACE)),
        ("clusterRole", json!(names::CLUSTER_ROLE)),
        ("clusterBinding", json!(names::CLUSTER_ROLE)),
        (
            "readerBinding",
            json!(format!("{}:authentication-reader", names::CLUSTER_ROLE)),
        ),
        ("leaseNamespace", json!("kube-system")),
        ("leases", json!([LEASE, MIGRATION])),
        ("controllerAccounts", json!(CONTROLLER_ACCOUNTS)),
        ("controllerSubjects", json!(accounts)),
        ("labels", json!(labels())),
        ("podLabels", json!(labels())),
        ("selector", json!(selector())),
        ("replicas", json!(2)),
        ("dnsPolicy", json!("Default")),
        ("priorityClass", json!(standalone::PRIORITY)),
        ("pullPolicy", json!("IfNotPresent")),
        ("image", json!(IMAGE)),
        (
            "args",
            json!(args("$(CLOUD_PROVIDER)", "$(CLUSTER_NAME)", "$(CLOUD_CONFIG)")),
        ),
        ("env", env()),
        ("port", json!(operator_api::cloud_controller_manager::SECURE_PORT)),
        ("resources", standalone::resources_by_default()),
        ("volumeMounts", mounts()),
        ("volumes", volumes()),
    ]
    .into_iter()
    .map(|(name, value)| (name, plain(value)))
    .collect()
}

fn args(provider: &str, cluster: &str, config: &str) -> Vec<String> {
    vec![
        "ccm".to_owned(),
        format!("--cloud-provider={provider}"),
        format!("--cluster-name={cluster}"),
        format!("--cloud-config={config}"),
        "--leader-elect=true".to_owned(),
    ]
}

/// Variables, because kustomize can merge them by name.
fn env() -> Value {
    let setting =
        |name: &str, key: &str| json!({"name": name, "valueFrom": {"configMapKeyRef": {"name": SETTINGS, "key": key}}});
    json!([
        setting("CLOUD_PROVIDER", "provider"),
        setting("CLUSTER_NAME", "cluster-name"),
        {"name": "CLOUD_CONFIG", "value": format!("{CONFIG}/{CONFIG_FILE}")},
    ])
}

fn mounts() -> Value {
    json!([
        {"name": "config", "mountPath": CONFIG, "readOnly": true},
        {"name": "credentials", "mountPath": CREDENTIALS, "readOnly": true},
    ])
}

fn volumes() -> Value {
    let secret = |name: &str| json!({"secretName": name, "optional": true, "defaultMode": MODE});
    json!([
        {"name": "config", "secret": secret(CONFIG_SECRET)},
        {"name": "credentials", "secret": secret(CREDENTIALS_SECRET)},
    ])
}

fn daemon_set(deployment: &Value) -> Value {
    let mut object = deployment.clone();
    object["kind"] = json!("DaemonSet");
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("replicas");
        spec.remove("strategy");
    }
    object["spec"]["updateStrategy"] = json!({"type": "RollingUpdate"});
    let pod = &mut object["spec"]["template"]["spec"];
    if let Some(pod) = pod.as_object_mut() {
        // A DaemonSet has one Pod per node anyway.
        pod.remove("affinity");
        pod.remove("topologySpreadConstraints");
    }
    pod["nodeSelector"]["node-role.kubernetes.io/control-plane"] = json!("");
    object
}

fn static_pod(deployment: &Value) -> Value {
    let template = &deployment["spec"]["template"];
    let mut spec = template["spec"].clone();
    if let Some(spec) = spec.as_object_mut() {
        // A static Pod is on its node already, and has no account.
        for field in [
            "serviceAccountName",
            "automountServiceAccountToken",
            "nodeSelector",
            "affinity",
            "topologySpreadConstraints",
            "tolerations",
        ] {
            spec.remove(field);
        }
    }
    spec["priorityClassName"] = json!("system-node-critical");
    let file = |name: &str, file: &str| {
        let volume = json!({"name": name, "hostPath": {"path": format!("/etc/kubernetes/{file}"), "type": "File"}});
        let mount = json!({"name": name, "mountPath": format!("/etc/kubernetes/{file}"), "readOnly": true});
        (volume, mount)
    };
    let (kubeconfig, at_kubeconfig) = file("kubeconfig", "cloud-controller-manager.conf");
    let (config, at_config) = file("config", "cloud.conf");
    spec["volumes"] = json!([kubeconfig, config]);
    let container = &mut spec["containers"][0];
    container["volumeMounts"] = json!([at_kubeconfig, at_config]);
    let mut flags = args(PLACEHOLDER, PLACEHOLDER, "/etc/kubernetes/cloud.conf");
    for flag in ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"] {
        flags.push(format!("--{flag}=/etc/kubernetes/cloud-controller-manager.conf"));
    }
    container["args"] = json!(flags);
    if let Some(container) = container.as_object_mut() {
        container.remove("env");
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": template["metadata"]["labels"]},
        "spec": spec,
    })
}

fn yaml(value: &Value) -> Result<String, Error> {
    serde_saphyr::to_string(value).map_err(|error| Error::Yaml(error.to_string()))
}

/// An overlay that runs the manager for one provider. The user sets the values that only the user knows.
fn overlay(provider: &Provider) -> Result<File, Error> {
    let cluster = match provider.needs.cluster_name {
        ClusterName::Owns => PLACEHOLDER,
        ClusterName::Describes => "kubernetes",
    };
    let patches = match variables(provider) {
        variables if variables.is_empty() => json!([]),
        variables => json!([{ "patch": yaml(&patch(&json!(variables)))? }]),
    };
    let values = [
        ("settings", json!(SETTINGS)),
        ("provider", json!(provider.name)),
        ("clusterName", json!(cluster)),
        ("secrets", json!(secrets(provider))),
        ("patches", patches),
    ];
    let values = values.into_iter().map(|(name, value)| (name, plain(value))).collect();
    let text = text::write(OVERLAY, Target::Manifest, &values)?;
    let path = format!("deploy/kustomize/{}/kustomization.yaml", provider.name);
    Ok(File::new(path, format!("{GENERATED}{text}")))
}

/// The Secrets of the manager, from files of the user.
fn secrets(provider: &Provider) -> Vec<Value> {
    let secret = |name: &str, file: &str| json!({"name": name, "files": [file]});
    let config = (provider.needs.config == Config::Needed).then(|| secret(CONFIG_SECRET, CONFIG_FILE));
    let credentials = match provider.needs.credentials {
        Credentials::None => None,
        Credentials::File { key, .. } | Credentials::Variable { key, .. } => Some(secret(CREDENTIALS_SECRET, key)),
    };
    config.into_iter().chain(credentials).collect()
}

/// Further variables of the manager's environment.
fn variables(provider: &Provider) -> Vec<Value> {
    let config = (provider.needs.config == Config::Optional).then(|| json!({"name": "CLOUD_CONFIG", "value": ""}));
    let credentials = match provider.needs.credentials {
        Credentials::None => None,
        Credentials::File { variable, key } => Some(json!({"name": variable, "value": format!("{CREDENTIALS}/{key}")})),
        Credentials::Variable { variable, key } => {
            let reference = json!({"name": CREDENTIALS_SECRET, "key": key});
            Some(json!({"name": variable, "valueFrom": {"secretKeyRef": reference}}))
        }
    };
    config.into_iter().chain(credentials).collect()
}

fn patch(env: &Value) -> Value {
    let container = json!({"name": "cloud-controller-manager", "env": env});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME},
        "spec": {"template": {"spec": {"containers": [container]}}},
    })
}

/// The transformer that sets the namespace, in one place.
pub(super) fn namespace(overlay: &str, namespace: &str) -> Result<File, Error> {
    let values = [("namespace", plain(json!(namespace)))].into();
    let text = text::write(NAMESPACE_TRANSFORMER, Target::Manifest, &values)?;
    Ok(File::new(
        format!("deploy/kustomize/{overlay}/namespace.yaml"),
        format!("{GENERATED}{text}"),
    ))
}
