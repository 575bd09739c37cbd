//! How stable a metric is, as components of Kubernetes say it in its help.

use std::fmt;

/// How stable a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Alpha,
    Beta,
    Stable,
}

impl Level {
    /// What Kubernetes says of a metric of this name; `None` for those that the process has from outside of it.
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
