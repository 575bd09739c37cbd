//! How long the initialization of Nodes takes, under the names of the Go framework.

use prometheus::{Histogram, HistogramOpts};
use runtime::metrics::Register;
use std::time::Duration;

/// The metrics of the controller.
#[derive(Debug, Clone)]
pub struct Metrics {
    taint_removed: Histogram,
    synced: Histogram,
}

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If they are registered already.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let buckets = prometheus::exponential_buckets(1.0, 4.0, 6)?;
        let histogram = |name: &str, help: &str| {
            let opts = HistogramOpts::new(name, help)
                .subsystem("node_controller")
                .buckets(buckets.clone());
            Histogram::with_opts(opts)
        };
        let taint_removed = histogram(
            "cloud_provider_taint_removal_delay_seconds",
            "Number of seconds after node creation when NodeController removed the cloud-provider taint of a single node.",
        )?;
        let synced = histogram(
            "initial_node_sync_delay_seconds",
            "Number of seconds after node creation when NodeController finished the initial synchronization of a single node.",
        )?;
        registry.register(Box::new(taint_removed.clone()))?;
        registry.register(Box::new(synced.clone()))?;
        Ok(Self { taint_removed, synced })
    }

    pub(super) fn taint_removed(&self, age: Duration) {
        self.taint_removed.observe(age.as_secs_f64());
    }

    pub(super) fn synced(&self, age: Duration) {
        self.synced.observe(age.as_secs_f64());
    }
}
