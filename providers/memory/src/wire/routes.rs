//! Routes.

use crate::wire::{Address, each, id, id_text};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The answer of `list`, and the body of `delete`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Routes<T> {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) cluster: String,
    pub(crate) routes: Vec<T>,
}

/// [`cloud::Route`]
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Route {
    name: String,
    destination: IpNet,
    #[serde(default)]
    target: Target,
    /// The node's name, if the target is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    addresses: Option<Vec<Address>>,
}

/// The kind of [`cloud::RouteTarget`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Target {
    #[default]
    Node,
    Blackhole,
    Unknown,
}

/// [`cloud::NewRoute`]
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRoute {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    hint: String,
    node: String,
    #[serde(rename = "providerID", default, skip_serializing_if = "Option::is_none")]
    provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<Address>,
    destination: IpNet,
}

impl From<cloud::Route> for Route {
    fn from(
        cloud::Route {
            name,
            destination,
            target,
            addresses,
        }: cloud::Route,
    ) -> Self {
        let (target, node) = match target {
            cloud::RouteTarget::Node(node) => (Target::Node, Some(node)),
            cloud::RouteTarget::Blackhole => (Target::Blackhole, None),
            cloud::RouteTarget::Unknown => (Target::Unknown, None),
        };
        Self {
            name,
            destination,
            target,
            node,
            addresses: addresses.map(each),
        }
    }
}

impl From<Route> for cloud::Route {
    fn from(
        Route {
            name,
            destination,
            target,
            node,
            addresses,
        }: Route,
    ) -> Self {
        let target = match (target, node) {
            (Target::Node, Some(node)) => cloud::RouteTarget::Node(node),
            (Target::Blackhole, _) => cloud::RouteTarget::Blackhole,
            (Target::Unknown, _) | (Target::Node, None) => cloud::RouteTarget::Unknown,
        };
        Self {
            name,
            destination,
            target,
            addresses: addresses.map(each),
        }
    }
}

impl From<cloud::NewRoute> for NewRoute {
    fn from(
        cloud::NewRoute {
            hint,
            node,
            provider_id,
            addresses,
            destination,
        }: cloud::NewRoute,
    ) -> Self {
        Self {
            hint,
            node,
            provider_id: id_text(provider_id),
            addresses: each(addresses),
            destination,
        }
    }
}

impl From<NewRoute> for cloud::NewRoute {
    fn from(
        NewRoute {
            hint,
            node,
            provider_id,
            addresses,
            destination,
        }: NewRoute,
    ) -> Self {
        Self {
            hint,
            node,
            provider_id: id(provider_id),
            addresses: each(addresses),
            destination,
        }
    }
}
