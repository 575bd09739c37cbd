//! core/v1 Events, as client-go writes them.
//!
//! A [`Recorder`] accepts an event and returns at once. Its [`Broadcaster`] decides what to write (a new object, a higher count on
//! an existing one, or nothing if there are too many) and writes it in the background.

mod broadcaster;
mod correlator;
mod lru;
mod metrics;

pub use broadcaster::Broadcaster;
#[cfg(test)]
pub(crate) use broadcaster::log;
pub use metrics::Metrics;

use k8s_openapi::api::core::v1::ObjectReference;
use metrics::Outcome;
use tokio::sync::mpsc;

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `Normal`
    Normal,
    /// `Warning`
    Warning,
}

impl Kind {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// An event about an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The reporting component: `source.component`.
    pub component: &'static str,
    /// The object.
    pub regarding: ObjectReference,
    /// The type.
    pub kind: Kind,
    /// The reason, in one word.
    pub reason: &'static str,
    /// The message.
    pub message: String,
}

/// Accepts events and never blocks: if too many are waiting to be written, new ones are dropped. Clones share it.
#[derive(Debug, Clone)]
pub struct Recorder {
    component: &'static str,
    /// `None` if events are not written.
    queue: Option<mpsc::Sender<Event>>,
    metrics: Option<Metrics>,
}

impl Recorder {
    /// A recorder that sends its events to a receiver.
    pub fn new(component: &'static str, queue: mpsc::Sender<Event>) -> Self {
        Self {
            component,
            queue: Some(queue),
            metrics: None,
        }
    }

    /// A recorder that discards its events.
    pub fn silent(component: &'static str) -> Self {
        Self {
            component,
            queue: None,
            metrics: None,
        }
    }

    fn counted_by(self, metrics: Option<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    /// The same recorder for another component.
    #[must_use]
    pub fn renamed(&self, component: &'static str) -> Self {
        Self {
            component,
            ..self.clone()
        }
    }

    /// Records an event.
    pub fn event(&self, regarding: ObjectReference, kind: Kind, reason: &'static str, message: impl Into<String>) {
        let Some(queue) = &self.queue else { return };
        let message = message.into();
        let event = Event {
            component: self.component,
            regarding,
            kind,
            reason,
            message,
        };
        if let Err(error) = queue.try_send(event) {
            metrics::count(self.metrics.as_ref(), self.component, Outcome::Dropped);
            tracing::warn!(component = self.component, reason, %error, "dropped an event");
        }
    }
}
