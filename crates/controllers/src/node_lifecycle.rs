//! The cloud node lifecycle controller: deletes Nodes whose instances do not exist any more, and taints those whose
//! instances are shut down.
//!
//! [`plan`](mod@plan) and [`deletion_limit`] decide, and are pure. Only Nodes that are not ready are looked up in the cloud,
//! all of them by one call.

mod controller;
pub mod deletion_limit;
mod metrics;
mod options;
pub mod plan;
mod reconcile;
mod write;

pub use controller::{Context, run};
pub use deletion_limit::Limits;
pub use metrics::Metrics;
pub use options::Options;

/// The source of its events.
pub const COMPONENT: &str = "cloud-node-lifecycle-controller";

#[cfg(test)]
mod tests;
