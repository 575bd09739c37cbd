//! `cloudprovider_aws_api_*`, as the Go program has them.

use crate::api::Service;
use cloud_http::{Failure, Register};
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, core::Collector};
use std::time::Instant;

/// The calls that the Go program measures, by the names that it gives them.
const MEASURED: [(&str, &str); 6] = [
    ("DescribeInstances", "describe_instance"),
    ("DescribeNetworkInterfaces", "describe_network_interfaces"),
    ("DescribeSecurityGroups", "describe_security_groups"),
    ("CreateTags", "create_tags"),
    ("DeleteTags", "delete_tags"),
    ("DescribeRouteTables", "describe_route_tables"),
];

/// What is counted about calls to AWS.
#[derive(Clone)]
pub struct Metrics {
    /// What is counted about the calls to any cloud.
    pub http: cloud_http::Metrics,
    duration: HistogramVec,
    errors: IntCounterVec,
    throttled: IntCounterVec,
    statuses: IntCounterVec,
}

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If the registry already has metrics of these names.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            registered(registry, IntCounterVec::new(Opts::new(name, help), labels)?)
        };
        let duration = HistogramOpts::new(
            "cloudprovider_aws_api_request_duration_seconds",
            "Latency of AWS API calls",
        );
        Ok(Self {
            http: cloud_http::Metrics::register(registry)?,
            duration: registered(registry, HistogramVec::new(duration, &["request"])?)?,
            errors: counter("cloudprovider_aws_api_request_errors", "AWS API errors", &["request"])?,
            throttled: counter(
                "cloudprovider_aws_api_throttled_requests_total",
                "AWS API throttled requests",
                &["operation_name"],
            )?,
            statuses: counter(
                "cloudprovider_aws_api_response_status_total",
                "AWS API responses that are errors",
                &["service", "operation", "status_code"],
            )?,
        })
    }

    /// Counts an answer that is an error, whether the call is sent again or not.
    pub fn failed(&self, service: Service, failure: &Failure, error: Option<&cloud::Error>) {
        let (operation, status) = (failure.call(), failure.status());
        self.statuses
            .with_label_values(&[service.id(), operation, status.as_str()])
            .inc();
        if matches!(error, Some(cloud::Error::Throttled { .. })) {
            self.throttled.with_label_values(&[operation]).inc();
        }
    }

    /// Measures a call.
    ///
    /// # Errors
    /// As the call.
    pub async fn timed<T>(&self, action: &str, call: impl Future<Output = cloud::Result<T>>) -> cloud::Result<T> {
        let began = Instant::now();
        let answer = call.await;
        if let Some((_, name)) = MEASURED.iter().find(|(measured, _)| *measured == action) {
            match &answer {
                Ok(_) => {
                    let seconds = began.elapsed().as_secs_f64();
                    self.duration.with_label_values(&[name]).observe(seconds);
                }
                Err(_) => self.errors.with_label_values(&[name]).inc(),
            }
        }
        answer
    }
}

fn registered<C: Collector + Clone + 'static>(registry: &dyn Register, collector: C) -> prometheus::Result<C> {
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}
