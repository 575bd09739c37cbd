//! Writing to Nodes: patches only, and never a read.

use super::{
    COMPONENT,
    plan::{Plan, Writes},
    stuck::Stuck,
};
use crate::nodes::{self, api, tally::Wrote};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use runtime::informer::Store;
use std::{num::NonZeroUsize, sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// How long to wait for the watch to bring the Node as it is now, after each time that somebody else was faster.
const PAUSES_MS: [u64; 5] = [50, 100, 200, 400, 800];

/// What became of a Node.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// The plan had nothing to write.
    Idle(Plan),
    /// This was written.
    Written(Writes),
    /// The Node is gone, or is another one of the same name by now.
    Gone,
}

/// What that means for the loop that wanted it.
pub(super) fn came_of(outcome: &Result<Outcome, Stuck>) -> Wrote {
    match outcome {
        Ok(Outcome::Written(_)) => Wrote::Done,
        Ok(Outcome::Idle(_) | Outcome::Gone) => Wrote::Nothing,
        Err(stuck) => Wrote::Refused(stuck.to_string()),
    }
}

/// Writes to Nodes, some at a time.
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

    /// Decides and writes. When somebody else was faster it decides again on what the watch brings, a few times.
    pub(super) async fn carry_out(&self, node: Arc<Node>, decide: impl Fn(&Node) -> Plan) -> Result<Outcome, Stuck> {
        let mut node = node;
        let mut said = String::new();
        for pause in PAUSES_MS.map(Duration::from_millis) {
            match self.attempt(&node, &decide).await {
                Ok(outcome) => return Ok(outcome),
                Err(api::Fault::Gone) => return Ok(Outcome::Gone),
                Err(api::Fault::Failed(reason)) => return Err(Stuck::Refused(reason)),
                Err(api::Fault::Contended(reason)) => said = reason,
            }
            tokio::time::sleep(pause).await;
            match self.nodes.find(nodes::name(&node)) {
                Some(fresh) if fresh.metadata.uid == node.metadata.uid => node = fresh,
                _ => return Ok(Outcome::Gone),
            }
        }
        Err(Stuck::Refused(said))
    }

    async fn attempt(&self, node: &Node, decide: &impl Fn(&Node) -> Plan) -> Result<Outcome, api::Fault> {
        let writes = match decide(node) {
            Plan::Write(writes) => writes,
            idle => return Ok(Outcome::Idle(idle)),
        };
        let _permit = self.permits.acquire().await;
        let name = nodes::name(node);
        let Some(patch) = writes.status_patch(node) else {
            return self.patch_node(node, writes).await;
        };
        let patched = api::call(self.api.patch_status(name, &api::params(COMPONENT), &patch)).await?;
        // The answer is newer than the cache: the second patch builds on it, and on nothing that was planned before.
        // Somebody else may have done the rest meanwhile, and a position in the old taints is another taint in the new.
        let rest = match decide(&patched) {
            Plan::Write(rest) => rest,
            Plan::Keep | Plan::Later | Plan::Stuck(_) => Writes::default(),
        };
        let writes = Writes {
            addresses: writes.addresses,
            trouble: writes.trouble,
            ..rest
        };
        self.patch_node(&patched, writes).await
    }

    async fn patch_node(&self, node: &Node, writes: Writes) -> Result<Outcome, api::Fault> {
        if let Some(patch) = writes.node_patch(node) {
            api::call(self.api.patch(nodes::name(node), &api::params(COMPONENT), &patch)).await?;
        }
        Ok(Outcome::Written(writes))
    }
}
