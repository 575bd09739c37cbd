//! All other Nodes: asked about once a period, and written to only if something changed.

use super::{
    Controller, Labels,
    plan::{self, Plan, Rules},
    write::{Outcome, came_of},
};
use crate::nodes::{
    self, taints,
    tally::{Tally, Wrote},
};
use cloud::{Answer, Detail};
use futures::{StreamExt, stream::FuturesUnordered};
use k8s_openapi::api::core::v1::Node;
use std::{collections::HashSet, sync::Arc};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

impl Controller {
    /// Looks at all initialised Nodes once a period until cancelled; the first time at once.
    pub(super) async fn refresh_until(self: Arc<Self>, cancel: CancellationToken) {
        while !cancel.is_cancelled() {
            self.status_pulse.begin();
            match self.refresh(&cancel).await {
                Ok(()) => self.status_pulse.success(),
                Err(reason) => {
                    warn!(reason, "cannot keep nodes up to date");
                    self.status_pulse.failure(reason);
                }
            }
            cancel
                .run_until_cancelled(tokio::time::sleep(self.options.status_period))
                .await;
        }
    }

    pub(super) async fn refresh(&self, cancel: &CancellationToken) -> Result<(), String> {
        let nodes = self.settled();
        let uids: HashSet<&str> = nodes.iter().map(|node| nodes::uid(node)).collect();
        self.said().retain(|uid, _| uids.contains(uid.as_str()));
        let (mut unasked, mut written) = (None, Tally::default());
        for chunk in nodes.chunks(self.options.status_batch.get()) {
            if cancel.is_cancelled() {
                break;
            }
            let answers = nodes::ask(self.provider.instances(), chunk, Detail::Full, self.options.deadline).await;
            self.status_pulse.progress();
            if let Some(error) = nodes::failed_as_a_whole(&answers) {
                unasked = Some(error.report());
                continue;
            }
            let nodes = chunk.iter().cloned();
            let updates: FuturesUnordered<_> = nodes
                .zip(answers)
                .map(|(node, answer)| self.update(node, answer))
                .collect();
            let moved = updates.inspect(|_| self.status_pulse.progress());
            written.extend(moved.collect::<Vec<_>>().await);
        }
        unasked.map_or_else(|| written.verdict(), Err)
    }

    fn settled(&self) -> Vec<Arc<Node>> {
        let mut nodes = self.nodes.list();
        nodes.retain(|node| !taints::is_uninitialized(node) && self.options.scope.contains(node));
        nodes
    }

    async fn update(&self, node: Arc<Node>, answer: cloud::Result<Answer>) -> Wrote {
        let before = match self.options.labels {
            Labels::Follow => self.said().get(nodes::uid(&node)).cloned(),
            Labels::Stay => None,
        };
        let instances = self.provider.instances();
        let rules = Rules {
            provider_ids: instances.provider_ids(),
            labels: self.options.labels,
            before: before.as_ref(),
        };
        let decide = |node: &Node| plan::update(node, &answer, rules);
        let name = nodes::name(&node);
        let outcome = self.status_writer.carry_out(node.clone(), decide).await;
        let wrote = came_of(&outcome);
        match outcome {
            Ok(Outcome::Written(writes)) => info!(node = name, changes = %writes, "updated node"),
            Ok(Outcome::Idle(Plan::Stuck(stuck))) | Err(stuck) => {
                warn!(node = name, reason = %stuck, "cannot update node");
                return wrote;
            }
            Ok(outcome) => debug!(node = name, ?outcome, "looked at node"),
        }
        if matches!(answer, Ok(Answer::Found(_))) {
            self.remember(&node, answer);
        }
        wrote
    }
}
