//! Where metrics are registered: in the registry of a process, or in a [`Catalogue`] that only notes down what they are.
//!
//! A registry does not say which metrics it has: those with labels appear once something has happened. So that a
//! reference can list them all, those who register metrics take a [`Register`] instead.

use prometheus::{
    Registry,
    core::{Collector, Desc},
    proto::{MetricFamily, MetricType},
};
use std::{cell::RefCell, collections::BTreeMap};

/// Where metrics can be registered.
pub trait Register {
    /// Takes one, or those that belong together.
    ///
    /// # Errors
    /// If there is one of that name already.
    fn register(&self, collector: Box<dyn Collector>) -> prometheus::Result<()>;
}

impl Register for Registry {
    fn register(&self, collector: Box<dyn Collector>) -> prometheus::Result<()> {
        Registry::register(self, collector)
    }
}

/// What there is to say of a metric before it has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// The names of its labels.
    pub labels: Vec<String>,
    /// What it means.
    pub help: String,
}

/// What would be registered, by name.
#[derive(Debug, Default)]
pub struct Catalogue(RefCell<BTreeMap<String, Entry>>);

impl Catalogue {
    /// All that was noted down.
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
    fn notes_down(#[case] collector: Box<dyn Collector>, #[case] expected: &str) {
        let catalogue = Catalogue::default();
        catalogue.register(collector).unwrap();
        let noted: Vec<_> = catalogue.into_entries().into_iter().collect();
        let [(name, Entry { kind, labels, help })] = &noted[..] else {
            panic!("{noted:?}");
        };
        assert_eq!(format!("{name} {kind} [{}] {help}", labels.join(" ")), expected);
    }

    #[test]
    fn there_is_one_of_a_name() {
        let catalogue = Catalogue::default();
        catalogue.register(calls()).unwrap();
        assert!(matches!(
            catalogue.register(calls()),
            Err(prometheus::Error::AlreadyReg)
        ));
    }
}
