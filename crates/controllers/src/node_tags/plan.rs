//! Which machines need tags, and what follows a failure. Pure.

use crate::{
    nodes::{self, labels},
    requeue,
};
use cloud::{Error, ProviderId, Retry, TagOutcome};
use k8s_openapi::api::core::v1::Node;
use runtime::{informer::Change, queue::Next};
use std::time::Duration;

/// How often a node is retried before it is given up.
const RETRIES: u32 = 9;

/// A machine that the cloud does not list may be so new that it is not listed yet.
pub(super) const YOUNG: Duration = Duration::from_mins(5);

/// A node, and what its machine needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub(super) node: String,
    pub(super) task: Task,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Task {
    /// Its machine needs tags.
    Tag,
    /// The Node is deleted: this was its provider ID.
    Untag(ProviderId),
}

/// The work that a change of a Node causes.
pub(super) fn work(change: &Change<Node>, label: (&str, &str)) -> Option<Key> {
    match change {
        Change::Added(node) | Change::Updated { new: node, .. } => {
            let key = Key {
                node: nodes::name(node).to_owned(),
                task: Task::Tag,
            };
            needs_tags(node, label).then_some(key)
        }
        Change::Deleted(node) => {
            let id = nodes::provider_id(node)?;
            // Without the label its machine never had tags of ours.
            labels::get(node, label.0)?;
            Some(Key {
                node: nodes::name(node).to_owned(),
                task: Task::Untag(id),
            })
        }
    }
}

/// A Node is tagged once its provider ID is known.
pub(super) fn needs_tags(node: &Node, (key, value): (&str, &str)) -> bool {
    nodes::provider_id(node).is_some() && labels::get(node, key) != Some(value)
}

/// The next attempt after a failure, and what the metrics count. It is retried for a while, unless a retry cannot succeed.
pub(super) fn after(error: &Error, age: Duration, failures: u32) -> (Next, &'static [TagOutcome]) {
    let is_final = match error {
        Error::NotSupported { .. } => return (Next::Done, &[]),
        Error::NotFound { .. } if age < YOUNG => false,
        Error::NotFound { .. } => true,
        error => error.retry() == Retry::Never || failures >= RETRIES,
    };
    if is_final {
        return (Next::Done, &[TagOutcome::Failed, TagOutcome::GivenUp]);
    }
    (requeue::after(error.retry(), Next::Retry), &[TagOutcome::Failed])
}
