//! `workqueue_*`, under the names and labels of client-go.

use crate::metrics::Register;
use prometheus::{CounterVec, GaugeVec, HistogramOpts, HistogramVec, IntGaugeVec, Opts};
use std::time::Duration;

/// The `workqueue_*` metrics of a process; each queue is a label.
#[derive(Debug, Clone)]
pub struct Metrics {
    depth: IntGaugeVec,
    adds: CounterVec,
    waited: HistogramVec,
    worked: HistogramVec,
    unfinished: GaugeVec,
    longest: GaugeVec,
    retries: CounterVec,
}

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If they are registered already.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let buckets = prometheus::exponential_buckets(1e-8, 10.0, 10)?;
        let counter = |name, help| registry.add(CounterVec::new(Opts::new(name, help), &["name"]));
        let gauge = |name, help| registry.add(GaugeVec::new(Opts::new(name, help), &["name"]));
        let histogram = |name: &str, help: &str| {
            let options = HistogramOpts::new(name, help).buckets(buckets.clone());
            registry.add(HistogramVec::new(options, &["name"]))
        };
        let depth = Opts::new("workqueue_depth", "Current depth of workqueue");
        Ok(Self {
            depth: registry.add(IntGaugeVec::new(depth, &["name"]))?,
            adds: counter("workqueue_adds_total", "Total number of adds handled by workqueue")?,
            waited: histogram(
                "workqueue_queue_duration_seconds",
                "How long in seconds an item stays in workqueue before being requested.",
            )?,
            worked: histogram(
                "workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes.",
            )?,
            unfinished: gauge(
                "workqueue_unfinished_work_seconds",
                "How many seconds of work has done that is in progress and hasn't been observed by work_duration. \
                 Large values indicate stuck threads. One can deduce the number of stuck threads by observing the \
                 rate at which this increases.",
            )?,
            longest: gauge(
                "workqueue_longest_running_processor_seconds",
                "How many seconds has the longest running processor for workqueue been running.",
            )?,
            retries: counter(
                "workqueue_retries_total",
                "Total number of retries handled by workqueue",
            )?,
        })
    }

    pub(super) fn of(&self, name: &str) -> QueueMetrics {
        let label = [name];
        QueueMetrics {
            depth: self.depth.with_label_values(&label),
            adds: self.adds.with_label_values(&label),
            waited: self.waited.with_label_values(&label),
            worked: self.worked.with_label_values(&label),
            unfinished: self.unfinished.with_label_values(&label),
            longest: self.longest.with_label_values(&label),
            retries: self.retries.with_label_values(&label),
        }
    }
}

/// The metrics of one queue.
#[derive(Debug, Clone)]
pub(super) struct QueueMetrics {
    depth: prometheus::IntGauge,
    adds: prometheus::Counter,
    waited: prometheus::Histogram,
    worked: prometheus::Histogram,
    unfinished: prometheus::Gauge,
    longest: prometheus::Gauge,
    retries: prometheus::Counter,
}

impl QueueMetrics {
    pub(super) fn added(&self) {
        self.adds.inc();
    }

    pub(super) fn depth(&self, depth: usize) {
        self.depth.set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    pub(super) fn taken(&self, waited: Duration) {
        self.waited.observe(waited.as_secs_f64());
    }

    pub(super) fn done(&self, worked: Duration) {
        self.worked.observe(worked.as_secs_f64());
    }

    pub(super) fn retried(&self) {
        self.retries.inc();
    }

    pub(super) fn running(&self, unfinished: Duration, longest: Duration) {
        self.unfinished.set(unfinished.as_secs_f64());
        self.longest.set(longest.as_secs_f64());
    }
}
