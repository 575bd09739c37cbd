//! The `NetworkUnavailable` condition of a Node.

use crate::nodes::conditions::{self, NETWORK_UNAVAILABLE};
use k8s_openapi::{
    api::core::v1::{Node, NodeCondition},
    apimachinery::pkg::apis::meta::v1::Time,
};

/// Whether the pods of a node can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Networking {
    /// All its routes are there.
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

    /// The condition that says so; `None` if the Node says so already.
    #[must_use]
    pub fn condition(self, node: &Node, now: &Time) -> Option<NodeCondition> {
        let said = conditions::find(node, NETWORK_UNAVAILABLE);
        if said.is_some_and(|said| said.status == self.status() && said.reason.as_deref() == Some(self.reason())) {
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
