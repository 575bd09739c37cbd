//! What became of Nodes whose machines are missing.

use prometheus::{IntCounter, IntGauge, Registry};

/// The metrics of the controller.
#[derive(Debug, Clone)]
pub struct Metrics {
    deleted: IntCounter,
    held: IntGauge,
}

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If they are registered already.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let deleted = IntCounter::new(
            "node_lifecycle_controller_deleted_nodes_total",
            "Number of nodes deleted because their machines do not exist in the cloud.",
        )?;
        let held = IntGauge::new(
            "node_lifecycle_controller_held_deletions",
            "Number of nodes whose machines the cloud says are gone, and which are kept because too many are.",
        )?;
        registry.register(Box::new(deleted.clone()))?;
        registry.register(Box::new(held.clone()))?;
        Ok(Self { deleted, held })
    }

    pub(super) fn deleted(&self) {
        self.deleted.inc();
    }

    pub(super) fn held(&self, nodes: usize) {
        self.held.set(i64::try_from(nodes).unwrap_or(i64::MAX));
    }
}
