//! The settings of the controller.

use super::plan::Labels;
use crate::nodes::Scope;
use std::{num::NonZeroUsize, time::Duration};

/// The settings of the controller.
#[derive(Debug, Clone)]
pub struct Options {
    /// The Nodes that this manager manages.
    pub scope: Scope,
    /// `--node-status-update-frequency`: the pause between two refreshes of all Nodes.
    pub status_period: Duration,
    /// What happens to the labels of initialized Nodes.
    pub labels: Labels,
    /// How many Nodes are initialized concurrently.
    pub syncs: NonZeroUsize,
    /// How many Nodes are refreshed concurrently.
    pub status_updates: NonZeroUsize,
    /// How many new Nodes one call to the cloud describes.
    pub batch: NonZeroUsize,
    /// How many batches of new Nodes are in progress at the same time.
    pub batches: NonZeroUsize,
    /// How many other Nodes one call to the cloud describes.
    pub status_batch: NonZeroUsize,
    /// The deadline of one call to the cloud.
    pub deadline: Duration,
    /// When a Node is reconciled again whose instance the cloud does not describe yet.
    pub poll: Duration,
    /// How long a Node may fail before an event and a condition report it.
    pub patience: Duration,
}

impl Options {
    /// Initializes at most this many Nodes at a time: `--concurrent-node-syncs`.
    #[must_use]
    pub fn syncs(self, count: NonZeroUsize) -> Self {
        Self {
            syncs: count,
            batch: count,
            batches: NonZeroUsize::MIN,
            ..self
        }
    }

    /// Refreshes at most this many Nodes at a time: `--concurrent-node-status-updates`.
    #[must_use]
    pub fn status_updates(self, count: NonZeroUsize) -> Self {
        Self {
            status_updates: count,
            status_batch: count,
            ..self
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            status_period: Duration::from_mins(5),
            labels: Labels::Follow,
            syncs: const { NonZeroUsize::new(32).unwrap() },
            status_updates: const { NonZeroUsize::new(8).unwrap() },
            batch: const { NonZeroUsize::new(1000).unwrap() },
            batches: const { NonZeroUsize::new(4).unwrap() },
            status_batch: const { NonZeroUsize::new(500).unwrap() },
            deadline: Duration::from_mins(1),
            poll: Duration::from_secs(10),
            patience: Duration::from_secs(5),
        }
    }
}
