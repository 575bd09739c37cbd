//! New Nodes: one batch from the queue to the cloud and to the API server. Safe to run again at any point.

use super::{
    Context, Error, Metrics, Options,
    plan::{self, Plan, Rules, Writes},
    state::ReportedLabels,
    status::Reporter,
    write::{Outcome, Writer, write_result},
};
use crate::nodes::{
    self,
    scope::Ownership,
    taints,
    write_summary::{RoundFailed, WriteResult, WriteSummary},
};
use cloud::{Answer, Detail, Provider};
use futures::{FutureExt, StreamExt, stream::FuturesUnordered};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, ObjectReference};
use runtime::{
    events::{Kind, Recorder},
    health::Pulse,
    informer::Store,
    queue::{Claim, Next, Queue},
};
use std::{panic::AssertUnwindSafe, sync::Arc};
use tracing::{debug, error, info, warn};

/// A Node from the queue.
type ClaimedNode = (Claim<String>, Arc<Node>);

/// Reconciles Nodes with the cloud.
pub(super) struct Reconciler {
    pub(super) nodes: Store<Node>,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) queue: Queue<String>,
    pub(super) sync_pulse: Pulse,
    pub(super) status_pulse: Pulse,
    pub(super) options: Options,
    pub(super) status_writer: Writer,
    pub(super) reporter: Reporter,
    pub(super) reported_labels: ReportedLabels,
    writer: Writer,
    recorder: Recorder,
    metrics: Metrics,
}

impl Reconciler {
    pub(super) fn new(context: Context) -> Self {
        let Context {
            client,
            nodes,
            provider,
            recorder,
            queue,
            metrics,
            sync_pulse,
            status_pulse,
            options,
        } = context;
        let nodes = nodes.store();
        Self {
            writer: Writer::new(client.clone(), nodes.clone(), options.syncs),
            status_writer: Writer::new(client.clone(), nodes.clone(), options.status_updates),
            reporter: Reporter::new(recorder.clone(), client, options.patience),
            reported_labels: ReportedLabels::default(),
            nodes,
            provider,
            recorder,
            queue,
            metrics,
            sync_pulse,
            status_pulse,
            options,
        }
    }

    /// Reconciles a batch. If that panics, its Nodes go back to the queue.
    pub(super) async fn reconcile(&self, claims: Vec<Claim<String>>) {
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
        let (new, initialized) = self.sort(claims);
        let all = new.iter().chain(&initialized);
        let keys: Vec<String> = all.map(|(claim, _)| (**claim).clone()).collect();
        let (claims, nodes): (Vec<_>, Vec<_>) = new.into_iter().unzip();
        let answers = nodes::describe(self.provider.instances(), &nodes, Detail::Full, self.options.deadline).await;
        let outage = nodes::outage(&answers).map(|error| RoundFailed(error.report()));
        if let Some(error) = &outage {
            warn!(nodes = nodes.len(), %error, "cannot describe the machines of new nodes");
        }
        let new = claims.into_iter().zip(nodes).zip(answers);
        let new = new.map(|((claim, node), answer)| self.initialize(claim, node, answer).left_future());
        let initialized = initialized
            .into_iter()
            .map(|(claim, node)| self.copy_aliases(claim, node).right_future());
        let work: FuturesUnordered<_> = new.chain(initialized).collect();
        let summary: WriteSummary = work.collect().await;
        match outage.map_or_else(|| summary.outcome(), Err) {
            Ok(()) if keys.is_empty() => self.sync_pulse.end(),
            Ok(()) => self.sync_pulse.success(),
            Err(RoundFailed(reason)) => self.sync_pulse.failure_at(keys, reason),
        }
    }

    /// Separates new Nodes from initialized ones with deprecated labels; the others need no work any more.
    fn sort(&self, claims: Vec<Claim<String>>) -> (Vec<ClaimedNode>, Vec<ClaimedNode>) {
        let (mut new, mut initialized) = (Vec::with_capacity(claims.len()), Vec::new());
        for claim in claims {
            match self.nodes.find(&claim).filter(|node| self.needs_work(node)) {
                Some(node) if taints::is_uninitialized(&node) => new.push((claim, node)),
                Some(node) => initialized.push((claim, node)),
                None => {
                    self.sync_pulse.over(&claim);
                    claim.settle(Next::Done);
                }
            }
        }
        (new, initialized)
    }

    async fn initialize(&self, claim: Claim<String>, node: Arc<Node>, answer: cloud::Result<Answer>) -> WriteResult {
        let rules = Rules {
            provider_ids: self.provider.instances().provider_ids(),
            found_by: self.provider.instances().found_by(),
            labels: self.options.labels,
            before: None,
        };
        let plan = |node: &Node| {
            let plan = plan::plan(node, &answer, rules);
            debug!(node = nodes::name(node), %plan, "planned");
            plan
        };
        let outcome = self.writer.write(node.clone(), plan).await;
        let result = write_result(&outcome);
        let next = match outcome {
            Ok(Outcome::Written(writes)) => {
                self.reported_labels.record(&node, answer);
                self.report_initialized(&node, &writes);
                Next::Done
            }
            Ok(Outcome::Unchanged(Plan::Fail(error))) | Err(error) => self.report_failure(&node, &error).await,
            Ok(Outcome::Unchanged(Plan::Wait)) => {
                self.reporter.waiting(&node);
                Next::Poll(self.options.poll)
            }
            Ok(Outcome::Unchanged(_) | Outcome::NotFound) => Next::Done,
        };
        // The delete event of a Node may have been handled before its failure was recorded.
        let current = self.nodes.find(&claim);
        if current.is_none_or(|current| nodes::uid(&current) != nodes::uid(&node)) {
            self.reporter.resolved(&node);
        }
        claim.settle(next);
        result
    }

    fn report_initialized(&self, node: &Node, writes: &Writes) {
        self.reporter.resolved(node);
        if writes.taints.is_empty() {
            return;
        }
        let age = nodes::age(node, Timestamp::now()).unwrap_or_default();
        self.metrics.taint_removed(age);
        for label in &writes.ignored {
            warn!(node = nodes::name(node), %label, "ignored a label of the cloud");
        }
        info!(node = nodes::name(node), changes = %writes, "initialized node");
        // The only event on Nodes in which the Go framework refers to the resource version.
        let regarding = ObjectReference {
            resource_version: node.metadata.resource_version.clone(),
            ..nodes::reference(node)
        };
        self.recorder
            .event(regarding, Kind::Normal, "Synced", "Node synced successfully");
        self.metrics.synced(age);
    }

    async fn report_failure(&self, node: &Node, error: &Error) -> Next {
        // If several managers share the cluster, an instance that this cloud does not have may be in another cloud.
        let may_be_others =
            matches!(error, Error::NotFound(_)) && self.options.scope.ownership(node) == Ownership::Unknown;
        if !may_be_others {
            self.reporter.failed(node, error).await;
        }
        error.next()
    }

    async fn copy_aliases(&self, claim: Claim<String>, node: Arc<Node>) -> WriteResult {
        let outcome = self.writer.write(node.clone(), plan::aliases).await;
        let result = write_result(&outcome);
        let next = match outcome {
            Ok(Outcome::Written(writes)) => {
                info!(node = nodes::name(&node), changes = %writes, "updated labels");
                Next::Done
            }
            Ok(_) => Next::Done,
            Err(error) => {
                warn!(node = nodes::name(&node), %error, "cannot update labels");
                error.next()
            }
        };
        claim.settle(next);
        result
    }
}
