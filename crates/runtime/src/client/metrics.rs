//! `rest_client_*`, under the names, labels and buckets of client-go.

use super::verb::Verb;
use crate::metrics::Register;
use http::StatusCode;
use kube::client::AuthError;
use prometheus::{Gauge, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts};
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

/// From ten minutes to four years.
const CERTIFICATE_AGES: [f64; 11] = [
    600.0,
    1_800.0,
    3_600.0,
    14_400.0,
    86_400.0,
    604_800.0,
    2_592_000.0,
    7_776_000.0,
    15_552_000.0,
    31_104_000.0,
    124_416_000.0,
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
    plugin_calls: IntCounterVec,
    transports: IntGauge,
    transport_calls: IntCounterVec,
}

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If they are registered already.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        register_constants(registry)?;
        let histogram = |name: &str, help: &str, buckets: &[f64]| {
            let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
            registry.add(HistogramVec::new(options, &["verb", "host"]))
        };
        let counter = |name: &str, help: &str, method: &str| {
            let labels = ["code", method, "host"];
            registry.add(IntCounterVec::new(Opts::new(name, help), &labels))
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
            plugin_calls: plugin_calls(registry)?,
            transports: registry.add(IntGauge::new(
                "rest_client_transport_cache_entries",
                "Number of transport entries in the internal cache.",
            ))?,
            transport_calls: transport_calls(registry)?,
        })
    }

    /// Connections were created for another identity.
    pub(super) fn transport_made(&self) {
        self.transports.inc();
        self.transport_calls.with_label_values(&["miss"]).inc();
    }

    /// A credential plugin was run.
    pub(super) fn plugin_called<T>(&self, outcome: &kube::Result<T>) {
        let (code, status) = match outcome {
            Ok(_) => (0, "no_error"),
            Err(kube::Error::Auth(AuthError::AuthExecRun { out, .. })) => {
                (out.status.code().unwrap_or(1), "plugin_execution_error")
            }
            Err(kube::Error::Auth(AuthError::AuthExecStart(_))) => (1, "plugin_not_found_error"),
            Err(_) => (1, "client_internal_error"),
        };
        self.plugin_calls.with_label_values(&[&code.to_string(), status]).inc();
    }
}

fn plugin_calls(registry: &dyn Register) -> prometheus::Result<IntCounterVec> {
    let help = "Number of calls to an exec plugin, partitioned by the type of event encountered (no_error, \
                plugin_execution_error, plugin_not_found_error, client_internal_error) and an optional exit code. The exit \
                code will be set to 0 if and only if the plugin call was successful.";
    let opts = Opts::new("rest_client_exec_plugin_call_total", help);
    registry.add(IntCounterVec::new(opts, &["code", "call_status"]))
}

fn transport_calls(registry: &dyn Register) -> prometheus::Result<IntCounterVec> {
    let help = "Number of calls to get a new transport, partitioned by the result of the operation hit: obtained from the \
                cache, miss: created and added to the cache, miss-gc: recreated and added back to the cache after being \
                garbage collected, uncacheable: created and not cached";
    let opts = Opts::new("rest_client_transport_create_calls_total", help);
    registry.add(IntCounterVec::new(opts, &["result"]))
}

/// Metrics with constant values: certificates of plugins are not inspected, and there is no garbage collection.
fn register_constants(registry: &dyn Register) -> prometheus::Result<()> {
    let ttl = "Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by the auth exec plugin. The \
               value is in seconds until certificate expiry (negative if already expired). If auth exec plugins are unused \
               or manage no TLS certificates, the value will be +INF.";
    let ttl = registry.add(Gauge::new("rest_client_exec_plugin_ttl_seconds", ttl))?;
    ttl.set(f64::INFINITY);
    let age = "Histogram of the number of seconds the last auth exec plugin client certificate lived before being rotated. \
               If auth exec plugin client certificates are unused, histogram will contain no data.";
    let age = HistogramOpts::new("rest_client_exec_plugin_certificate_rotation_age", age);
    registry.add(Histogram::with_opts(age.buckets(CERTIFICATE_AGES.to_vec())))?;
    let collected =
        "Number of times a cert rotation goroutine cancel func is called via GC cleanup of the associated transport";
    let name = "rest_client_transport_cert_rotation_gc_calls_total";
    registry.add(IntCounter::new(name, collected)).map(drop)
}

/// One request. Dropping it records its duration.
///
/// Watches count as requests only, because their duration has no meaning.
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

    /// The response had this status; `None` without a response.
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

    /// The body of the response had this size.
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
