//! Everything that is known about the subject, at one time.

use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{Event, Node, Pod, Service},
    },
    jiff::Timestamp,
};
use operator_api::CloudControllerManager;
use std::fmt;

/// What was read, and what could not be read.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The time of it.
    pub now: Timestamp,
    /// The subject.
    pub object: Object,
    /// The events about it, oldest first.
    pub events: Vec<Event>,
    /// The leases of cloud controller managers; `None` if they could not be read.
    pub leases: Option<Vec<Lease>>,
    /// The Pods of cloud controller managers; `None` if they could not be read.
    pub pods: Option<Vec<Pod>>,
    /// The last error in the log of each of these Pods.
    pub log: Vec<LogLine>,
    /// What the cloud reports, in a sentence, if it was asked.
    pub cloud: Option<String>,
    /// What could not be read, and why, one sentence each.
    pub unknown: Vec<String>,
}

/// The subject.
#[derive(Debug, Clone)]
pub enum Object {
    /// A Service.
    Service(Box<Service>),
    /// A Node.
    Node(Box<Node>),
    /// A manager of the operator.
    Manager(Box<CloudControllerManager>),
    /// It does not exist.
    Missing {
        /// As a user names it.
        what: String,
        /// The command that lists what exists.
        list: String,
    },
}

/// A line of the log of a Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The name of the Pod.
    pub pod: String,
    /// The line.
    pub line: String,
}

impl fmt::Display for LogLine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.pod, self.line)
    }
}

/// When the event was last seen.
pub(super) fn time_of(event: &Event) -> Option<Timestamp> {
    let last = event.last_timestamp.as_ref().map(|time| time.0);
    last.or_else(|| event.event_time.as_ref().map(|time| time.0))
        .or_else(|| event.first_timestamp.as_ref().map(|time| time.0))
}
