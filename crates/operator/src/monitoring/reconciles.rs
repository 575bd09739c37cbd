//! `controller_runtime_*`: the names, labels and buckets of controller-runtime, which the Go operator uses. A reconciliation is a
//! pass.

use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts};
use runtime::metrics::Register;
use std::time::Instant;

const BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5,
    1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
];

/// The metrics of all controllers of a process. Clones share them.
#[derive(Debug, Clone)]
pub struct Reconciles {
    total: IntCounterVec,
    errors: IntCounterVec,
    /// Metrics of controller-runtime that are always zero here: nothing panics, is given up or times out.
    never: [IntCounterVec; 3],
    time: HistogramVec,
    limit: IntGaugeVec,
    active: IntGaugeVec,
}

/// The metrics of one controller.
#[derive(Debug, Clone)]
pub struct Controller {
    of: Reconciles,
    name: &'static str,
}

/// How a pass has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// There is nothing to do until something changes.
    Success,
    /// It is retried with back-off.
    Error,
    /// It is repeated after a time.
    RequeueAfter,
}

/// A pass. It ends when this is dropped.
pub struct Pass {
    controller: Controller,
    since: Instant,
}

impl Reconciles {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If they are already registered.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            let counter = IntCounterVec::new(Opts::new(format!("controller_runtime_{name}"), help), labels)?;
            registry.register(Box::new(counter.clone()))?;
            prometheus::Result::Ok(counter)
        };
        let gauge = |name: &str, help: &str| {
            let gauge = IntGaugeVec::new(Opts::new(format!("controller_runtime_{name}"), help), &["controller"])?;
            registry.register(Box::new(gauge.clone()))?;
            prometheus::Result::Ok(gauge)
        };
        let errors = |name: &str, help: &str| counter(name, help, &["controller"]);
        let time = HistogramVec::new(
            HistogramOpts::new(
                "controller_runtime_reconcile_time_seconds",
                "Length of time per reconciliation per controller",
            )
            .buckets(BUCKETS.to_vec()),
            &["controller"],
        )?;
        registry.register(Box::new(time.clone()))?;
        Ok(Self {
            total: counter(
                "reconcile_total",
                "Total number of reconciliations per controller",
                &["controller", "result"],
            )?,
            errors: errors(
                "reconcile_errors_total",
                "Total number of reconciliation errors per controller",
            )?,
            never: [
                errors(
                    "terminal_reconcile_errors_total",
                    "Total number of terminal reconciliation errors per controller",
                )?,
                errors(
                    "reconcile_panics_total",
                    "Total number of reconciliation panics per controller",
                )?,
                errors(
                    "reconcile_timeouts_total",
                    "Total number of reconciliation timeouts per controller",
                )?,
            ],
            time,
            limit: gauge(
                "max_concurrent_reconciles",
                "Maximum number of concurrent reconciles per controller",
            )?,
            active: gauge("active_workers", "Number of currently used workers per controller")?,
        })
    }

    /// The metrics of one controller, which exist from now on.
    #[must_use]
    pub fn of(&self, name: &'static str) -> Controller {
        for result in ["error", "requeue_after", "requeue", "success"] {
            self.total.with_label_values(&[name, result]);
        }
        for counter in self.never.iter().chain([&self.errors]) {
            counter.with_label_values(&[name]);
        }
        self.limit.with_label_values(&[name]).set(1);
        self.active.with_label_values(&[name]).set(0);
        Controller { of: self.clone(), name }
    }
}

impl Controller {
    /// Begins a pass.
    #[must_use]
    pub fn begin(&self) -> Pass {
        self.of.active.with_label_values(&[self.name]).inc();
        Pass {
            controller: self.clone(),
            since: Instant::now(),
        }
    }
}

impl Pass {
    /// Ends a pass with this result; a pass that is dropped without it was interrupted, and is not counted.
    pub fn end(self, how: Ended) {
        let Controller { of, name } = &self.controller;
        let result = match how {
            Ended::Success => "success",
            Ended::Error => "error",
            Ended::RequeueAfter => "requeue_after",
        };
        of.total.with_label_values(&[name, result]).inc();
        if how == Ended::Error {
            of.errors.with_label_values(&[name]).inc();
        }
        of.time
            .with_label_values(&[name])
            .observe(self.since.elapsed().as_secs_f64());
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let Controller { of, name } = &self.controller;
        of.active.with_label_values(&[name]).dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::Registry;
    use prometheus::{Encoder, TextEncoder};

    fn lines(registry: &Registry) -> Vec<String> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&registry.gather(), &mut text).expect("text");
        let text = String::from_utf8(text).expect("UTF-8");
        let lines = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.contains("_seconds_"));
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn passes_are_counted_as_the_library_does() {
        let registry = Registry::new();
        let controller = Reconciles::register(&registry)
            .expect("registered")
            .of("clusteroperator");
        for how in [Ended::Success, Ended::Error, Ended::Success, Ended::RequeueAfter] {
            controller.begin().end(how);
        }
        let running = controller.begin();
        assert_eq!(
            lines(&registry),
            [
                "controller_runtime_active_workers{controller=\"clusteroperator\"} 1",
                "controller_runtime_max_concurrent_reconciles{controller=\"clusteroperator\"} 1",
                "controller_runtime_reconcile_errors_total{controller=\"clusteroperator\"} 1",
                "controller_runtime_reconcile_panics_total{controller=\"clusteroperator\"} 0",
                "controller_runtime_reconcile_timeouts_total{controller=\"clusteroperator\"} 0",
                "controller_runtime_reconcile_total{controller=\"clusteroperator\",result=\"error\"} 1",
                "controller_runtime_reconcile_total{controller=\"clusteroperator\",result=\"requeue\"} 0",
                "controller_runtime_reconcile_total{controller=\"clusteroperator\",result=\"requeue_after\"} 1",
                "controller_runtime_reconcile_total{controller=\"clusteroperator\",result=\"success\"} 2",
                "controller_runtime_terminal_reconcile_errors_total{controller=\"clusteroperator\"} 0",
            ]
        );
        drop(running);
        assert!(lines(&registry)[0].ends_with(" 0"));
        let time = &controller.of.time.with_label_values(&["clusteroperator"]);
        assert_eq!(time.get_sample_count(), 4, "one that was interrupted is not counted");
    }
}
