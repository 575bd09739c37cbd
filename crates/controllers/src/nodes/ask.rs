//! One question about many machines.

use super::node_ref;
use crate::answers;
use cloud::{Answer, Detail, Error, Instances};
use k8s_openapi::api::core::v1::Node;
use std::{sync::Arc, time::Duration};

/// Asks the cloud about the machines behind these Nodes: one call, and one answer a Node in the same order. A cloud that
/// does not answer properly has not said that a machine is missing.
pub async fn ask(
    instances: &dyn Instances,
    nodes: &[Arc<Node>],
    detail: Detail,
    deadline: Duration,
) -> Vec<cloud::Result<Answer>> {
    if nodes.is_empty() {
        return Vec::new();
    }
    let refs: Vec<_> = nodes.iter().map(|node| node_ref(node)).collect();
    let said = instances.describe(&refs, detail);
    answers::in_time("describe machines", refs.len(), deadline, said).await
}

/// What went wrong if the cloud answered nothing at all: then it is the cloud that is not well, and not a machine.
#[must_use]
pub fn failed_as_a_whole(answers: &[cloud::Result<Answer>]) -> Option<&Error> {
    let is_silence = |error: &Error| {
        matches!(
            error,
            Error::Unavailable { .. } | Error::Throttled { .. } | Error::Denied { .. }
        )
    };
    let first = answers.first()?.as_ref().err()?;
    answers
        .iter()
        .all(|answer| answer.as_ref().is_err_and(is_silence))
        .then_some(first)
}
