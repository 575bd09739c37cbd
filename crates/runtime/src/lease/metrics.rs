//! `leader_election_*`, under the names of Kubernetes.

use crate::metrics::Register;
use prometheus::{Gauge, GaugeVec, IntCounter, IntCounterVec, Opts};

/// The `leader_election_*` metrics of a process; each lease is a label.
#[derive(Debug, Clone)]
pub struct Metrics {
    status: GaugeVec,
    slow_path: IntCounterVec,
}

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If they are registered already.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let status = Opts::new(
            "leader_election_master_status",
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates \
             master. 'name' is the string used to identify the lease. Please make sure to group by name.",
        );
        let slow_path = Opts::new(
            "leader_election_slowpath_total",
            "Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify \
             the lease. Please make sure to group by name.",
        );
        Ok(Self {
            status: registry.add(GaugeVec::new(status, &["name"]))?,
            slow_path: registry.add(IntCounterVec::new(slow_path, &["name"]))?,
        })
    }

    pub(super) fn of(&self, name: &str) -> LeaseMetrics {
        LeaseMetrics {
            status: self.status.with_label_values(&[name]),
            slow_path: self.slow_path.with_label_values(&[name]),
        }
    }
}

/// The metrics of one lease.
#[derive(Debug, Clone)]
pub(super) struct LeaseMetrics {
    status: Gauge,
    slow_path: IntCounter,
}

impl LeaseMetrics {
    pub(super) fn leading(&self) {
        self.status.set(1.0);
    }

    pub(super) fn not_leading(&self) {
        self.status.set(0.0);
    }

    pub(super) fn slow_path(&self) {
        self.slow_path.inc();
    }
}
