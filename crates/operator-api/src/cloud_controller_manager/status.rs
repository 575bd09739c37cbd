//! The status of a manager.

use super::{
    Claim,
    definition::{claims, conditions, references},
};
use crate::cluster_operator::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The status of the manager, as the operator observes it.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// The generation of the spec that the status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Available: a replica works. Progressing: a change is being rolled out. Degraded: there is a failure, and the message describes it. Each
    /// has a reason for programs and a message for users.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
    /// Why the manager is degraded, progressing or not available, in one sentence; empty if it works.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// All objects that were created for this manager, and that are deleted when it is removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "references")]
    pub related_objects: Vec<ObjectReference>,
    /// The scopes that the manager's Pods may have: the one that was rolled out last, and during a change also the new one.
    /// No other manager gets a scope that is listed here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "claims")]
    pub claims: Vec<Claim>,
    /// The version that has been rolled out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The number of replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The number of ready replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
}

impl Status {
    /// The condition of a type, if there is one.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == type_)
    }
}
