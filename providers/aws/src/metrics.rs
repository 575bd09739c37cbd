//! `cloudprovider_aws_api_*`, as the Go program has them.

use crate::api::Service;
use cloud::{Error, Result};
use cloud_http::{Failure, Fault, Register, http::StatusCode};
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, core::Collector};
use std::{cell::Cell, time::Instant};

tokio::task_local! {
    /// The status of the last answer to the call under way that was an error.
    static REFUSED: Cell<Option<StatusCode>>;
}

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
                "Calls to AWS that end with an error response, after all retries",
                &["service", "operation", "status_code"],
            )?,
        })
    }

    /// Measures a call: one that is sent again and then succeeds has not failed. `is_answer` says whether a result is the answer, or
    /// stands for an error.
    ///
    /// # Errors
    /// As the call.
    pub async fn measured<T>(
        &self,
        service: Service,
        action: &str,
        is_answer: impl Fn(&T) -> bool,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let call = async {
            let answer = self.timed(action, call).await;
            (answer, REFUSED.with(Cell::get))
        };
        let (answer, refused) = REFUSED.scope(Cell::new(None), call).await;
        let ended = match &answer {
            Ok(answer) if is_answer(answer) => None,
            Ok(_) => refused,
            Err(error) => refused.filter(|_| Fault::of(error).is_none()),
        };
        if let Some(status) = ended {
            let labels = [service.id(), action, status.as_str()];
            self.statuses.with_label_values(&labels).inc();
            if matches!(answer, Err(Error::Throttled { .. })) {
                self.throttled.with_label_values(&[action]).inc();
            }
        }
        answer
    }

    async fn timed<T>(&self, action: &str, call: impl Future<Output = Result<T>>) -> Result<T> {
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

/// Notes an answer that is an error. The call may be sent again.
pub fn refused(failure: &Failure) {
    // Outside of a call nothing is counted.
    let _ = REFUSED.try_with(|status| status.set(Some(failure.status())));
}

fn registered<C: Collector + Clone + 'static>(registry: &dyn Register, collector: C) -> prometheus::Result<C> {
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}
