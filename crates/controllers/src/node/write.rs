//! Writes Nodes: by patches only, without reading them first.

use super::{
    COMPONENT, Error,
    plan::{Plan, Writes},
};
use crate::{
    api_server,
    nodes::{self, write_summary::WriteResult},
};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use runtime::informer::Store;
use std::{num::NonZeroUsize, sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// The pauses after conflicts, in which the watch is expected to deliver the current Node.
const PAUSES_MS: [u64; 5] = [50, 100, 200, 400, 800];

/// The outcome of a plan.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// The plan has nothing to write.
    Unchanged(Plan),
    /// This was written.
    Written(Writes),
    /// The Node does not exist any more, or another one has its name.
    NotFound,
}

/// The outcome as part of a summary.
pub(super) fn write_result(outcome: &Result<Outcome, Error>) -> WriteResult {
    match outcome {
        Ok(Outcome::Written(_)) => WriteResult::Written,
        Ok(Outcome::Unchanged(_) | Outcome::NotFound) => WriteResult::Unchanged,
        Err(error) => WriteResult::Refused(error.to_string()),
    }
}

/// Writes a limited number of Nodes at a time.
pub(super) struct Writer {
    api: Api<Node>,
    nodes: Store<Node>,
    permits: Semaphore,
}

impl Writer {
    pub(super) fn new(client: kube::Client, nodes: Store<Node>, limit: NonZeroUsize) -> Self {
        Self {
            api: Api::all(client),
            nodes,
            permits: Semaphore::new(limit.get()),
        }
    }

    /// Plans and writes. After a conflict it plans again with the Node from the watch, a limited number of times.
    pub(super) async fn write(&self, node: Arc<Node>, plan: impl Fn(&Node) -> Plan) -> Result<Outcome, Error> {
        let mut node = node;
        let mut last = String::new();
        for pause in PAUSES_MS.map(Duration::from_millis) {
            match self.attempt(&node, &plan).await {
                Ok(outcome) => return Ok(outcome),
                Err(api_server::Error::NotFound) => return Ok(Outcome::NotFound),
                Err(api_server::Error::Conflict(reason)) => last = reason,
                Err(other) => return Err(Error::Refused(other.report())),
            }
            tokio::time::sleep(pause).await;
            match self.nodes.find(nodes::name(&node)) {
                Some(current) if current.metadata.uid == node.metadata.uid => node = current,
                _ => return Ok(Outcome::NotFound),
            }
        }
        Err(Error::Refused(last))
    }

    async fn attempt(&self, node: &Node, plan: &impl Fn(&Node) -> Plan) -> Result<Outcome, api_server::Error> {
        let writes = match plan(node) {
            Plan::Write(writes) => writes,
            other => return Ok(Outcome::Unchanged(other)),
        };
        let _permit = self.permits.acquire().await;
        let Some(patch) = writes.status_patch(node) else {
            return self.patch_node(node, writes).await;
        };
        let params = api_server::patch_params(COMPONENT);
        let patched = api_server::call(self.api.patch_status(nodes::name(node), &params, &patch)).await?;
        // The answer is newer than the cache, so the second patch is planned again from it: another client may have
        // written the rest, and the positions of taints may have changed.
        let rest = match plan(&patched) {
            Plan::Write(rest) => rest,
            Plan::Keep | Plan::Wait | Plan::Fail(_) => Writes::default(),
        };
        let writes = Writes {
            addresses: writes.addresses,
            condition: writes.condition,
            ..rest
        };
        self.patch_node(&patched, writes).await
    }

    async fn patch_node(&self, node: &Node, writes: Writes) -> Result<Outcome, api_server::Error> {
        if let Some(patch) = writes.node_patch(node) {
            let params = api_server::patch_params(COMPONENT);
            api_server::call(self.api.patch(nodes::name(node), &params, &patch)).await?;
        }
        Ok(Outcome::Written(writes))
    }
}
