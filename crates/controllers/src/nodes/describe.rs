//! The instances of many Nodes, by one call to the cloud.

use super::node_ref;
use crate::cloud_call;
use cloud::{Answer, Detail, Error, Instances};
use k8s_openapi::api::core::v1::Node;
use std::{sync::Arc, time::Duration};

/// Describes the instances of these Nodes: one call, and one answer for each Node in the same order. An answer that is
/// late or incomplete is an error, never a missing instance.
pub async fn describe(
    instances: &dyn Instances,
    nodes: &[Arc<Node>],
    detail: Detail,
    deadline: Duration,
) -> Vec<cloud::Result<Answer>> {
    if nodes.is_empty() {
        return Vec::new();
    }
    let refs: Vec<_> = nodes.iter().map(|node| node_ref(node)).collect();
    let answers = instances.describe(&refs, detail);
    cloud_call::batch("describe machines", refs.len(), deadline, answers).await
}

/// The failure of the call if it failed for every Node: the cloud has an outage, not one of the instances.
#[must_use]
pub fn outage(answers: &[cloud::Result<Answer>]) -> Option<&Error> {
    let is_outage = |error: &Error| {
        matches!(
            error,
            Error::Unavailable { .. } | Error::Throttled { .. } | Error::Denied { .. }
        )
    };
    let first = answers.first()?.as_ref().err()?;
    answers
        .iter()
        .all(|answer| answer.as_ref().is_err_and(is_outage))
        .then_some(first)
}
