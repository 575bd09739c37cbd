//! Which nodes and Services are a manager's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which nodes and Services are this manager's.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// The labels of its nodes; by default any. They have to be there when a node joins, so use labels that the kubelet sets: zones and the like come
    /// from the manager itself.
    #[serde(default, skip_serializing_if = "crate::is_empty")]
    pub node_selector: LabelSelector,

    /// What the provider IDs of its nodes begin with, before ://, for instance openstack; by default anything. A node without a provider ID
    /// is the manager's whose cloud knows a machine of its name: where names may repeat, use nodeSelector instead.
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

    /// What happens to Services without a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub services_without_class: Option<ServicesWithoutClass>,
}

/// Whether Services without a load balancer class are this manager's. Serve: they get load balancers. Ignore: another controller owns them. By default they are
/// served, unless loadBalancerClasses names some.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServicesWithoutClass {
    /// They get load balancers.
    Serve,
    /// Another controller owns them.
    Ignore,
}

/// Labels that a node has to have, all of them.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels and their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub match_labels: BTreeMap<String, String>,
    /// Labels and what their values may be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Vec<Requirement>,
}

/// What the value of a label may be.
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
    /// Whether Services without a load balancer class are its Services.
    pub fn serves_classless(&self) -> bool {
        match self.services_without_class {
            Some(answer) => answer == ServicesWithoutClass::Serve,
            None => self.load_balancer_classes.is_empty(),
        }
    }
}
