//! One pass over all Nodes: describe, plan, limit deletions, write. Safe to run again at any point.

use super::{
    Context, Metrics, Options,
    deletion_limit::{DeletionLimit, Verdict},
    plan::{self, Action, Reason, Step},
    write::Writer,
};
use crate::nodes::{
    self,
    write_summary::{RoundFailed, WriteSummary},
};
use cloud::{Answer, Detail, Provider};
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use runtime::{
    events::{Kind, Recorder},
    health::Pulse,
    informer::{State, Store},
};
use std::{collections::HashSet, sync::Arc};
use tokio::time::Instant;
use tracing::warn;

/// Events about held deletions in one pass; the log and the metric count all of them.
const MAX_EVENTS: usize = 20;

/// Reconciles Nodes that are not ready with the cloud.
pub(super) struct Reconciler {
    writer: Writer,
    nodes: Store<Node>,
    provider: Arc<dyn Provider>,
    recorder: Recorder,
    metrics: Metrics,
    pulse: Pulse,
    options: Options,
    deletion_limit: DeletionLimit,
    /// UIDs of Nodes with an event that their deletion is held.
    reported: HashSet<String>,
}

impl Reconciler {
    pub(super) fn new(context: Context) -> Self {
        let Context {
            client,
            nodes,
            provider,
            recorder,
            metrics,
            pulse,
            options,
        } = context;
        Self {
            writer: Writer::new(client, nodes.clone(), recorder.clone(), metrics.clone()),
            deletion_limit: DeletionLimit::new(options.limits.clone()),
            nodes,
            provider,
            recorder,
            metrics,
            pulse,
            options,
            reported: HashSet::new(),
        }
    }

    /// Makes one pass over all Nodes.
    ///
    /// # Errors
    /// If the cloud or the API server failed for all Nodes.
    pub(super) async fn reconcile(&mut self) -> Result<(), RoundFailed> {
        let _timer = self.metrics.pass();
        // A cache without a working watch may report a Node as not ready that has recovered.
        if let State::Failing(reason) = self.nodes.state() {
            return Err(RoundFailed(reason));
        }
        let mut nodes = self.nodes.list();
        nodes.retain(|node| self.options.scope.contains(node));
        let total = nodes.len();
        let (not_ready, ready): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|node| !plan::is_ready(node));

        let answers = self.describe(&not_ready).await;
        let outage = nodes::outage(&answers).map(|error| RoundFailed(error.report()));
        if outage.is_none() {
            log_failures(&answers);
        }
        let mut actions: Vec<_> = ready.into_iter().map(plan::ready).collect();
        actions.retain(|action| action.step != Step::Keep(Reason::Ready));
        actions.extend(plan::plan(&not_ready, &answers, Timestamp::now(), &self.options));
        let actions = self.limit_deletions(actions, total);
        let summary = self.write(actions).await;
        outage.map_or_else(|| summary.outcome(), Err)
    }

    async fn describe(&self, nodes: &[Arc<Node>]) -> Vec<cloud::Result<Answer>> {
        let (instances, deadline) = (self.provider.instances(), self.options.deadline);
        let mut answers = Vec::with_capacity(nodes.len());
        for batch in nodes.chunks(self.options.batch.get()) {
            answers.extend(nodes::describe(instances, batch, Detail::Liveness, deadline).await);
            self.pulse.progress();
        }
        answers
    }

    /// Drops the deletions that the limit holds, and reports them.
    fn limit_deletions(&mut self, actions: Vec<Action>, total: usize) -> Vec<Action> {
        let uid = |action: &Action| nodes::uid(&action.node).to_owned();
        let deletions = actions.iter().filter(|action| action.step == Step::Delete);
        let missing: Vec<_> = deletions.map(uid).collect();
        let unknown = actions.iter().filter(|action| action.is_unknown()).map(uid).collect();
        let Verdict { allowed, held } = self.deletion_limit.admit(&missing, &unknown, total, Instant::now());
        self.report_held(&actions, &held, total);
        let allowed: HashSet<String> = allowed.into_iter().collect();
        let may_proceed = |it: &Action| it.step != Step::Delete || allowed.contains(nodes::uid(&it.node));
        actions.into_iter().filter(may_proceed).collect()
    }

    fn report_held(&mut self, actions: &[Action], held: &[String], total: usize) {
        self.metrics.held(held.len());
        let held: HashSet<&str> = held.iter().map(String::as_str).collect();
        self.reported.retain(|uid| held.contains(uid.as_str()));
        let is_new = |uid: &str| held.contains(uid) && !self.reported.contains(uid);
        let new = actions.iter().filter(|it| is_new(nodes::uid(&it.node)));
        let new: Vec<_> = new.take(MAX_EVENTS).map(|it| it.node.clone()).collect();
        if !new.is_empty() {
            warn!(
                held = held.len(),
                nodes = total,
                "too many machines do not exist in the cloud; their nodes are not deleted yet"
            );
        }
        for node in new {
            let message = format!(
                "Not deleting node {} yet: {} of {total} machines do not exist in the cloud, which has to last before nodes are deleted",
                nodes::name(&node),
                held.len()
            );
            self.recorder
                .event(nodes::reference(&node), Kind::Warning, "DeletionHeld", message);
            self.reported.insert(nodes::uid(&node).to_owned());
        }
    }

    async fn write(&mut self, actions: Vec<Action>) -> WriteSummary {
        let writes = actions.into_iter().map(|action| self.writer.write(action));
        let done: Vec<_> = futures::stream::iter(writes)
            .buffer_unordered(self.options.writes.get())
            .inspect(|_| self.pulse.progress())
            .collect()
            .await;
        let now = Instant::now();
        let mut summary = WriteSummary::default();
        for (result, deleted) in done {
            summary.extend([result]);
            if let Some(uid) = deleted {
                self.deletion_limit.deleted(&uid, now);
            }
        }
        summary
    }
}

fn log_failures(answers: &[cloud::Result<Answer>]) {
    let failures: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    if let Some(first) = failures.first() {
        warn!(
            nodes = failures.len(),
            error = first.report(),
            "cannot determine whether some machines exist"
        );
    }
}
