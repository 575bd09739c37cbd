//! The stability level of a metric, which components of Kubernetes print in its help.

use std::fmt;

/// The stability level of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Alpha,
    Beta,
    Stable,
}

impl Level {
    /// The level of a metric of this name in Kubernetes; `None` for metrics of other libraries.
    pub(super) fn of(name: &str) -> Option<Self> {
        if name.starts_with("process_") {
            return None;
        }
        Some(match name {
            "kubernetes_healthcheck" | "kubernetes_healthchecks_total" => Self::Stable,
            "kubernetes_build_info"
            | "kubernetes_feature_enabled"
            | "disabled_metrics_total"
            | "hidden_metrics_total"
            | "registered_metrics_total"
            | "running_managed_controllers" => Self::Beta,
            name if name.starts_with("workqueue_") => Self::Beta,
            _ => Self::Alpha,
        })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alpha => "ALPHA",
            Self::Beta => "BETA",
            Self::Stable => "STABLE",
        })
    }
}
