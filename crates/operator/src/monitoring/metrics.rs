//! The metrics of the operator, in addition to those that every process has.

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

/// The status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// `True`
    True,
    /// `False`
    False,
    /// `Unknown`, or the condition does not exist.
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
    /// If they are already registered.
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

    /// The metrics of the passes of a controller.
    #[must_use]
    pub fn controller(&self, name: &'static str) -> Controller {
        self.reconciles.of(name)
    }

    /// Records the status of a condition of an object.
    pub fn condition(&self, name: &str, condition: &str, truth: Truth) {
        let labels = [name, condition];
        match truth {
            Truth::True => self.conditions.with_label_values(&labels).set(1),
            Truth::False => self.conditions.with_label_values(&labels).set(0),
            // An error means that it did not exist.
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
            // An error means that it did not exist.
            None => drop(self.certificates.remove_label_values(&labels)),
        }
    }
}
