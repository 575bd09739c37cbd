//! The nodes and Services of a manager.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The nodes and Services of this manager.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// The labels of its nodes; by default any. A node must have them when it joins, so use labels that the kubelet sets: the manager
    /// itself sets labels such as the zone.
    #[serde(default, skip_serializing_if = "crate::is_empty")]
    pub node_selector: LabelSelector,

    /// The schemes of the provider IDs of its nodes (the part before ://), for example openstack; by default any. A node without a provider ID
    /// belongs to the manager whose cloud has a machine of its name: if names are not unique, use nodeSelector instead.
    #[serde(default, rename = "providerIDSchemes", skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        inner(length(min = 1, max = 64), regex(pattern = "^[A-Za-z][-+.A-Za-z0-9]*$")),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub provider_id_schemes: Vec<String>,

    /// The load balancer classes of its Services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        inner(length(min = 1, max = 317), regex(pattern = "^[A-Za-z0-9]([-._/A-Za-z0-9]*[A-Za-z0-9])?$")),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub load_balancer_classes: Vec<String>,

    /// Whether it serves Services without a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub services_without_class: Option<ServicesWithoutClass>,
}

/// Whether this manager serves Services without a load balancer class. Serve: they get load balancers. Ignore: another controller owns them. By default they are
/// served, unless loadBalancerClasses is set.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServicesWithoutClass {
    /// They get load balancers.
    Serve,
    /// Another controller owns them.
    Ignore,
}

/// Labels that a node must have, all of them.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels with these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub match_labels: BTreeMap<String, String>,
    /// Requirements for labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Vec<Requirement>,
}

/// A requirement for a label.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
    "message": "In and NotIn need values, Exists and DoesNotExist have none",
}]))]
pub struct Requirement {
    /// The label.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// In, `NotIn`, Exists or `DoesNotExist`.
    #[schemars(extend("enum" = ["In", "NotIn", "Exists", "DoesNotExist"]))]
    pub operator: String,
    /// For In and `NotIn`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 63)), extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Vec<String>,
}

impl Scope {
    /// Whether Services without a load balancer class are served.
    pub fn serves_classless(&self) -> bool {
        match self.services_without_class {
            Some(answer) => answer == ServicesWithoutClass::Serve,
            None => self.load_balancer_classes.is_empty(),
        }
    }
}
