//! New Nodes: from the queue, in batches, to the cloud, and back.

use super::{
    Controller,
    plan::{self, Plan, Rules, Writes},
    write::{Outcome, came_of},
};
use crate::nodes::{
    self, labels,
    scope::Claim as Whose,
    taints,
    tally::{Tally, Wrote},
};
use cloud::{Answer, Detail};
use futures::{FutureExt, StreamExt, stream::FuturesUnordered};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, ObjectReference};
use runtime::{
    events::Kind,
    informer::{Change, key_of},
    queue::{Claim, Next},
};
use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

/// Nodes that come together are asked about together: how long the first waits for the others.
const GATHER: Duration = Duration::from_millis(20);

/// While one batch is under way more gather; but when it takes longer than this, they go ahead.
const OVERTAKE: Duration = Duration::from_millis(500);

/// A Node from the queue.
type Claimed = (Claim<String>, Arc<Node>);

impl Controller {
    /// Puts every Node that needs work into the queue, from now on.
    pub(super) fn listen(self: &Arc<Self>) {
        let this = Arc::downgrade(self);
        self.informer.on_change(move |change| {
            if let Some(this) = this.upgrade() {
                this.hear(change);
            }
        });
    }

    pub(super) fn hear(&self, change: &Change<Node>) {
        // A list after a gap in the watch shows only who has the name now: what failed before is not its fault.
        if let Change::Updated { old, new } = change
            && old.metadata.uid != new.metadata.uid
        {
            self.forget(old);
        }
        match change {
            Change::Added(node) if self.needs_work(node) => self.queue.add(key_of(&**node)),
            Change::Updated { old, new } if self.needs_work(new) => {
                if !self.needs_work(old) || differs(old, new) {
                    self.queue.add(key_of(&**new));
                }
            }
            Change::Added(_) | Change::Updated { .. } => {}
            Change::Deleted(node) => self.forget(node),
        }
    }

    /// Works on the queue until cancelled, and then finishes what is under way.
    pub(super) async fn sync_until(self: Arc<Self>, cancel: CancellationToken) {
        let mut running = JoinSet::new();
        while let Some(claims) = cancel.run_until_cancelled(self.gather()).await.flatten() {
            let this = self.clone();
            running.spawn(async move { this.guarded(claims).await });
            let _ = tokio::time::timeout(OVERTAKE, running.join_next()).await;
            while running.len() >= self.options.batches.get() {
                running.join_next().await;
            }
        }
        self.queue.stop();
        while running.join_next().await.is_some() {}
    }

    fn needs_work(&self, node: &Node) -> bool {
        self.options.scope.contains(node) && (taints::is_uninitialized(node) || !labels::aliases(node).is_empty())
    }

    async fn gather(&self) -> Option<Vec<Claim<String>>> {
        let max = self.options.batch.get();
        let mut claims = self.queue.next_batch(max).await?;
        tokio::time::sleep(GATHER).await;
        if claims.len() < max && !self.queue.is_empty() {
            claims.extend(self.queue.next_batch(max - claims.len()).await.unwrap_or_default());
        }
        Some(claims)
    }

    /// A panic must not lose the Nodes of the batch.
    async fn guarded(&self, claims: Vec<Claim<String>>) {
        let keys: Vec<String> = claims.iter().map(|claim| (**claim).clone()).collect();
        if AssertUnwindSafe(self.batch(claims)).catch_unwind().await.is_err() {
            error!(nodes = keys.len(), "a batch of nodes panicked");
            self.sync_pulse.failure_at(keys.clone(), "a batch of nodes panicked");
            for key in keys {
                self.queue.add_rate_limited(key);
            }
        }
    }

    async fn batch(&self, claims: Vec<Claim<String>>) {
        self.sync_pulse.begin();
        let (new, others) = self.sort(claims);
        let keys: Vec<String> = new.iter().chain(&others).map(|(claim, _)| (**claim).clone()).collect();
        let (claims, nodes): (Vec<_>, Vec<_>) = new.into_iter().unzip();
        let answers = nodes::ask(self.provider.instances(), &nodes, Detail::Full, self.options.deadline).await;
        let unasked = nodes::failed_as_a_whole(&answers).map(cloud::Error::report);
        if let Some(error) = &unasked {
            warn!(nodes = nodes.len(), error, "cannot ask the cloud about new nodes");
        }
        let new = claims.into_iter().zip(nodes).zip(answers);
        let work: FuturesUnordered<_> = new
            .map(|((claim, node), answer)| self.initialize(claim, node, answer).left_future())
            .chain(
                others
                    .into_iter()
                    .map(|(claim, node)| self.rename(claim, node).right_future()),
            )
            .collect();
        let written: Tally = work.collect().await;
        match unasked.map_or_else(|| written.verdict(), Err) {
            // Nothing was tried, so nothing is known.
            Ok(()) if keys.is_empty() => self.sync_pulse.end(),
            Ok(()) => self.sync_pulse.success(),
            Err(reason) => self.sync_pulse.failure_at(keys, reason),
        }
    }

    /// Takes out what needs no work any more; the rest is new, or has labels with old names only.
    fn sort(&self, claims: Vec<Claim<String>>) -> (Vec<Claimed>, Vec<Claimed>) {
        let (mut new, mut others) = (Vec::with_capacity(claims.len()), Vec::new());
        for claim in claims {
            match self.nodes.find(&claim).filter(|node| self.needs_work(node)) {
                Some(node) if taints::is_uninitialized(&node) => new.push((claim, node)),
                Some(node) => others.push((claim, node)),
                None => {
                    self.sync_pulse.over(&claim);
                    claim.settle(Next::Done);
                }
            }
        }
        (new, others)
    }

    async fn initialize(&self, claim: Claim<String>, node: Arc<Node>, answer: cloud::Result<Answer>) -> Wrote {
        let rules = Rules {
            provider_ids: self.provider.instances().provider_ids(),
            labels: self.options.labels,
            before: None,
        };
        let decide = |node: &Node| {
            let plan = plan::plan(node, &answer, rules);
            debug!(node = nodes::name(node), %plan, "planned");
            plan
        };
        let outcome = self.writer.carry_out(node.clone(), decide).await;
        let wrote = came_of(&outcome);
        let next = match outcome {
            Ok(Outcome::Written(writes)) => {
                self.remember(&node, answer);
                self.initialized(&node, &writes);
                Next::Done
            }
            Ok(Outcome::Idle(Plan::Stuck(stuck))) | Err(stuck) => self.stuck(&node, &stuck).await,
            Ok(Outcome::Idle(Plan::Later)) => {
                self.diagnosis.waiting(&node);
                Next::Poll(self.options.poll)
            }
            Ok(Outcome::Idle(_) | Outcome::Gone) => Next::Done,
        };
        // If it went meanwhile nobody else forgets its trouble.
        let now = self.nodes.find(&claim);
        if now.is_none_or(|now| nodes::uid(&now) != nodes::uid(&node)) {
            self.diagnosis.over(&node);
        }
        claim.settle(next);
        wrote
    }

    fn initialized(&self, node: &Node, writes: &Writes) {
        self.diagnosis.over(node);
        if writes.taints.is_empty() {
            return;
        }
        let age = nodes::age(node, Timestamp::now()).unwrap_or_default();
        self.metrics.taint_removed(age);
        for label in &writes.ignored {
            warn!(node = nodes::name(node), %label, "ignored a label of the cloud");
        }
        info!(node = nodes::name(node), changes = %writes, "initialized node");
        // Of all events on Nodes this is the one in which Go says at which version.
        let regarding = ObjectReference {
            resource_version: node.metadata.resource_version.clone(),
            ..nodes::reference(node)
        };
        self.recorder
            .event(regarding, Kind::Normal, "Synced", "Node synced successfully");
        self.metrics.synced(age);
    }

    async fn stuck(&self, node: &Node, stuck: &super::Stuck) -> Next {
        // Where several managers share a cluster, a machine that this cloud does not know is another one's.
        let foreign = matches!(stuck, super::Stuck::Unknown(_)) && self.options.scope.claim(node) == Whose::Perhaps;
        if !foreign {
            self.diagnosis.stuck(node, stuck).await;
        }
        stuck.next()
    }

    async fn rename(&self, claim: Claim<String>, node: Arc<Node>) -> Wrote {
        let outcome = self.writer.carry_out(node.clone(), plan::aliases).await;
        let wrote = came_of(&outcome);
        let next = match outcome {
            Ok(Outcome::Written(writes)) => {
                info!(node = nodes::name(&node), changes = %writes, "updated labels");
                Next::Done
            }
            Ok(_) => Next::Done,
            Err(stuck) => {
                warn!(node = nodes::name(&node), reason = %stuck, "cannot update labels");
                stuck.next()
            }
        };
        claim.settle(next);
        wrote
    }

    /// Remembers the labels of its own that the cloud said, once they stand in the Node.
    pub(super) fn remember(&self, node: &Node, answer: cloud::Result<Answer>) {
        let labels = answer
            .ok()
            .and_then(Answer::found)
            .map(|machine| machine.labels)
            .unwrap_or_default();
        let mut said = self.said();
        if labels.is_empty() {
            said.remove(nodes::uid(node));
        } else {
            said.insert(nodes::uid(node).to_owned(), labels);
        }
    }

    pub(super) fn said(
        &self,
    ) -> std::sync::MutexGuard<'_, std::collections::HashMap<String, BTreeMap<String, String>>> {
        self.said.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn forget(&self, node: &Node) {
        let key = key_of(node);
        self.queue.forget(&key);
        self.sync_pulse.over(&key);
        self.diagnosis.over(node);
        self.said().remove(nodes::uid(node));
    }
}

/// Whether something changed that the cloud's answer, or what becomes of it, depends on.
pub(super) fn differs(old: &Node, new: &Node) -> bool {
    let uuid = |node: &Node| {
        let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
        info.map(|info| info.system_uuid.clone())
    };
    let (a, b) = (&old.metadata, &new.metadata);
    a.uid != b.uid
        || a.labels != b.labels
        || a.annotations != b.annotations
        || old.spec != new.spec
        || uuid(old) != uuid(new)
}
