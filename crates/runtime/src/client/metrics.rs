//! `rest_client_*`, under the names, labels and buckets of client-go.

use super::verb::Verb;
use http::StatusCode;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

const SECONDS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];
const BYTES: [f64; 11] = [
    64.0,
    256.0,
    512.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
];

/// The `rest_client_*` metrics of a process.
#[derive(Debug, Clone)]
pub struct Metrics {
    requests: IntCounterVec,
    retries: IntCounterVec,
    duration: HistogramVec,
    request_size: HistogramVec,
    response_size: HistogramVec,
    limiter: HistogramVec,
}

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If they are registered already.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let histogram = |name: &str, help: &str, buckets: &[f64]| {
            let histogram = HistogramVec::new(
                HistogramOpts::new(name, help).buckets(buckets.to_vec()),
                &["verb", "host"],
            )?;
            registry.register(Box::new(histogram.clone())).map(|()| histogram)
        };
        let counter = |name: &str, help: &str, method: &str| {
            let counter = IntCounterVec::new(Opts::new(name, help), &["code", method, "host"])?;
            registry.register(Box::new(counter.clone())).map(|()| counter)
        };
        Ok(Self {
            requests: counter(
                "rest_client_requests_total",
                "Number of HTTP requests, partitioned by status code, method, and host.",
                "method",
            )?,
            retries: counter(
                "rest_client_request_retries_total",
                "Number of request retries, partitioned by status code, verb, and host.",
                "verb",
            )?,
            duration: histogram(
                "rest_client_request_duration_seconds",
                "Request latency in seconds. Broken down by verb, and host.",
                &SECONDS,
            )?,
            request_size: histogram(
                "rest_client_request_size_bytes",
                "Request size in bytes. Broken down by verb and host.",
                &BYTES,
            )?,
            response_size: histogram(
                "rest_client_response_size_bytes",
                "Response size in bytes. Broken down by verb and host.",
                &BYTES,
            )?,
            limiter: histogram(
                "rest_client_rate_limiter_duration_seconds",
                "Client side rate limiter latency in seconds. Broken down by verb, and host.",
                &SECONDS,
            )?,
        })
    }
}

/// One request, from the moment it is asked for until it is dropped, which counts its duration.
///
/// Watches count as requests only, because they end when somebody wants them to.
#[derive(Debug)]
pub(super) struct Observation {
    metrics: Option<Metrics>,
    verb: Verb,
    host: Arc<str>,
    started: Instant,
}

impl Observation {
    pub(super) fn start(metrics: Option<Metrics>, verb: Verb, host: Arc<str>) -> Self {
        Self {
            metrics,
            verb,
            host,
            started: Instant::now(),
        }
    }

    /// It waited this long to be sent.
    pub(super) fn waited(&self, wait: Duration) {
        self.observe(|metrics| &metrics.limiter, wait.as_secs_f64());
    }

    /// It was sent, with a body of this size.
    pub(super) fn sent(&self, size: Option<u64>) {
        if let Some(size) = size {
            self.observe(|metrics| &metrics.request_size, to_f64(size));
        }
    }

    /// It was answered with this status, or not at all.
    pub(super) fn answered(&self, attempt: Attempt, status: Option<StatusCode>) {
        let Some(metrics) = &self.metrics else { return };
        let labels = [
            status.as_ref().map_or("<error>", StatusCode::as_str),
            self.verb.as_str(),
            &self.host,
        ];
        metrics.requests.with_label_values(&labels).inc();
        if attempt == Attempt::Repeated {
            metrics.retries.with_label_values(&labels).inc();
        }
    }

    /// The body of the answer had this size.
    pub(super) fn received(&self, size: u64) {
        self.observe(|metrics| &metrics.response_size, to_f64(size));
    }

    fn observe(&self, metric: impl Fn(&Metrics) -> &HistogramVec, value: f64) {
        if let (Some(metrics), true) = (&self.metrics, self.verb != Verb::Watch) {
            metric(metrics)
                .with_label_values(&[self.verb.as_str(), &self.host])
                .observe(value);
        }
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        self.observe(|metrics| &metrics.duration, self.started.elapsed().as_secs_f64());
    }
}

/// Whether a request is sent for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Attempt {
    #[default]
    First,
    Repeated,
}

#[expect(clippy::cast_precision_loss, reason = "no body has 2^52 bytes")]
fn to_f64(size: u64) -> f64 {
    size as f64
}
