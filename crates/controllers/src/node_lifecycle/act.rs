//! One look at all Nodes: ask, decide, brake, act.

use super::{
    COMPONENT, Context, Options,
    brake::{Brake, Verdict},
    decide::{self, Action, Reason, Verb},
};
use crate::nodes::{
    self, api, patch, taints,
    tally::{Tally, Wrote},
};
use cloud::{Answer, Detail, Provider};
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api,
    api::{DeleteParams, Preconditions},
};
use runtime::{
    events::{Kind, Recorder},
    health::Pulse,
    informer::{State, Store},
};
use std::{collections::HashSet, sync::Arc};
use tokio::time::Instant;
use tracing::{debug, info, warn};

/// So many Nodes at most are told at one look that they are held back; the log and the metric count all.
const TOLD_AT_ONCE: usize = 20;

pub(super) struct Controller {
    api: Api<Node>,
    nodes: Store<Node>,
    provider: Arc<dyn Provider>,
    recorder: Recorder,
    metrics: super::Metrics,
    pulse: Pulse,
    options: Options,
    brake: Brake,
    /// UIDs of Nodes whose events say that they are held back.
    told: HashSet<String>,
}

impl Controller {
    pub(super) fn new(ctx: Context) -> Self {
        let Context {
            client,
            nodes,
            provider,
            recorder,
            metrics,
            pulse,
            options,
        } = ctx;
        let brake = Brake::new(options.limits.clone());
        Self {
            api: Api::all(client),
            nodes,
            provider,
            recorder,
            metrics,
            pulse,
            options,
            brake,
            told: HashSet::new(),
        }
    }

    /// Looks once at all Nodes.
    pub(super) async fn look(&mut self) -> Result<(), String> {
        let _timer = self.metrics.look();
        // What a cache that is not kept up says about readiness may be long over.
        if let State::Failing(reason) = self.nodes.state() {
            return Err(reason);
        }
        let mut nodes = self.nodes.list();
        nodes.retain(|node| self.options.scope.contains(node));
        let total = nodes.len();
        let (asked, ready): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|node| decide::is_in_question(node));

        let answers = self.ask(&asked).await;
        let failed = nodes::failed_as_a_whole(&answers).map(cloud::Error::report);
        if failed.is_none() {
            say_doubts(&answers);
        }

        let mut actions: Vec<_> = ready.into_iter().map(decide::ready).collect();
        actions.retain(|action| action.verb != Verb::Keep(Reason::Fine));
        actions.extend(decide::decide(&asked, &answers, Timestamp::now(), &self.options));
        let actions = self.slow_down(actions, total);
        let written = self.act(actions).await;
        failed.map_or_else(|| written.verdict(), Err)
    }

    async fn ask(&self, nodes: &[Arc<Node>]) -> Vec<cloud::Result<Answer>> {
        let (instances, deadline) = (self.provider.instances(), self.options.deadline);
        let mut answers = Vec::with_capacity(nodes.len());
        for batch in nodes.chunks(self.options.batch.get()) {
            answers.extend(nodes::ask(instances, batch, Detail::Liveness, deadline).await);
            self.pulse.progress();
        }
        answers
    }

    /// Takes out the deletions that are held back, and says so.
    fn slow_down(&mut self, actions: Vec<Action>, total: usize) -> Vec<Action> {
        let uid = |action: &Action| nodes::uid(&action.node).to_owned();
        let missing: Vec<_> = actions
            .iter()
            .filter(|action| action.verb == Verb::Delete)
            .map(uid)
            .collect();
        let unknown = actions.iter().filter(|action| action.is_doubt()).map(uid).collect();
        let Verdict { release, hold } = self.brake.admit(&missing, &unknown, total, Instant::now());
        self.report(&actions, &hold, total);
        let release: HashSet<String> = release.into_iter().collect();
        let goes = |it: &Action| it.verb != Verb::Delete || release.contains(nodes::uid(&it.node));
        actions.into_iter().filter(goes).collect()
    }

    fn report(&mut self, actions: &[Action], hold: &[String], total: usize) {
        self.metrics.held(hold.len());
        let hold: HashSet<&str> = hold.iter().map(String::as_str).collect();
        self.told.retain(|uid| hold.contains(uid.as_str()));
        if hold.is_empty() {
            return;
        }
        let untold = actions
            .iter()
            .filter(|it| hold.contains(nodes::uid(&it.node)) && !self.told.contains(nodes::uid(&it.node)));
        let untold: Vec<_> = untold.take(TOLD_AT_ONCE).map(|it| it.node.clone()).collect();
        if !untold.is_empty() {
            warn!(
                held = hold.len(),
                nodes = total,
                "the cloud says that too many machines are gone; their nodes are kept for now"
            );
        }
        for node in untold {
            let message = format!(
                "Not deleting node {} yet: the cloud says that {} of {total} machines are gone, which is doubted until it has said so for a while",
                nodes::name(&node),
                hold.len()
            );
            self.recorder
                .event(nodes::reference(&node), Kind::Warning, "DeletionHeld", message);
            self.told.insert(nodes::uid(&node).to_owned());
        }
    }

    async fn act(&mut self, actions: Vec<Action>) -> Tally {
        let this = &*self;
        let acts = actions.into_iter().map(|action| this.perform(action));
        let done: Vec<_> = futures::stream::iter(acts)
            .buffer_unordered(self.options.writes.get())
            .inspect(|_| this.pulse.progress())
            .collect()
            .await;
        let now = Instant::now();
        let mut written = Tally::default();
        for (wrote, gone) in done {
            written.extend([wrote]);
            if let Some(uid) = gone {
                self.brake.went(&uid, now);
            }
        }
        written
    }

    /// Performs one action; with the UID of the Node if it is gone now.
    async fn perform(&self, action: Action) -> (Wrote, Option<String>) {
        debug!(%action, "decided");
        let Action { node, verb } = action;
        match verb {
            Verb::Keep(_) => (Wrote::Nothing, None),
            Verb::Taint => {
                let patch = patch::Spec::of(&node).with_taint(&taints::shutdown());
                let done = "tainted node: its machine is shut down";
                (self.patch(&node, patch, done).await, None)
            }
            Verb::Untaint => {
                let positions = taints::positions(taints::of(&node), &taints::shutdown());
                let patch = patch::Spec::of(&node).without_taints(&positions);
                (
                    self.patch(&node, patch, "untainted node: it is ready again").await,
                    None,
                )
            }
            Verb::Delete => self.delete(&node).await,
        }
    }

    /// A patch that comes too late is tried again at the next look.
    async fn patch(&self, node: &Node, patch: patch::Spec<'_>, done: &'static str) -> Wrote {
        let name = nodes::name(node);
        match api::call(self.api.patch(name, &api::params(COMPONENT), &patch.build())).await {
            Ok(_) => {
                info!(node = name, "{done}");
                Wrote::Done
            }
            Err(api::Fault::Gone) => Wrote::Nothing,
            Err(reason) => {
                warn!(node = name, %reason, "cannot patch taints");
                refused(&reason)
            }
        }
    }

    async fn delete(&self, node: &Node) -> (Wrote, Option<String>) {
        let (name, uid) = (nodes::name(node), nodes::uid(node));
        // Asking may have taken a while: a kubelet that came back meanwhile is believed.
        let still = self
            .nodes
            .find(name)
            .filter(|now| nodes::uid(now) == uid && decide::is_in_question(now));
        let Some(still) = still else {
            return (Wrote::Nothing, None);
        };
        let reference = nodes::reference(&still);
        let message = format!("Deleting node {name} because it does not exist in the cloud provider");
        self.recorder
            .event(reference.clone(), Kind::Normal, "DeletingNode", message);
        let only_this = Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        };
        let params = DeleteParams {
            preconditions: Some(only_this),
            ..DeleteParams::default()
        };
        match api::call(self.api.delete(name, &params)).await {
            Ok(_) => {
                info!(node = name, "deleted node: its machine is gone");
                self.metrics.deleted();
                (Wrote::Done, Some(uid.to_owned()))
            }
            Err(api::Fault::Gone) => (Wrote::Nothing, Some(uid.to_owned())),
            Err(reason) => {
                warn!(node = name, %reason, "cannot delete node");
                let message = format!("Failed deleting node {name}: {reason}");
                self.recorder
                    .event(reference, Kind::Warning, "DeletingNodeFailed", message);
                (refused(&reason), None)
            }
        }
    }
}

/// Somebody who was faster is no failure of ours.
fn refused(fault: &api::Fault) -> Wrote {
    match fault {
        api::Fault::Gone | api::Fault::Contended(_) => Wrote::Nothing,
        api::Fault::Failed(reason) => Wrote::Refused(reason.clone()),
    }
}

fn say_doubts(answers: &[cloud::Result<Answer>]) {
    let doubts: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    if let Some(first) = doubts.first() {
        warn!(
            nodes = doubts.len(),
            error = first.report(),
            "cannot tell whether some machines exist"
        );
    }
}
