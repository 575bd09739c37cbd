//! Where a cluster's cloud code runs.

use super::Inputs;
use crate::platforms::external::{ANNOTATION, Request, is_external, requested};
use operator_api::{feature_gate::Details, infrastructure::PlatformStatus};

/// Where the cloud code runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a cloud controller manager.
    External,
    /// In kubelet, kube-controller-manager and kube-apiserver, under this name.
    InTree(&'static str),
    /// There is no cloud.
    Nowhere,
}

/// A platform that had an in-tree provider: its name, and the first minor version without it.
const IN_TREE: [(&str, &str, u32); 5] = [
    ("AWS", "aws", 27),
    ("Azure", "azure", 31),
    ("GCP", "gce", 31),
    ("OpenStack", "openstack", 26),
    ("VSphere", "vsphere", 31),
];

/// An in-tree cloud provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InTree {
    /// Its name in `--cloud-provider`.
    pub name: &'static str,
    /// Its platform, as in an Infrastructure.
    pub platform: &'static str,
    /// The first minor version of Kubernetes without it.
    pub gone: u32,
}

impl InTree {
    /// The in-tree provider of this name, if there was one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let found = IN_TREE.into_iter().find(|(_, known, _)| *known == name);
        found.map(Self::of)
    }

    /// The in-tree provider of this platform, if there was one.
    #[must_use]
    pub fn of_platform(type_: &str) -> Option<Self> {
        let found = IN_TREE.into_iter().find(|(platform, ..)| *platform == type_);
        found.map(Self::of)
    }

    fn of((platform, name, gone): (&'static str, &'static str, u32)) -> Self {
        Self { name, platform, gone }
    }
}

/// The name of the platform's in-tree provider in this version of Kubernetes, if it has one.
pub(super) fn in_tree_name(platform: &PlatformStatus, kubernetes: u32) -> Option<&'static str> {
    let (_, name, gone) = IN_TREE.iter().find(|(type_, ..)| *type_ == platform.type_)?;
    // Azure Stack Hub has been external since the first version of the operator.
    let stack_hub = platform
        .azure
        .as_ref()
        .is_some_and(|azure| azure.cloud_name == "AzureStackCloud");
    (kubernetes < *gone && !stack_hub).then_some(*name)
}

/// Where the code should run, and a message for the user.
pub(super) fn decide(inputs: &Inputs<'_>) -> (Place, Option<String>) {
    let Some(platform) = inputs.platform else {
        return (Place::Nowhere, Some("the Infrastructure has no platform".to_owned()));
    };
    let in_tree = in_tree_name(platform, inputs.kubernetes);
    let default = by_default(platform, inputs.gates, in_tree);
    match inputs.annotation.map(requested) {
        None => (default, None),
        Some(Request::External) => (Place::External, without_manager(platform)),
        Some(Request::InTree) => match (in_tree, default) {
            (Some(name), _) => (Place::InTree(name), None),
            (None, Place::Nowhere) => (Place::Nowhere, None),
            (None, _) => (default, Some(impossible(platform, inputs.kubernetes))),
        },
        Some(Request::Unclear) => (default, Some(unclear(inputs.annotation.unwrap_or_default()))),
    }
}

fn by_default(platform: &PlatformStatus, gates: Option<&Details>, in_tree: Option<&'static str>) -> Place {
    let gated = gates.and_then(|gates| gate(platform, gates));
    match (gated, in_tree) {
        (Some(Gate::Off), Some(name)) => Place::InTree(name),
        (Some(Gate::On), Some(_)) => Place::External,
        _ if is_external(platform) => Place::External,
        (_, Some(name)) => Place::InTree(name),
        _ => Place::Nowhere,
    }
}

enum Gate {
    On,
    Off,
}

fn gate(platform: &PlatformStatus, gates: &Details) -> Option<Gate> {
    let names = [
        "ExternalCloudProvider".to_owned(),
        format!("ExternalCloudProvider{}", platform.type_),
    ];
    let off = |name: &String| gates.disabled.iter().any(|gate| gate.name == *name);
    if names.iter().any(off) {
        return Some(Gate::Off);
    }
    names.iter().any(|name| gates.is_enabled(name)).then_some(Gate::On)
}

fn without_manager(platform: &PlatformStatus) -> Option<String> {
    let known = is_external(platform) || platform.type_ == "External";
    (!known).then(|| {
        format!(
            "{ANNOTATION} makes the cloud provider of platform {:?} external, and the operator has no cloud controller manager \
             for it: nodes stay uninitialized until another one is installed",
            platform.type_
        )
    })
}

fn impossible(platform: &PlatformStatus, kubernetes: u32) -> String {
    format!(
        "{ANNOTATION} is false, so the cloud controller manager is deleted; but Kubernetes 1.{kubernetes} has no cloud provider for \
         platform {:?}: new nodes stay uninitialized until another manager is installed",
        platform.type_
    )
}

fn unclear(value: &str) -> String {
    format!("{ANNOTATION} is {value:?}, which is neither true nor false: it is ignored")
}
