//! The enabled features, for each version that the cluster runs or is being updated to.

use serde::{Deserialize, Serialize};

kind! {
    /// The cluster's features. The operator reads the one named `cluster`.
    FeatureGate = "FeatureGate", "featuregates" { spec: Spec, status: Status }
}

/// The spec.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `TechPreviewNoUpgrade` and the like; empty for the default.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub feature_set: String,
}

/// The status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    /// One entry per version.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub feature_gates: Vec<Details>,
}

/// The features of one version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Details {
    /// The version.
    pub version: String,
    /// The enabled features.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub enabled: Vec<Gate>,
    /// The disabled features.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled: Vec<Gate>,
}

/// One feature.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Gate {
    /// `CloudControllerManagerWebhook`
    pub name: String,
}

impl FeatureGate {
    /// The features of `version`, if the cluster reports them.
    pub fn details(&self, version: &str) -> Option<&Details> {
        self.status
            .feature_gates
            .iter()
            .find(|details| details.version == version)
    }
}

impl Details {
    /// Whether a feature is enabled. One that is not listed is disabled.
    pub fn is_enabled(&self, name: &str) -> bool {
        self.enabled.iter().any(|gate| gate.name == name)
    }
}
