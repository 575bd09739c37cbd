//! How long a look takes, and what became of Nodes whose machines are missing.

use prometheus::{Histogram, HistogramOpts, HistogramTimer, IntCounter, IntGauge, exponential_buckets};
use runtime::metrics::Register;

/// The metrics of the controller.
#[derive(Debug, Clone)]
pub struct Metrics {
    deleted: IntCounter,
    held: IntGauge,
    looks: Histogram,
}

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If they are registered already.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let deleted = IntCounter::new(
            "node_lifecycle_controller_deleted_nodes_total",
            "Number of nodes deleted because their machines do not exist in the cloud.",
        )?;
        let held = IntGauge::new(
            "node_lifecycle_controller_held_deletions",
            "Number of nodes whose machines the cloud says are gone, and which are kept because too many are.",
        )?;
        let looks = Histogram::with_opts(
            HistogramOpts::new(
                "cloud_node_lifecycle_controller_monitor_nodes_duration_seconds",
                "A metric measuring the duration in seconds of a single MonitorNodes loop execution.",
            )
            .buckets(exponential_buckets(0.001, 2.0, 15)?),
        )?;
        registry.register(Box::new(deleted.clone()))?;
        registry.register(Box::new(held.clone()))?;
        registry.register(Box::new(looks.clone()))?;
        Ok(Self { deleted, held, looks })
    }

    /// Times one look at all Nodes, until dropped.
    pub(super) fn look(&self) -> HistogramTimer {
        self.looks.start_timer()
    }

    pub(super) fn deleted(&self) {
        self.deleted.inc();
    }

    pub(super) fn held(&self, nodes: usize) {
        self.held.set(i64::try_from(nodes).unwrap_or(i64::MAX));
    }
}
