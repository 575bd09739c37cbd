//! `route_controller_*`.

use prometheus::{IntCounter, IntCounterVec, Opts};
use runtime::metrics::Register;

/// The metrics of the controller.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub(super) syncs: IntCounter,
    changes: IntCounterVec,
}

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If they are registered already.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let syncs = IntCounter::new(
            "route_controller_route_sync_total",
            "A metric counting the amount of times routes have been synced with the cloud provider.",
        )?;
        let changes = IntCounterVec::new(
            Opts::new(
                "route_controller_route_changes_total",
                "Routes created and deleted, by result.",
            ),
            &["operation", "result"],
        )?;
        registry.register(Box::new(syncs.clone()))?;
        registry.register(Box::new(changes.clone()))?;
        Ok(Self { syncs, changes })
    }

    pub(super) fn changed(&self, operation: &str, result: &cloud::Result<()>) {
        let result = if result.is_ok() { "success" } else { "error" };
        self.changes.with_label_values(&[operation, result]).inc();
    }
}
