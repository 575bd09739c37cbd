//! Which release the cluster runs.

use serde::{Deserialize, Serialize};

kind! {
    /// The release of the cluster. The operator reads the one named `version`.
    ClusterVersion = "ClusterVersion", "clusterversions" { spec: Spec, status: Status }
}

/// The spec.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spec {
    /// The cluster's UUID.
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
}

/// The status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The release that the cluster runs, or is being updated to.
    pub desired: Release,
    /// The releases so far, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Update>,
}

/// A release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Release {
    /// `4.21.3`
    pub version: String,
    /// Its image.
    pub image: String,
}

/// A change to a release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Update {
    /// `Completed` or `Partial`.
    pub state: String,
    /// The version; empty if it is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
}
