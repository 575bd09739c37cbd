//! The clients of the API server, the event recorder and the metrics that all parts of the operator share.

use crate::monitoring;
use runtime::events::Recorder;

/// The component of the events, as in the Go operator.
pub(crate) const COMPONENT: &str = "cloud-controller-manager-operator";

/// How a part of the operator reads, writes and reports.
#[derive(Clone)]
pub(crate) struct Clients {
    /// Reads and watches.
    pub(crate) read: kube::Client,
    /// Writes, while this process is the leader.
    pub(crate) write: kube::Client,
    /// Emits events.
    pub(crate) recorder: Recorder,
    pub(crate) metrics: monitoring::Metrics,
}

impl Clients {
    /// The same without events, for a dry run.
    pub(crate) fn without_events(mut self) -> Self {
        self.recorder = Recorder::silent(COMPONENT);
        self
    }
}
