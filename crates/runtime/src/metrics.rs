//! The metrics of a process: a registry with the metrics of every process, and a separate registry of the SLIs.

mod level;
mod process;
mod text;

use crate::version::Info;
use level::Level;
use parking_lot::Mutex;
use process::Process;
use prometheus::{
    GaugeVec, IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry, core::Collector,
    process_collector::ProcessCollector,
};
use std::{fmt, sync::Arc};

pub use metrics_registry::{Catalogue, Entry, Register};

/// The media type of [`Metrics::text`] and [`Slis::text`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

const REGISTERED_NAME: &str = "registered_metrics_total";
const REGISTERED: &str = "The count of registered metrics broken by stability level and deprecation version.";
const FEATURES: &str = "This metric records the data about the stage and enablement of a k8s feature.";

/// The metrics of a process. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    level: fn(&str) -> Option<Level>,
    slis: Slis,
    registered: IntCounterVec,
    refreshers: Mutex<Vec<Box<dyn Fn() + Send + Sync>>>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// A registry with `process_*`, `kubernetes_build_info` and the counts of the metrics themselves.
    ///
    /// # Errors
    /// If the metrics cannot be registered, which does not happen.
    pub fn new(build: &Info) -> prometheus::Result<Self> {
        Self::with_levels(build, |_| None)
    }

    /// The same, with the stability level of a metric in its help, as in the components of Kubernetes.
    ///
    /// # Errors
    /// As [`Metrics::new`].
    pub fn of_component(build: &Info) -> prometheus::Result<Self> {
        Self::with_levels(build, Level::of)
    }

    fn with_levels(build: &Info, level: fn(&str) -> Option<Level>) -> prometheus::Result<Self> {
        let registry = Registry::new();
        let registered = register_own(&registry, build)?;
        let (slis, refreshers) = (Slis::new()?, Mutex::default());
        Ok(Self(Arc::new(Inner {
            registry,
            level,
            slis,
            registered,
            refreshers,
        })))
    }

    /// The registry for all other metrics.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// The SLIs, which have a separate registry.
    pub fn slis(&self) -> &Slis {
        &self.0.slis
    }

    /// Calls `refresh` directly before the metrics are read, for metrics that change with time.
    pub fn before_reading(&self, refresh: impl Fn() + Send + Sync + 'static) {
        self.0.refreshers.lock().push(Box::new(refresh));
    }

    /// All metrics, in the text format of Prometheus.
    #[must_use]
    pub fn text(&self) -> String {
        // Locked to the end, so that two concurrent readers do not count the metrics twice.
        let refreshers = self.0.refreshers.lock();
        for refresh in refreshers.iter() {
            refresh();
        }
        self.0.registered.reset();
        // The metric counts itself, too.
        self.registered(REGISTERED_NAME);
        for family in self
            .0
            .registry
            .gather()
            .iter()
            .filter(|it| it.name() != REGISTERED_NAME)
        {
            self.registered(family.name());
        }
        text::encode(&self.0.registry.gather(), self.0.level)
    }

    fn registered(&self, name: &str) {
        let level = Level::of(name).unwrap_or(Level::Alpha).to_string();
        self.0.registered.with_label_values(&[level.as_str(), ""]).inc();
    }
}

/// Registers the metrics of every process, and returns the number of registered metrics, which is updated later.
fn register_own(registry: &dyn Register, build: &Info) -> prometheus::Result<IntCounterVec> {
    registry.register(Box::new(Process::own()))?;
    build.register(registry)?;
    for (name, help) in [
        ("disabled_metrics_total", "The count of disabled metrics."),
        ("hidden_metrics_total", "The count of hidden metrics."),
    ] {
        registry.add(IntCounter::new(name, help))?;
    }
    let registered = Opts::new(REGISTERED_NAME, REGISTERED);
    let features = Opts::new("kubernetes_feature_enabled", FEATURES);
    registry.add(IntGaugeVec::new(features, &["name", "stage"]))?;
    registry.add(IntCounterVec::new(
        registered,
        &["stability_level", "deprecated_version"],
    ))
}

/// Registers the metrics of [`Metrics::new`], for a catalogue.
///
/// # Errors
/// If metrics of these names are registered already.
pub fn register(registry: &dyn Register) -> prometheus::Result<()> {
    register_own(registry, &Info::current()).map(drop)
}

/// The result of a health check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    Success,
    /// It failed.
    Error,
}

/// The SLIs of KEP-3466: the results of the health checks. Clones share them.
#[derive(Debug, Clone)]
pub struct Slis {
    registry: Registry,
    now: GaugeVec,
    total: IntCounterVec,
}

impl Slis {
    /// An empty SLI registry.
    ///
    /// # Errors
    /// If the metrics cannot be registered, which does not happen.
    pub fn new() -> prometheus::Result<Self> {
        let registry = Registry::new();
        let (now, total) = Self::register(&registry)?;
        Ok(Self { registry, now, total })
    }

    /// Registers the metrics of [`Slis::new`], and returns those that are updated later.
    ///
    /// # Errors
    /// If metrics of these names are registered already.
    pub fn register(registry: &dyn Register) -> prometheus::Result<(GaugeVec, IntCounterVec)> {
        let now = GaugeVec::new(
            Opts::new(
                "kubernetes_healthcheck",
                "This metric records the result of a single healthcheck.",
            ),
            &["name", "type"],
        )?;
        let total = IntCounterVec::new(
            Opts::new(
                "kubernetes_healthchecks_total",
                "This metric records the results of all healthcheck.",
            ),
            &["name", "type", "status"],
        )?;
        let help = "Start time of the process since unix epoch in seconds.";
        let started = prometheus::Gauge::new("process_start_time_seconds", help)?;
        started.set(process_start());
        registry.register(Box::new(now.clone()))?;
        registry.register(Box::new(total.clone()))?;
        registry.register(Box::new(started))?;
        Ok((now, total))
    }

    /// Counts the result of the check `name` on the endpoint `kind` (`healthz`, `livez`, `readyz`).
    pub fn observe(&self, name: &str, kind: &str, outcome: Outcome) {
        let (value, status) = match outcome {
            Outcome::Success => (1.0, "success"),
            Outcome::Error => (0.0, "error"),
        };
        self.now.with_label_values(&[name, kind]).set(value);
        self.total.with_label_values(&[name, kind, status]).inc();
    }

    /// Resets all results.
    pub fn reset(&self) {
        self.now.reset();
        self.total.reset();
    }

    /// The SLIs, in the text format of Prometheus.
    #[must_use]
    pub fn text(&self) -> String {
        text::encode(&self.registry.gather(), Level::of)
    }
}

fn process_start() -> f64 {
    let families = ProcessCollector::for_self().collect();
    let start = families
        .iter()
        .find(|family| family.name() == "process_start_time_seconds");
    start
        .and_then(|family| family.get_metric().first())
        .map_or(0.0, |metric| metric.get_gauge().get_value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[rstest]
    #[case::build("kubernetes_build_info{build_date=")]
    #[case::memory("process_resident_memory_bytes ")]
    #[case::start("process_start_time_seconds 1")]
    #[case::none_disabled("disabled_metrics_total 0\n")]
    #[case::none_hidden("hidden_metrics_total 0\n")]
    #[case::some_registered("registered_metrics_total{deprecated_version=\"\",stability_level=\"ALPHA\"} ")]
    #[case::some_registered_as_beta("registered_metrics_total{deprecated_version=\"\",stability_level=\"BETA\"} 4\n")]
    #[case::level("# HELP hidden_metrics_total [BETA] The count of hidden metrics.\n")]
    #[case::usual_level("# HELP own_total [ALPHA] Own.\n")]
    #[case::no_level("# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.\n")]
    fn a_process_shows(#[case] line: &str) {
        let metrics = Metrics::of_component(&Info::current()).unwrap();
        let own = IntCounter::new("own_total", "Own.").unwrap();
        metrics.registry().register(Box::new(own)).unwrap();
        let text = metrics.text();
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }

    #[test]
    fn only_a_component_shows_levels() {
        let text = Metrics::new(&Info::current()).unwrap().text();
        assert!(!text.contains("] "), "{text}");
    }

    #[test]
    fn refreshes_metrics_on_every_read() {
        let metrics = Metrics::new(&Info::current()).unwrap();
        let gauge = prometheus::IntGauge::new("age", "age").unwrap();
        metrics.registry().register(Box::new(gauge.clone())).unwrap();
        let readings = AtomicU64::new(0);
        metrics.before_reading(move || gauge.set(i64::try_from(readings.fetch_add(1, Ordering::SeqCst)).unwrap() + 1));
        for reading in ["\nage 1\n", "\nage 2\n"] {
            let text = metrics.text();
            assert!(text.contains(reading), "{reading:?} is not in\n{text}");
        }
    }

    #[test]
    fn slis_count_per_check_and_endpoint_and_can_be_reset() {
        let slis = Slis::new().unwrap();
        slis.observe("etcd", "healthz", Outcome::Success);
        slis.observe("etcd", "healthz", Outcome::Error);
        slis.observe("etcd", "readyz", Outcome::Success);
        let text = slis.text();
        for line in [
            "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n",
            "kubernetes_healthcheck{name=\"etcd\",type=\"healthz\"} 0",
            "kubernetes_healthcheck{name=\"etcd\",type=\"readyz\"} 1",
            "kubernetes_healthchecks_total{name=\"etcd\",status=\"error\",type=\"healthz\"} 1",
            "kubernetes_healthchecks_total{name=\"etcd\",status=\"success\",type=\"healthz\"} 1",
            "process_start_time_seconds 1",
        ] {
            assert!(text.contains(line), "{line:?} is not in\n{text}");
        }
        slis.reset();
        assert!(!slis.text().contains("kubernetes_healthcheck"));
    }
}
