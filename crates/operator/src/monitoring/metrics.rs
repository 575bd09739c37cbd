//! What the operator counts about its work, beside what every process counts.

use super::reconciles::{Controller, Reconciles};
use jiff::Timestamp;
use prometheus::{IntGaugeVec, Opts};
use runtime::metrics::Register;

/// The metrics of the operator. Clones share them.
#[derive(Debug, Clone)]
pub struct Metrics {
    conditions: IntGaugeVec,
    certificates: IntGaugeVec,
    reconciles: Reconciles,
}

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// `True`
    True,
    /// `False`
    False,
    /// `Unknown`, or the condition is not there.
    Unknown,
}

impl Truth {
    /// Reads the status of a condition.
    #[must_use]
    pub fn of(status: &str) -> Self {
        match status {
            "True" => Self::True,
            "False" => Self::False,
            _ => Self::Unknown,
        }
    }
}

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If they are registered already.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let conditions = Opts::new(
            "outrigger_operator_condition",
            "Whether a condition that the operator reports holds (1) or not (0), by object and type.",
        );
        let certificates = Opts::new(
            "outrigger_operator_certificate_expiration_timestamp_seconds",
            "When a certificate that the operator renews expires, in seconds since the epoch, by the object that reports it.",
        );
        let metrics = Self {
            conditions: IntGaugeVec::new(conditions, &["name", "condition"])?,
            certificates: IntGaugeVec::new(certificates, &["name", "certificate"])?,
            reconciles: Reconciles::register(registry)?,
        };
        registry.register(Box::new(metrics.conditions.clone()))?;
        registry.register(Box::new(metrics.certificates.clone()))?;
        Ok(metrics)
    }

    /// What is counted about the passes of a controller.
    #[must_use]
    pub fn controller(&self, name: &'static str) -> Controller {
        self.reconciles.of(name)
    }

    /// Records the state of a condition of an object.
    pub fn condition(&self, name: &str, condition: &str, truth: Truth) {
        let labels = [name, condition];
        match truth {
            Truth::True => self.conditions.with_label_values(&labels).set(1),
            Truth::False => self.conditions.with_label_values(&labels).set(0),
            // Err means that it was not there either.
            Truth::Unknown => drop(self.conditions.remove_label_values(&labels)),
        }
    }

    /// Records when the certificates of an object expire; `None` if it has none.
    pub fn certificates(&self, name: &str, issued: Option<&crate::certificates::Issued>) {
        self.expires(name, "CA", issued.map(crate::certificates::Issued::ca_expires));
        self.expires(
            name,
            "serving",
            issued.map(crate::certificates::Issued::serving_expires),
        );
    }

    fn expires(&self, name: &str, certificate: &str, at: Option<Timestamp>) {
        let labels = [name, certificate];
        match at {
            Some(at) => self.certificates.with_label_values(&labels).set(at.as_second()),
            // Err means that it was not there either.
            None => drop(self.certificates.remove_label_values(&labels)),
        }
    }
}
