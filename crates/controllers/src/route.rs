//! The node route controller: creates a route in the cloud to the pods of each Node, and reports it in a condition of the
//! Node.
//!
//! Changes of Nodes are handled at once. Changes of routes by other programs are found by a periodic reconciliation.

mod controller;
mod metrics;
mod options;
mod plan;
mod reconcile;
mod status;

pub use controller::{Context, Key, queue, run};
pub use metrics::Metrics;
pub use options::{DEADLINE, Options};
pub use plan::{Plan, is_ours, plan};
pub use status::Networking;

/// The source of its events.
pub const COMPONENT: &str = "route_controller";

#[cfg(test)]
mod tests;
