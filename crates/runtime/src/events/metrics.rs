//! The number of events, by outcome.

use crate::metrics::Register;
use prometheus::{IntCounterVec, Opts};

/// The outcome of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Written as a new object.
    Created,
    /// Written as a higher count on an existing object.
    Counted,
    /// Dropped: too many events about its object.
    Filtered,
    /// Dropped: too many waiting events.
    Dropped,
    /// Rejected by the API server.
    Rejected,
    /// Dropped: the API server was unavailable for too long.
    Failed,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Counted => "counted",
            Self::Filtered => "filtered",
            Self::Dropped => "dropped",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
        }
    }
}

/// `event_recorder_events_total`, which client-go does not have.
#[derive(Debug, Clone)]
pub struct Metrics(IntCounterVec);

impl Metrics {
    /// Registers the metric.
    ///
    /// # Errors
    /// If it is registered already.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let help = "Number of events recorded, partitioned by component and outcome.";
        let opts = Opts::new("event_recorder_events_total", help);
        let events = registry.add(IntCounterVec::new(opts, &["component", "outcome"]));
        events.map(Self)
    }
}

pub(super) fn count(metrics: Option<&Metrics>, component: &str, outcome: Outcome) {
    if let Some(Metrics(events)) = metrics {
        events.with_label_values(&[component, outcome.as_str()]).inc();
    }
}
