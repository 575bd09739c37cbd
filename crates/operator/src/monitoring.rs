//! The objects for Prometheus: where metrics are, which certificates to trust, and when to raise an alert.
//!
//! The objects are plain YAML in this folder. [`operand`] is for a manager that serves metrics with the certificate of
//! [`crate::certificates`]; [`operator`] is for the operator itself. Both need the API `monitoring.coreos.com/v1`, which the
//! Prometheus operator installs. [`Metrics`] has the metrics of the operator's alerts.

mod metrics;
mod reconciles;
#[cfg(test)]
mod tests;

pub use metrics::{Metrics, Truth};
pub use reconciles::{Controller, Ended, Pass, Reconciles};

use crate::{Object, object::Nameless};

/// The API that has to be served.
pub const API: &str = "monitoring.coreos.com/v1";

const OPERAND: [&str; 2] = [
    include_str!("monitoring/operand-monitor.yaml"),
    include_str!("monitoring/operand-rules.yaml"),
];
const OPERATOR: [&str; 2] = [
    include_str!("monitoring/operator-monitor.yaml"),
    include_str!("monitoring/operator-rules.yaml"),
];

/// Why the objects cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The names do not result in valid YAML.
    #[error("cannot make the monitoring of Service {service}")]
    Yaml {
        /// The Service.
        service: String,
        /// The cause.
        source: Box<serde_saphyr::Error>,
    },
    /// The result is not an object.
    #[error(transparent)]
    Object(#[from] Nameless),
}

/// Monitors a manager behind this Service: a `ServiceMonitor` and a `PrometheusRule`.
///
/// # Errors
/// If the names are invalid.
pub fn operand(namespace: &str, service: &str) -> Result<Vec<Object>, Error> {
    objects(OPERAND, namespace, service)
}

/// Monitors the operator behind this Service on `OpenShift`: a `ServiceMonitor` and a `PrometheusRule`.
///
/// # Errors
/// If the names are invalid.
pub fn operator(namespace: &str, service: &str) -> Result<Vec<Object>, Error> {
    objects(OPERATOR, namespace, service)
}

fn objects(texts: [&str; 2], namespace: &str, service: &str) -> Result<Vec<Object>, Error> {
    let fill = |text: &str| text.replace("${namespace}", namespace).replace("${service}", service);
    texts.into_iter().map(|text| object(&fill(text), service)).collect()
}

fn object(text: &str, service: &str) -> Result<Object, Error> {
    let value = serde_saphyr::from_str(text).map_err(|source| Error::Yaml {
        service: service.to_owned(),
        source: Box::new(source),
    })?;
    Ok(Object::new(value)?)
}
