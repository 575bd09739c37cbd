//! How many events were recorded, and what became of them.

use crate::metrics::Register;
use prometheus::{IntCounterVec, Opts};

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is a new object.
    Created,
    /// It is a higher count on an object.
    Counted,
    /// There were too many about its object.
    Filtered,
    /// There were too many waiting.
    Dropped,
    /// The API server did not want it.
    Rejected,
    /// The API server was not there for too long.
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
        let help = "Number of events recorded, partitioned by component and by what became of them.";
        let events = IntCounterVec::new(
            Opts::new("event_recorder_events_total", help),
            &["component", "outcome"],
        )?;
        registry.register(Box::new(events.clone()))?;
        Ok(Self(events))
    }
}

pub(super) fn count(metrics: Option<&Metrics>, component: &str, outcome: Outcome) {
    if let Some(Metrics(events)) = metrics {
        events.with_label_values(&[component, outcome.as_str()]).inc();
    }
}
