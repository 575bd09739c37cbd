//! Metrics with the names of occm.

use cloud::{Noted, Progress};
use cloud_http::Register;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, core::Collector};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// The default of Go's client.
const REQUEST_BUCKETS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

const RECONCILE_BUCKETS: &[f64] = &[
    0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 7.5, 10.0, 12.5, 15.0, 17.5, 20.0, 22.5, 25.0, 27.5, 30.0, 50.0, 75.0, 100.0,
    1000.0,
];

/// The metrics of `OpenStack`.
#[derive(Clone, Debug)]
pub struct Metrics {
    http: cloud_http::Metrics,
    requests: Family,
    reconciles: Family,
    /// When the reconciles began that wait for the cloud, by Service.
    under_way: Arc<Mutex<HashMap<String, Began>>>,
}

type Began = HashMap<Operation, Instant>;

/// The operation of a reconcile: the value of the label `operation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `loadbalancer_ensure`
    Ensure,
    /// `loadbalancer_update`
    Update,
    /// `loadbalancer_delete`
    Delete,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ensure => "loadbalancer_ensure",
            Self::Update => "loadbalancer_update",
            Self::Delete => "loadbalancer_delete",
        }
    }
}

/// Duration, total and errors of one kind of operation.
#[derive(Clone, Debug)]
struct Family {
    duration: HistogramVec,
    total: IntCounterVec,
    errors: IntCounterVec,
}

impl Metrics {
    /// Registers the metrics. `http` are those that every provider of the process shares.
    ///
    /// # Errors
    /// If the registry already has metrics of these names.
    pub fn register(registry: &dyn Register, http: cloud_http::Metrics) -> prometheus::Result<Self> {
        Ok(Self {
            http,
            requests: Family::register(
                registry,
                "request",
                [
                    (
                        "openstack_api_request_duration_seconds",
                        "Latency of an OpenStack API call",
                    ),
                    ("openstack_api_requests_total", "Total number of OpenStack API calls"),
                    (
                        "openstack_api_request_errors_total",
                        "Total number of errors for an OpenStack API call",
                    ),
                ],
                REQUEST_BUCKETS,
            )?,
            reconciles: Family::register(
                registry,
                "operation",
                [
                    (
                        "cloudprovider_openstack_reconcile_duration_seconds",
                        "Time taken by various parts of OpenStack cloud controller manager reconciliation loops",
                    ),
                    (
                        "cloudprovider_openstack_reconcile_total",
                        "Total number of OpenStack cloud controller manager reconciliations",
                    ),
                    (
                        "cloudprovider_openstack_reconcile_errors_total",
                        "Total number of OpenStack cloud controller manager reconciliation errors",
                    ),
                ],
                RECONCILE_BUCKETS,
            )?,
            under_way: Arc::default(),
        })
    }

    /// Registers the metrics together with those of the layer beneath.
    ///
    /// # Errors
    /// As [`Metrics::register`].
    pub fn register_all(registry: &dyn Register) -> prometheus::Result<Self> {
        Self::register(registry, cloud_http::Metrics::register(registry)?)
    }

    /// The metrics of the layer beneath.
    pub fn http(&self) -> &cloud_http::Metrics {
        &self.http
    }

    /// Begins to measure a call; the name is one of `<resource>_<verb>`.
    pub(crate) fn request(&self, name: &'static str) -> Timer<'_> {
        self.requests.start(name, Instant::now())
    }

    /// Begins to measure a reconcile of the Service with this UID, or continues one that waits for the cloud.
    pub(crate) fn reconcile<'a>(&'a self, operation: Operation, service: &'a str) -> Reconcile<'a> {
        let began = self
            .under_way()
            .get_mut(service)
            .and_then(|began| began.remove(&operation));
        Reconcile {
            timer: self
                .reconciles
                .start(operation.as_str(), began.unwrap_or_else(Instant::now)),
            metrics: self,
            operation,
            service,
        }
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<String, Began>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reconcile, from the first call until nothing is pending.
pub(crate) struct Reconcile<'a> {
    timer: Timer<'a>,
    metrics: &'a Metrics,
    operation: Operation,
    service: &'a str,
}

impl Reconcile<'_> {
    /// Ends it with this result, unless that is pending; returns the result.
    pub fn end<T>(self, result: cloud::Result<Noted<Progress<T>>>) -> cloud::Result<Noted<Progress<T>>> {
        let pending = |noted: &Noted<Progress<T>>| matches!(noted.answer, Progress::Pending { .. });
        if result.as_ref().is_ok_and(pending) {
            let mut under_way = self.metrics.under_way();
            let began = under_way.entry(self.service.to_owned()).or_default();
            began.insert(self.operation, self.timer.suspend());
            return result;
        }
        if self.operation == Operation::Delete && result.is_ok() {
            self.metrics.under_way().remove(self.service);
        }
        self.timer.end(result)
    }
}

/// A running measurement. If it is dropped before its end, also by a cancelled caller, it counts as an error.
pub(crate) struct Timer<'a> {
    family: &'a Family,
    name: &'static str,
    started: Instant,
    ended: Ended,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Well,
    Badly,
    NotYet,
}

impl Timer<'_> {
    /// Ends the measurement with this result, and returns it.
    pub fn end<T, E>(mut self, result: Result<T, E>) -> Result<T, E> {
        if result.is_ok() {
            self.ended = Ended::Well;
        }
        result
    }

    /// Ends without a measurement; returns the start.
    fn suspend(mut self) -> Instant {
        self.ended = Ended::NotYet;
        self.started
    }
}

impl Drop for Timer<'_> {
    fn drop(&mut self) {
        if self.ended == Ended::NotYet {
            return;
        }
        let Family {
            duration,
            total,
            errors,
        } = self.family;
        duration
            .with_label_values(&[self.name])
            .observe(self.started.elapsed().as_secs_f64());
        total.with_label_values(&[self.name]).inc();
        if self.ended == Ended::Badly {
            errors.with_label_values(&[self.name]).inc();
        }
    }
}

impl Family {
    /// Names and helps of the duration, the total and the errors.
    fn register(
        registry: &dyn Register,
        label: &str,
        [duration, total, errors]: [(&str, &str); 3],
        buckets: &[f64],
    ) -> prometheus::Result<Self> {
        let counter = |(name, help)| registered(registry, IntCounterVec::new(Opts::new(name, help), &[label]));
        let duration = HistogramOpts::new(duration.0, duration.1).buckets(buckets.to_vec());
        Ok(Self {
            duration: registered(registry, HistogramVec::new(duration, &[label]))?,
            total: counter(total)?,
            errors: counter(errors)?,
        })
    }

    fn start(&self, name: &'static str, started: Instant) -> Timer<'_> {
        Timer {
            family: self,
            name,
            started,
            ended: Ended::Badly,
        }
    }
}

fn registered<C: Collector + Clone + 'static>(
    registry: &dyn Register,
    collector: prometheus::Result<C>,
) -> prometheus::Result<C> {
    let collector = collector?;
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}

#[cfg(test)]
mod tests;
