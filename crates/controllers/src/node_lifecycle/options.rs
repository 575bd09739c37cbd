//! The settings of the controller.

use super::Limits;
use crate::nodes::Scope;
use std::{num::NonZeroUsize, time::Duration};

/// The settings of the controller.
#[derive(Debug, Clone)]
pub struct Options {
    /// The Nodes that this manager manages.
    pub scope: Scope,
    /// `--node-monitor-period`: the pause between two passes over all Nodes.
    pub period: Duration,
    /// A Node younger than this is not deleted: a cloud may need a while to list a new instance.
    pub grace: Duration,
    /// When so many instances are missing that deletions are paused.
    pub limits: Limits,
    /// How many Nodes are written concurrently.
    pub writes: NonZeroUsize,
    /// How many Nodes one call to the cloud describes.
    pub batch: NonZeroUsize,
    /// The deadline of one call to the cloud.
    pub deadline: Duration,
}

impl Options {
    /// Processes at most this many Nodes at a time: `--concurrent-node-lifecycle-syncs`.
    #[must_use]
    pub fn syncs(self, count: NonZeroUsize) -> Self {
        Self {
            writes: count,
            batch: count,
            ..self
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            period: Duration::from_secs(5),
            grace: Duration::from_secs(30),
            limits: Limits::default(),
            writes: const { NonZeroUsize::new(8).unwrap() },
            batch: NonZeroUsize::MAX,
            deadline: Duration::from_mins(1),
        }
    }
}
