//! How long a pass takes, and how many Nodes were deleted or held.

use prometheus::{Histogram, HistogramOpts, HistogramTimer, IntCounter, IntGauge, exponential_buckets};
use runtime::metrics::Register;

/// The metrics of the controller.
#[derive(Debug, Clone)]
pub struct Metrics {
    deleted: IntCounter,
    held: IntGauge,
    passes: Histogram,
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
            "Number of nodes that are not deleted although their machines do not exist in the cloud, because too many are missing.",
        )?;
        let passes = Histogram::with_opts(
            HistogramOpts::new(
                "cloud_node_lifecycle_controller_monitor_nodes_duration_seconds",
                "A metric measuring the duration in seconds of a single MonitorNodes loop execution.",
            )
            .buckets(exponential_buckets(0.001, 2.0, 15)?),
        )?;
        registry.register(Box::new(deleted.clone()))?;
        registry.register(Box::new(held.clone()))?;
        registry.register(Box::new(passes.clone()))?;
        Ok(Self { deleted, held, passes })
    }

    /// Times one pass over all Nodes, until dropped.
    pub(super) fn pass(&self) -> HistogramTimer {
        self.passes.start_timer()
    }

    pub(super) fn deleted(&self) {
        self.deleted.inc();
    }

    pub(super) fn held(&self, nodes: usize) {
        self.held.set(i64::try_from(nodes).unwrap_or(i64::MAX));
    }
}
