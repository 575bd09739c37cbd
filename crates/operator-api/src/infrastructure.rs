//! The platform of the cluster.

pub mod platform_spec;
pub mod platform_status;

pub use platform_spec::PlatformSpec;
pub use platform_status::PlatformStatus;

use serde::{Deserialize, Serialize};

kind! {
    /// The platform of the cluster. The operator reads the one named `cluster`; its annotations count, too.
    Infrastructure = "Infrastructure", "infrastructures" { spec: Spec, status: Status }
}

/// The spec.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// The `ConfigMap` in `openshift-config` with the cloud's configuration.
    #[serde(skip_serializing_if = "crate::is_empty")]
    pub cloud_config: CloudConfig,
    /// The settings of the platform.
    #[serde(skip_serializing_if = "crate::is_empty")]
    pub platform_spec: PlatformSpec,
}

/// A key of a `ConfigMap`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CloudConfig {
    /// The `ConfigMap`; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The key; empty for `cloud.conf`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
}

/// The status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    /// The name that is part of all names of the cluster's objects in its cloud.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub infrastructure_name: String,
    /// `SingleReplica`, or another value that means several machines.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub control_plane_topology: String,
    /// The platform; `None` before the installer has set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform_status: Option<PlatformStatus>,
}

/// An address to use instead of a service's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceEndpoint {
    /// `ec2`
    pub name: String,
    /// `https://…`
    pub url: String,
}

#[cfg(test)]
mod tests;
