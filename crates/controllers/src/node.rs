//! The cloud node controller: initializes new Nodes with what the cloud knows about their instances, and keeps it up to date.
//!
//! [`plan`](mod@plan) decides, and is pure. `reconcile` takes new Nodes from the queue in batches, describes their instances
//! in one call, and writes two patches for each Node: addresses first, then provider ID and labels together with the removal
//! of the taint. `refresh` describes the instances of all other Nodes once a period, and writes only what changed.

mod controller;
mod error;
mod metrics;
mod options;
pub mod plan;
mod reconcile;
mod refresh;
mod state;
mod status;
mod write;

pub use controller::{Context, queue, run};
pub use error::Error;
pub use metrics::Metrics;
pub use options::Options;
pub use plan::Labels;

/// The source of its events.
pub const COMPONENT: &str = "cloud-node-controller";

#[cfg(test)]
mod tests;
