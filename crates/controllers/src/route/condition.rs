//! The `NetworkUnavailable` condition of a Node.

use k8s_openapi::{api::core::v1::Node, apimachinery::pkg::apis::meta::v1::Time};
use serde_json::{Value, json};

/// The type of the condition.
pub const NETWORK_UNAVAILABLE: &str = "NetworkUnavailable";

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

    /// The patch of `nodes/status` that says so; `None` if the Node says so already. Another Node of the same name may
    /// have no route yet: the UID makes the API server refuse to tell it.
    #[must_use]
    pub fn patch(self, node: &Node, now: &Time) -> Option<Value> {
        let conditions = node
            .status
            .as_ref()
            .and_then(|status| status.conditions.as_deref())
            .unwrap_or_default();
        let said = conditions
            .iter()
            .find(|condition| condition.type_ == NETWORK_UNAVAILABLE);
        if said.is_some_and(|said| said.status == self.status() && said.reason.as_deref() == Some(self.reason())) {
            return None;
        }
        Some(
            json!({"metadata": {"uid": node.metadata.uid}, "status": {"conditions": [{
                "type": NETWORK_UNAVAILABLE,
                "status": self.status(),
                "reason": self.reason(),
                "message": self.message(),
                "lastHeartbeatTime": now,
                "lastTransitionTime": now,
            }]}}),
        )
    }
}
