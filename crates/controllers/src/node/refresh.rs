//! Initialized Nodes: described once a period, and written only if something changed.

use super::{
    plan::{self, Labels, Plan, Rules},
    reconcile::Reconciler,
    write::{Outcome, write_result},
};
use crate::nodes::{
    self, taints,
    write_summary::{RoundFailed, WriteResult, WriteSummary},
};
use cloud::{Answer, Detail};
use futures::{StreamExt, stream::FuturesUnordered};
use k8s_openapi::api::core::v1::Node;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

impl Reconciler {
    /// Refreshes all initialized Nodes at once, and then once a period until cancelled.
    pub(super) async fn refresh_until(self: Arc<Self>, cancel: CancellationToken) {
        while !cancel.is_cancelled() {
            self.status_pulse.begin();
            match self.refresh(&cancel).await {
                Ok(()) => self.status_pulse.success(),
                Err(RoundFailed(reason)) => {
                    warn!(reason, "cannot refresh nodes");
                    self.status_pulse.failure(reason);
                }
            }
            cancel
                .run_until_cancelled(tokio::time::sleep(self.options.status_period))
                .await;
        }
    }

    pub(super) async fn refresh(&self, cancel: &CancellationToken) -> Result<(), RoundFailed> {
        let nodes = self.initialized();
        self.reported_labels.retain(&nodes);
        let (mut outage, mut summary) = (None, WriteSummary::default());
        for batch in nodes.chunks(self.options.status_batch.get()) {
            if cancel.is_cancelled() {
                break;
            }
            let answers = nodes::describe(self.provider.instances(), batch, Detail::Full, self.options.deadline).await;
            self.status_pulse.progress();
            if let Some(error) = nodes::outage(&answers) {
                outage = Some(RoundFailed(error.report()));
                continue;
            }
            let nodes = batch.iter().cloned().zip(answers);
            let updates: FuturesUnordered<_> = nodes.map(|(node, answer)| self.update(node, answer)).collect();
            let results = updates.inspect(|_| self.status_pulse.progress());
            summary.extend(results.collect::<Vec<_>>().await);
        }
        outage.map_or_else(|| summary.outcome(), Err)
    }

    fn initialized(&self) -> Vec<Arc<Node>> {
        let mut nodes = self.nodes.list();
        nodes.retain(|node| !taints::is_uninitialized(node) && self.options.scope.contains(node));
        nodes
    }

    async fn update(&self, node: Arc<Node>, answer: cloud::Result<Answer>) -> WriteResult {
        let before = match self.options.labels {
            Labels::Follow => self.reported_labels.find(&node),
            Labels::Keep => None,
        };
        let rules = Rules {
            provider_ids: self.provider.instances().provider_ids(),
            found_by: self.provider.instances().found_by(),
            labels: self.options.labels,
            before: before.as_ref(),
        };
        let name = nodes::name(&node);
        let plan = |node: &Node| plan::update(node, &answer, rules);
        let outcome = self.status_writer.write(node.clone(), plan).await;
        let result = write_result(&outcome);
        match outcome {
            Ok(Outcome::Written(writes)) => info!(node = name, changes = %writes, "updated node"),
            Ok(Outcome::Unchanged(Plan::Fail(error))) | Err(error) => {
                warn!(node = name, %error, "cannot update node");
                return result;
            }
            Ok(outcome) => debug!(node = name, ?outcome, "node is up to date"),
        }
        if matches!(answer, Ok(Answer::Found(_))) {
            self.reported_labels.record(&node, answer);
        }
        result
    }
}
