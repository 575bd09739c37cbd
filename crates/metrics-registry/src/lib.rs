//! A trait to register Prometheus collectors: with the registry of a process, or with a [`Catalogue`] that records which metrics exist.
//!
//! A registry does not list its metrics: those with labels appear once they have a value. The reference must list all of them,
//! so code that has metrics takes a [`Register`].

use prometheus::{
    Registry,
    core::{Collector, Desc},
    proto::{MetricFamily, MetricType},
};
use std::{cell::RefCell, collections::BTreeMap};

/// Registers collectors.
pub trait Register {
    /// Registers one collector.
    ///
    /// # Errors
    /// If a metric of that name is registered already.
    fn register(&self, collector: Box<dyn Collector>) -> prometheus::Result<()>;
}

impl dyn Register + '_ {
    /// Registers a metric that was just created, and returns it.
    ///
    /// # Errors
    /// If it could not be created, or a metric of that name is registered already.
    pub fn add<C: Collector + Clone + 'static>(&self, metric: prometheus::Result<C>) -> prometheus::Result<C> {
        let metric = metric?;
        self.register(Box::new(metric.clone())).map(|()| metric)
    }
}

impl Register for Registry {
    fn register(&self, collector: Box<dyn Collector>) -> prometheus::Result<()> {
        Registry::register(self, collector)
    }
}

/// The description of a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// The names of its labels.
    pub labels: Vec<String>,
    /// The help text.
    pub help: String,
}

/// The registered metrics by name; it keeps no values.
#[derive(Debug, Default)]
pub struct Catalogue(RefCell<BTreeMap<String, Entry>>);

impl Catalogue {
    /// All recorded metrics.
    #[must_use]
    pub fn into_entries(self) -> BTreeMap<String, Entry> {
        self.0.into_inner()
    }
}

impl Register for Catalogue {
    fn register(&self, collector: Box<dyn Collector>) -> prometheus::Result<()> {
        let families = collector.collect();
        for desc in collector.desc() {
            let entry = entry(desc, &families);
            if self.0.borrow_mut().insert(desc.fq_name.clone(), entry).is_some() {
                return Err(prometheus::Error::AlreadyReg);
            }
        }
        Ok(())
    }
}

fn entry(desc: &Desc, families: &[MetricFamily]) -> Entry {
    let family = families.iter().find(|family| family.name() == desc.fq_name);
    let constant = desc.const_label_pairs.iter().map(|pair| pair.name().to_owned());
    Entry {
        kind: family.map_or("untyped", kind),
        labels: constant.chain(desc.variable_labels.iter().cloned()).collect(),
        help: desc.help.clone(),
    }
}

fn kind(family: &MetricFamily) -> &'static str {
    match family.get_field_type() {
        MetricType::COUNTER => "counter",
        MetricType::GAUGE => "gauge",
        MetricType::HISTOGRAM => "histogram",
        MetricType::SUMMARY => "summary",
        MetricType::UNTYPED => "untyped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::{Histogram, HistogramOpts, IntCounterVec, IntGauge, Opts};
    use rstest::rstest;

    fn calls() -> Box<dyn Collector> {
        Box::new(IntCounterVec::new(Opts::new("calls_total", "Calls."), &["operation", "code"]).unwrap())
    }

    #[rstest]
    #[case::with_labels_and_nothing_counted(calls(), "calls_total counter [operation code] Calls.")]
    #[case::without_labels(Box::new(IntGauge::new("pending", "Waits.").unwrap()), "pending gauge [] Waits.")]
    #[case::of_times(
        Box::new(Histogram::with_opts(HistogramOpts::new("took_seconds", "Time.")).unwrap()),
        "took_seconds histogram [] Time."
    )]
    fn records(#[case] collector: Box<dyn Collector>, #[case] expected: &str) {
        let catalogue = Catalogue::default();
        catalogue.register(collector).unwrap();
        let recorded: Vec<_> = catalogue.into_entries().into_iter().collect();
        let [(name, Entry { kind, labels, help })] = &recorded[..] else {
            panic!("{recorded:?}");
        };
        assert_eq!(format!("{name} {kind} [{}] {help}", labels.join(" ")), expected);
    }

    #[test]
    fn rejects_a_second_metric_of_the_same_name() {
        let catalogue = Catalogue::default();
        catalogue.register(calls()).unwrap();
        assert!(matches!(
            catalogue.register(calls()),
            Err(prometheus::Error::AlreadyReg)
        ));
    }
}
