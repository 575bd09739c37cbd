//! How a manager is doing.

use super::{
    Claim,
    definition::{claims, conditions, references},
};
use crate::cluster_operator::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the manager is doing, as the operator sees it.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// The generation of the spec that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Available: one of the replicas works. Progressing: a change is on its way. Degraded: something is wrong, and the message says what. Each
    /// with a reason for programs and a sentence for people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
    /// Why the manager is degraded, still progressing or not available, in one sentence; empty if it is as it should be.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Everything that was made for this manager, and that goes when it is removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "references")]
    pub related_objects: Vec<ObjectReference>,
    /// What the manager's Pods may be looking after, in the words of spec: what was rolled out last, and while a change is on its way that as well.
    /// As long as it stands here no other manager gets it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "claims")]
    pub claims: Vec<Claim>,
    /// The version that has been rolled out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// How many replicas there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// How many of them are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
}

impl Status {
    /// The condition of a type, if there is one.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == type_)
    }
}
