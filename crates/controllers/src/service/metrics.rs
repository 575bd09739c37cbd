//! `service_controller_*`.

use super::not_ready::NotReady;
use prometheus::{
    GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, exponential_buckets,
};
use runtime::metrics::Register;
use std::time::Instant;

/// The metrics of the controller. Clones share them.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub(super) syncs: IntCounter,
    pub(super) node_sync_errors: IntCounter,
    pub(super) node_sync: Histogram,
    pub(super) update_hosts: Histogram,
    pub(super) calls: HistogramVec,
    pub(super) failures: IntCounterVec,
    pub(super) ready: Histogram,
    pub(super) pending: IntGauge,
    not_ready: GaugeVec,
    pub(super) orphans: IntGauge,
}

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If they are registered already.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let metrics = Self::new()?;
        registry.register(Box::new(metrics.syncs.clone()))?;
        registry.register(Box::new(metrics.node_sync_errors.clone()))?;
        registry.register(Box::new(metrics.node_sync.clone()))?;
        registry.register(Box::new(metrics.update_hosts.clone()))?;
        registry.register(Box::new(metrics.calls.clone()))?;
        registry.register(Box::new(metrics.failures.clone()))?;
        registry.register(Box::new(metrics.ready.clone()))?;
        registry.register(Box::new(metrics.pending.clone()))?;
        registry.register(Box::new(metrics.not_ready.clone()))?;
        registry.register(Box::new(metrics.orphans.clone()))?;
        Ok(metrics)
    }

    /// Replaces the Services that are not ready.
    pub(super) fn show_not_ready(&self, services: &[NotReady]) {
        self.not_ready.reset();
        for NotReady {
            namespace,
            name,
            reason,
            since,
        } in services
        {
            self.not_ready
                .with_label_values(&[namespace, name, reason])
                .set(since.as_duration().as_secs_f64());
        }
    }

    fn new() -> prometheus::Result<Self> {
        // The buckets of the Go framework for its own histograms; finer ones for ours.
        let slow = exponential_buckets(1.0, 2.0, 15)?;
        let fine = exponential_buckets(0.01, 2.0, 16)?;
        let histogram =
            |name: &str, help: &str, buckets: &[f64]| HistogramOpts::new(name, help).buckets(buckets.to_vec());
        Ok(Self {
            syncs: IntCounter::new(
                "service_controller_loadbalancer_sync_total",
                "A metric counting the amount of times any load balancer has been configured, as an effect of service/node changes on the cluster",
            )?,
            node_sync_errors: IntCounter::new(
                "service_controller_nodesync_error_total",
                "A metric counting the amount of times any load balancer has been configured and errored, as an effect of node changes on the cluster",
            )?,
            node_sync: Histogram::with_opts(histogram(
                "service_controller_nodesync_latency_seconds",
                "A metric measuring the latency for nodesync which updates loadbalancer hosts on cluster node updates.",
                &slow,
            ))?,
            update_hosts: Histogram::with_opts(histogram(
                "service_controller_update_loadbalancer_host_latency_seconds",
                "A metric measuring the latency for updating each load balancer hosts.",
                &slow,
            ))?,
            calls: HistogramVec::new(
                histogram(
                    "service_controller_ensure_duration_seconds",
                    "Duration of one call to the cloud, by operation (ensure, update_hosts, delete, find, owned)",
                    &fine,
                ),
                &["operation"],
            )?,
            failures: IntCounterVec::new(
                Opts::new(
                    "service_controller_loadbalancer_failures_total",
                    "Failed attempts to reconcile a load balancer, by operation",
                ),
                &["operation"],
            )?,
            ready: Histogram::with_opts(histogram(
                "service_controller_loadbalancer_ready_seconds",
                "Time from the first attempt until a load balancer matched its Service",
                &fine,
            ))?,
            pending: IntGauge::new(
                "service_controller_loadbalancers_pending",
                "Load balancers that are pending in the cloud",
            )?,
            not_ready: GaugeVec::new(
                Opts::new(
                    "service_controller_loadbalancer_not_ready_since_seconds",
                    "Unix time since when the load balancer of a Service has not been ready, by Service and reason of its condition; \
                     at most the 100 Services that have waited longest",
                ),
                &["namespace", "name", "reason"],
            )?,
            orphans: IntGauge::new(
                "service_controller_orphans",
                "Objects in the cloud whose Service does not exist, found by the last sweep",
            )?,
        })
    }
}

/// Counts a load balancer as pending until dropped.
#[derive(Debug)]
pub(super) struct Pending(IntGauge);

impl Pending {
    pub(super) fn new(metrics: &Metrics) -> Self {
        metrics.pending.inc();
        Self(metrics.pending.clone())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// One change of the hosts: dropped, and its latency observed, when the last load balancer has them.
#[derive(Debug)]
pub(super) struct HostChange {
    started: Instant,
    latency: Histogram,
}

impl HostChange {
    pub(super) fn start(metrics: &Metrics) -> Self {
        Self {
            started: Instant::now(),
            latency: metrics.node_sync.clone(),
        }
    }
}

impl Drop for HostChange {
    fn drop(&mut self) {
        self.latency.observe(self.started.elapsed().as_secs_f64());
    }
}
