//! The status that an operator reports to the cluster.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use serde::{Deserialize, Serialize};

kind! {
    /// The status of an operator. Ours is named `cloud-controller-manager`.
    ClusterOperator = "ClusterOperator", "clusteroperators" { spec: Spec, status: Status }
}

/// Empty, but required by the schema.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spec {}

/// The operator writes all of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    /// `Available`, `Progressing`, `Degraded`, `Upgradeable` and those of its parts; one per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The versions that have been rolled out, `operator` first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<OperandVersion>,
    /// Objects that are relevant for an investigation; for us also the inventory of the objects that we have created.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_objects: Vec<ObjectReference>,
    /// Fields of other clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<serde_json::Value>,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Condition {
    /// `Available`
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The reason, for programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The message, for users.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When `status` last changed.
    pub last_transition_time: Time,
}

impl Default for Condition {
    fn default() -> Self {
        Self {
            type_: String::new(),
            status: String::new(),
            reason: String::new(),
            message: String::new(),
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
        }
    }
}

/// The version of a part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OperandVersion {
    /// `operator`
    pub name: String,
    /// `4.21.3`
    pub version: String,
}

/// A reference to an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObjectReference {
    /// `apps`; empty for the core group. The schema requires it.
    pub group: String,
    /// The plural: `deployments`.
    pub resource: String,
    /// Empty for a cluster-scoped object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ClusterOperator {
    /// The condition of a type, if there is one.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.status.conditions.iter().find(|condition| condition.type_ == type_)
    }
}
