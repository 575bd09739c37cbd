//! Tags of the machines behind nodes.

use crate::{NodeRef, Result};
use async_trait::async_trait;
use std::{num::NonZeroUsize, time::Duration};

/// Puts tags on the machines behind nodes.
#[async_trait]
pub trait NodeTags: Send + Sync {
    /// The label that a Node gets once its machine has the tags: key and value. The value is another one for other tags.
    fn label(&self) -> (&str, &str);

    /// How fast machines are tagged.
    fn pace(&self) -> TagPace;

    /// Tags the machines behind these nodes: one answer a node, in the order asked. [`crate::Error::NotFound`] is a machine that
    /// does not exist, or not yet; [`crate::Error::NotSupported`] is one that cannot have tags.
    async fn tag(&self, nodes: &[NodeRef]) -> Vec<Result<()>>;

    /// Removes the tags: one answer a node, in the order asked. A machine that does not exist is a success.
    async fn untag(&self, nodes: &[NodeRef]) -> Vec<Result<()>>;

    /// Hears what became of a node, for metrics.
    fn observe(&self, _: &NodeRef, _: TagOutcome) {}
}

/// How fast machines are tagged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TagPace {
    /// How many batches at the same time.
    pub workers: NonZeroUsize,
    /// How many nodes a batch has at most.
    pub batch: NonZeroUsize,
    /// How many nodes a second, and how many at once after a quiet time. `None`: no limit.
    pub rate: Option<(f64, u32)>,
}

/// What became of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagOutcome {
    /// Its machine got tags for the first time, at this age of the Node.
    First(Duration),
    /// It failed, and is tried again.
    Failed,
    /// It failed, and is given up.
    GivenUp,
}
