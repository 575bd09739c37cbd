//! What happens to each Node. Pure.

use super::Options;
use crate::nodes::{
    self,
    conditions::{self, Ready},
    scope::Ownership,
    taints,
};
use cloud::{Answer, Power};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use std::{fmt, sync::Arc, time::Duration};

/// The step for one Node.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// The Node.
    pub node: Arc<Node>,
    /// The step.
    pub step: Step,
}

/// What happens to a Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It is kept unchanged.
    Keep(Reason),
    /// It is deleted, because its instance does not exist.
    Delete,
    /// It is tainted, because its instance is shut down.
    Taint,
    /// The taint is removed, because it is ready again.
    Untaint,
}

/// Why a Node is kept unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It is ready.
    Ready,
    /// Its instance exists.
    Exists,
    /// Its instance is shut down, and it has the taint already.
    Tainted,
    /// Its instance does not exist, but it is so young that the cloud may not list the instance yet.
    Young,
    /// Its instance does not exist, but without a provider ID it may belong to another cloud.
    MayBeOthers,
    /// It is being deleted already.
    Deleting,
    /// The cloud does not describe the instance yet.
    NotYet,
    /// The instance is not managed by this cloud.
    Unmanaged,
    /// The call to the cloud failed.
    Unknown(String),
}

impl Action {
    /// Whether it is unknown if the instance exists.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self.step, Step::Keep(Reason::Unknown(_)))
    }
}

/// Whether the Node is ready. The instances of ready Nodes are not looked up.
#[must_use]
pub fn is_ready(node: &Node) -> bool {
    conditions::ready(node) == Ready::True
}

/// Decides about a ready Node: its instance exists, whatever the cloud reports.
#[must_use]
pub fn ready(node: Arc<Node>) -> Action {
    let tainted = taints::contains(taints::of(&node), &taints::shutdown());
    let step = if tainted {
        Step::Untaint
    } else {
        Step::Keep(Reason::Ready)
    };
    Action { node, step }
}

/// Decides about Nodes that are not ready, each with its answer from the cloud.
#[must_use]
pub fn plan(nodes: &[Arc<Node>], answers: &[cloud::Result<Answer>], now: Timestamp, options: &Options) -> Vec<Action> {
    let step = |node: &Node, answer: &cloud::Result<Answer>| match answer {
        Err(error) => Step::Keep(Reason::Unknown(error.report())),
        Ok(Answer::NotYet) => Step::Keep(Reason::NotYet),
        Ok(Answer::Unmanaged) => Step::Keep(Reason::Unmanaged),
        Ok(Answer::Missing) => missing(node, now, options),
        Ok(Answer::Found(instance)) => found(node, instance.power),
    };
    nodes
        .iter()
        .zip(answers)
        .map(|(node, answer)| Action {
            node: node.clone(),
            step: step(node, answer),
        })
        .collect()
}

fn missing(node: &Node, now: Timestamp, options: &Options) -> Step {
    let keep = if node.metadata.deletion_timestamp.is_some() {
        Reason::Deleting
    } else if options.scope.ownership(node) != Ownership::Ours {
        Reason::MayBeOthers
    } else if nodes::age(node, now).is_some_and(|age| age < grace(node, options)) {
        Reason::Young
    } else {
        return Step::Delete;
    };
    Step::Keep(keep)
}

/// An uninitialized Node without a provider ID is looked up by its name only. If the cloud has another name for it, the
/// administrator gets more time to correct that.
fn grace(node: &Node, options: &Options) -> Duration {
    let only_by_name = taints::is_uninitialized(node) && nodes::provider_id(node).is_none();
    if only_by_name {
        options.grace * 10
    } else {
        options.grace
    }
}

fn found(node: &Node, power: Power) -> Step {
    match power {
        Power::Off if taints::contains(taints::of(node), &taints::shutdown()) => Step::Keep(Reason::Tainted),
        Power::Off => Step::Taint,
        Power::On | Power::Unknown => Step::Keep(Reason::Exists),
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = nodes::name(&self.node);
        match &self.step {
            Step::Delete => write!(f, "delete {name}"),
            Step::Taint => write!(f, "taint {name}"),
            Step::Untaint => write!(f, "untaint {name}"),
            Step::Keep(reason) => write!(f, "keep {name}: {reason}"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready => "ready",
            Self::Exists => "its machine exists",
            Self::Tainted => "tainted already",
            Self::Young => "missing, but too young",
            Self::MayBeOthers => "missing, but without a provider ID",
            Self::Deleting => "being deleted already",
            Self::NotYet => "the cloud does not describe its machine yet",
            Self::Unmanaged => "not managed by this cloud",
            Self::Unknown(report) => report,
        })
    }
}

#[cfg(test)]
mod tests;
