//! The `NetworkUnavailable` condition of a Node.

use super::Plan;
use crate::nodes::{
    self,
    conditions::{self, NETWORK_UNAVAILABLE},
};
use k8s_openapi::{
    api::core::v1::{Node, NodeCondition},
    apimachinery::pkg::apis::meta::v1::Time,
};
use std::{collections::BTreeSet, sync::Arc};

/// Whether the pods of a node can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Networking {
    /// All its routes exist.
    Routed,
    /// A route is missing.
    Unrouted,
}

impl Networking {
    fn status(self) -> &'static str {
        match self {
            Self::Routed => "False",
            Self::Unrouted => "True",
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Routed => "RouteCreated",
            Self::Unrouted => "NoRouteCreated",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::Routed => "RouteController created a route",
            Self::Unrouted => "RouteController failed to create a route",
        }
    }

    /// The condition to write; `None` if the Node has it already.
    #[must_use]
    pub fn condition(self, node: &Node, now: &Time) -> Option<NodeCondition> {
        let current = conditions::find(node, NETWORK_UNAVAILABLE);
        if current.is_some_and(|it| it.status == self.status() && it.reason.as_deref() == Some(self.reason())) {
            return None;
        }
        Some(NodeCondition {
            type_: NETWORK_UNAVAILABLE.to_owned(),
            status: self.status().to_owned(),
            reason: Some(self.reason().to_owned()),
            message: Some(self.message().to_owned()),
            last_heartbeat_time: Some(now.clone()),
            last_transition_time: Some(now.clone()),
        })
    }
}

/// The Nodes whose condition is out of date, with the condition to write.
pub(super) fn outdated(
    plan: &Plan,
    unrouted: &BTreeSet<String>,
    nodes: &[Arc<Node>],
    now: &Time,
) -> Vec<(Arc<Node>, NodeCondition)> {
    let reported = nodes.iter().filter(|node| plan.nodes.contains(nodes::name(node)));
    let outdated = reported.filter_map(|node| {
        let networking = if unrouted.contains(nodes::name(node)) {
            Networking::Unrouted
        } else {
            Networking::Routed
        };
        Some((node.clone(), networking.condition(node, now)?))
    });
    outdated.collect()
}
