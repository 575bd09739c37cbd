//! The metrics of the servers of a process, under the names of the Go libraries.

use crate::metrics::Register;
use prometheus::{
    DEFAULT_BUCKETS, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    exponential_buckets,
};
use std::time::Duration;

const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;
const LIFETIME_BUCKETS: [f64; 14] = [
    0.0,
    0.5 * HOUR,
    HOUR,
    2.0 * HOUR,
    6.0 * HOUR,
    12.0 * HOUR,
    DAY,
    2.0 * DAY,
    4.0 * DAY,
    7.0 * DAY,
    30.0 * DAY,
    90.0 * DAY,
    180.0 * DAY,
    360.0 * DAY,
];
const REQUEST_BUCKETS: [f64; 8] = [0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0];

/// The metrics of all servers of a process. Clones share them.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub(super) tls_handshake_errors: IntCounter,
    pub(super) authn: Timed,
    pub(super) authz: Timed,
    pub(super) authn_requests: Timed,
    pub(super) authz_requests: Timed,
    pub(super) certificate_lifetime: Histogram,
    pub(super) users: IntCounterVec,
    pub(super) tokens: TokenCache,
}

/// The metrics of the token cache: lookups and reviews.
#[derive(Debug, Clone)]
pub(super) struct TokenCache {
    /// `hit` or `miss`.
    pub(super) requests: Timed,
    fetches: IntCounterVec,
    active: IntGaugeVec,
}

/// Increments a gauge until it is dropped.
pub(super) struct Active(IntGauge);

impl Active {
    fn new(gauge: IntGauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl TokenCache {
    fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let requests = Timed::new(
            registry,
            (
                "authentication_token_cache_request_total",
                "Tokens looked up, by status.",
            ),
            (
                "authentication_token_cache_request_duration_seconds",
                "Time that looking up a token took, by status.",
            ),
            &["status"],
            DEFAULT_BUCKETS.to_vec(),
        )?;
        let (name, help) = ("authentication_token_cache_fetch_total", "Token reviews, by status.");
        let fetches = registry.add(IntCounterVec::new(Opts::new(name, help), &["status"]))?;
        let (name, help) = (
            "authentication_token_cache_active_fetch_count",
            "Token reviews in flight.",
        );
        let active = registry.add(IntGaugeVec::new(Opts::new(name, help), &["status"]))?;
        Ok(Self {
            requests,
            fetches,
            active,
        })
    }

    /// A request waits for a review.
    pub(super) fn blocked(&self) -> Active {
        Active::new(self.active.with_label_values(&["blocked"]))
    }

    /// A review is requested.
    pub(super) fn in_flight(&self) -> Active {
        Active::new(self.active.with_label_values(&["in_flight"]))
    }

    /// A review ended with `ok` or `error`.
    pub(super) fn reviewed(&self, status: &str) {
        self.fetches.with_label_values(&[status]).inc();
    }
}

/// A counter and a histogram with the same labels.
#[derive(Debug, Clone)]
pub(super) struct Timed {
    total: IntCounterVec,
    seconds: HistogramVec,
}

impl Timed {
    fn new(
        registry: &dyn Register,
        (total, total_help): (&str, &str),
        (seconds, seconds_help): (&str, &str),
        labels: &[&str],
        buckets: Vec<f64>,
    ) -> prometheus::Result<Self> {
        let seconds = HistogramOpts::new(seconds, seconds_help).buckets(buckets);
        Ok(Self {
            total: registry.add(IntCounterVec::new(Opts::new(total, total_help), labels))?,
            seconds: registry.add(HistogramVec::new(seconds, labels))?,
        })
    }

    pub(super) fn observe(&self, labels: &[&str], took: Duration) {
        self.total.with_label_values(labels).inc();
        self.seconds.with_label_values(labels).observe(took.as_secs_f64());
    }
}

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If they are registered already.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let help = "Number of requests dropped with 'TLS handshake error from' error";
        let tls_handshake_errors = registry.add(IntCounter::new("apiserver_tls_handshake_errors_total", help))?;
        let help = "Counter of authenticated requests broken out by username.";
        let users = Opts::new("authenticated_user_requests", help);
        let users = registry.add(IntCounterVec::new(users, &["username"]))?;
        let lifetime = HistogramOpts::new(
            "apiserver_client_certificate_expiration_seconds",
            "Distribution of the remaining lifetime on the certificate used to authenticate a request.",
        );
        let lifetime = lifetime.buckets(LIFETIME_BUCKETS.to_vec());
        Ok(Self {
            tls_handshake_errors,
            certificate_lifetime: registry.add(Histogram::with_opts(lifetime))?,
            users,
            tokens: TokenCache::register(registry)?,
            authn: attempts(registry, ("authentication_attempts", AUTHENTICATED), "Authentication")?,
            authz: attempts(registry, ("authorization_attempts_total", AUTHORIZED), "Authorization")?,
            authn_requests: requests(registry, "apiserver_delegated_authn", &["code"])?,
            authz_requests: requests(registry, "apiserver_delegated_authz", &["code"])?,
        })
    }
}

const AUTHENTICATED: &str = "Counter of authenticated attempts.";
const AUTHORIZED: &str = "Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', \
                          'no-opinion' or 'error'.";

fn attempts(registry: &dyn Register, total: (&str, &str), what: &str) -> prometheus::Result<Timed> {
    let name = format!("{}_duration_seconds", what.to_lowercase());
    let help = format!("{what} duration in seconds broken out by result.");
    let buckets = exponential_buckets(0.001, 2.0, 15)?;
    Timed::new(registry, total, (&name, &help), &["result"], buckets)
}

fn requests(registry: &dyn Register, subsystem: &str, labels: &[&str]) -> prometheus::Result<Timed> {
    Timed::new(
        registry,
        (
            &format!("{subsystem}_request_total"),
            "Number of HTTP requests partitioned by status code.",
        ),
        (
            &format!("{subsystem}_request_duration_seconds"),
            "Request latency in seconds. Broken down by status code.",
        ),
        labels,
        REQUEST_BUCKETS.to_vec(),
    )
}
