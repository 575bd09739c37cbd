//! `cloud_api_*`: what every provider is measured by.

use crate::fault::Reason;
use metrics_registry::Register;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, core::Collector};
use std::time::{Duration, Instant};

/// From a fast answer to a deadline of minutes.
const BUCKETS: &[f64] = &[
    0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0,
];

const REQUESTS: &str = "Requests to the cloud, by operation and HTTP status or error.";
const DURATION: &str = "How long requests to the cloud take, answer included, by operation.";
const IN_FLIGHT: &str = "Requests to the cloud that are under way, by operation.";
const CONNECTION_FAILURES: &str = "Requests to the cloud that found no connection or lost it, by operation and reason.";
const RETRIES: &str = "Requests to the cloud that were sent again, by operation and reason.";
const THROTTLED: &str = "Answers of the cloud that asked to slow down, by operation.";

/// What is counted about the calls of all clients that share it.
#[derive(Clone, Debug)]
pub struct Metrics {
    requests: IntCounterVec,
    duration: HistogramVec,
    in_flight: IntGaugeVec,
    connection_failures: IntCounterVec,
    retries: IntCounterVec,
    throttled: IntCounterVec,
}

impl Metrics {
    /// Registers the metrics. Clients of one process share one set.
    ///
    /// # Errors
    /// If the registry already has metrics of these names.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            registered(registry, IntCounterVec::new(Opts::new(name, help), labels))
        };
        Ok(Self {
            requests: counter("cloud_api_requests_total", REQUESTS, &["operation", "code"])?,
            duration: registered(registry, duration())?,
            in_flight: registered(registry, in_flight())?,
            connection_failures: counter(
                "cloud_api_connection_failures_total",
                CONNECTION_FAILURES,
                &["operation", "reason"],
            )?,
            retries: counter("cloud_api_retries_total", RETRIES, &["operation", "reason"])?,
            throttled: counter("cloud_api_throttled_total", THROTTLED, &["operation"])?,
        })
    }

    pub(crate) fn start(&self, operation: &'static str) -> Flight<'_> {
        self.in_flight.with_label_values(&[operation]).inc();
        Flight {
            metrics: self,
            operation,
            started: Instant::now(),
            code: None,
        }
    }

    pub(crate) fn retried(&self, operation: &str, reason: &str) {
        self.retries.with_label_values(&[operation, reason]).inc();
    }

    pub(crate) fn throttled(&self, operation: &str) {
        self.throttled.with_label_values(&[operation]).inc();
    }
}

/// A request in flight. If it is dropped without a response, also because the caller was cancelled, it counts as an error.
pub(crate) struct Flight<'a> {
    metrics: &'a Metrics,
    operation: &'static str,
    started: Instant,
    code: Option<u16>,
}

impl Flight<'_> {
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub fn answered(&mut self, status: u16) {
        self.code = Some(status);
    }

    pub fn broke(&self, reason: Reason) {
        if reason.is_connection_failure() {
            self.metrics
                .connection_failures
                .with_label_values(&[self.operation, reason.label()])
                .inc();
        }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let code = self
            .code
            .map_or_else(|| "error".to_owned(), |status| status.to_string());
        self.metrics.requests.with_label_values(&[self.operation, &code]).inc();
        self.metrics
            .duration
            .with_label_values(&[self.operation])
            .observe(self.elapsed().as_secs_f64());
        self.metrics.in_flight.with_label_values(&[self.operation]).dec();
    }
}

fn duration() -> prometheus::Result<HistogramVec> {
    let options = HistogramOpts::new("cloud_api_request_duration_seconds", DURATION).buckets(BUCKETS.to_vec());
    HistogramVec::new(options, &["operation"])
}

fn in_flight() -> prometheus::Result<IntGaugeVec> {
    IntGaugeVec::new(Opts::new("cloud_api_requests_in_flight", IN_FLIGHT), &["operation"])
}

fn registered<C: Collector + Clone + 'static>(
    registry: &dyn Register,
    collector: prometheus::Result<C>,
) -> prometheus::Result<C> {
    let collector = collector?;
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}
