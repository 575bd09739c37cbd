//! What becomes of each Node. Pure.

use super::Options;
use crate::nodes::{
    self,
    conditions::{self, Ready},
    scope::Claim,
    taints,
};
use cloud::{Answer, Power};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use std::{fmt, sync::Arc, time::Duration};

/// What becomes of one Node.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// Which.
    pub node: Arc<Node>,
    /// What.
    pub verb: Verb,
}

/// What can become of a Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verb {
    /// It stays as it is.
    Keep(Reason),
    /// Its machine is gone, and so it goes.
    Delete,
    /// Its machine is shut down: it gets the taint that says so.
    Taint,
    /// It is ready again: the taint goes.
    Untaint,
}

/// Why a Node stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// All is well.
    Fine,
    /// It was asked about and runs.
    Runs,
    /// Its machine is shut down, and it says so already.
    Tainted,
    /// The machine seems to be missing, but the Node is so young that the cloud may not know it yet.
    Young,
    /// The machine seems to be missing, but the Node has no provider ID and may be another cloud's.
    PerhapsTheirs,
    /// It is going already.
    Going,
    /// The cloud asks to be asked later.
    NotYet,
    /// The machine is not managed through this cloud.
    Unmanaged,
    /// The cloud could not say.
    Doubt(String),
}

impl Action {
    /// Whether the cloud could not say whether the machine is there.
    #[must_use]
    pub fn is_doubt(&self) -> bool {
        matches!(self.verb, Verb::Keep(Reason::Doubt(_)))
    }
}

/// Whether the cloud has to be asked about this Node: never about one that is ready.
#[must_use]
pub fn is_in_question(node: &Node) -> bool {
    conditions::ready(node) != Ready::True
}

/// Decides about a Node that is ready: the cloud is not asked, and would not be believed.
#[must_use]
pub fn ready(node: Arc<Node>) -> Action {
    let tainted = taints::contains(taints::of(&node), &taints::shutdown());
    let verb = if tainted {
        Verb::Untaint
    } else {
        Verb::Keep(Reason::Fine)
    };
    Action { node, verb }
}

/// Decides about the Nodes that are in question: an answer each.
#[must_use]
pub fn decide(
    nodes: &[Arc<Node>],
    answers: &[cloud::Result<Answer>],
    now: Timestamp,
    options: &Options,
) -> Vec<Action> {
    let verb = |node: &Node, answer: &cloud::Result<Answer>| match answer {
        Err(error) => Verb::Keep(Reason::Doubt(error.report())),
        Ok(Answer::NotYet) => Verb::Keep(Reason::NotYet),
        Ok(Answer::Unmanaged) => Verb::Keep(Reason::Unmanaged),
        Ok(Answer::Missing) => missing(node, now, options),
        Ok(Answer::Found(machine)) => found(node, machine.power),
    };
    nodes
        .iter()
        .zip(answers)
        .map(|(node, answer)| Action {
            node: node.clone(),
            verb: verb(node, answer),
        })
        .collect()
}

fn missing(node: &Node, now: Timestamp, options: &Options) -> Verb {
    let keep = if node.metadata.deletion_timestamp.is_some() {
        Reason::Going
    } else if options.scope.claim(node) != Claim::Ours {
        Reason::PerhapsTheirs
    } else if nodes::age(node, now).is_some_and(|age| age < grace(node, options)) {
        Reason::Young
    } else {
        return Verb::Delete;
    };
    Verb::Keep(keep)
}

/// A Node that was never initialised and has no provider ID was looked for by its name only, which may be spelt
/// differently in the cloud: it has longer until that is put right.
fn grace(node: &Node, options: &Options) -> Duration {
    let only_by_name = taints::is_uninitialized(node) && nodes::provider_id(node).is_none();
    if only_by_name {
        options.grace * 10
    } else {
        options.grace
    }
}

fn found(node: &Node, power: Power) -> Verb {
    match power {
        Power::Off if taints::contains(taints::of(node), &taints::shutdown()) => Verb::Keep(Reason::Tainted),
        Power::Off => Verb::Taint,
        Power::On | Power::Unknown => Verb::Keep(Reason::Runs),
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = nodes::name(&self.node);
        match &self.verb {
            Verb::Delete => write!(f, "delete {name}"),
            Verb::Taint => write!(f, "taint {name}"),
            Verb::Untaint => write!(f, "untaint {name}"),
            Verb::Keep(reason) => write!(f, "keep {name}: {reason}"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fine => "ready",
            Self::Runs => "its machine exists",
            Self::Tainted => "tainted already",
            Self::Young => "missing, but too young to tell",
            Self::PerhapsTheirs => "missing, but without a provider ID",
            Self::Going => "being deleted already",
            Self::NotYet => "the cloud asks to be asked later",
            Self::Unmanaged => "not managed through this cloud",
            Self::Doubt(report) => report,
        })
    }
}

#[cfg(test)]
mod tests;
