//! Tags and untags one batch of machines. Safe to run again at any point.

use super::{
    Context,
    plan::{self, Key, Task, YOUNG},
};
use crate::{
    api_server, cloud_call,
    nodes::{self, labels, patch},
};
use cloud::{Error, NodeRef, NodeTags, TagOutcome};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use runtime::{
    informer::Store,
    queue::{Claim, Next},
};
use std::{sync::Arc, time::Duration};
use tracing::{info, warn};

/// The field manager of the label.
const COMPONENT: &str = "tagging-controller";

/// The deadline of one batch.
const DEADLINE: Duration = Duration::from_mins(1);

impl Context {
    pub(super) async fn batch(&self, claims: Vec<Claim<Key>>) {
        let Some(tags) = self.provider.node_tags() else { return };
        self.pulse.begin();
        let (tag, untag): (Vec<_>, Vec<_>) = claims.into_iter().partition(|claim| claim.task == Task::Tag);
        let results = [self.tag(tags, tag).await, self.untag(tags, untag).await];
        match results.into_iter().flatten().next() {
            None => self.pulse.success(),
            Some(error) => self.pulse.failure(error),
        }
    }

    /// Tags machines, and labels their Nodes. Returns the first failure.
    async fn tag(&self, tags: &dyn NodeTags, claims: Vec<Claim<Key>>) -> Option<String> {
        let (claims, nodes) = untagged(claims, &self.nodes.store(), tags.label());
        let refs: Vec<NodeRef> = nodes.iter().map(|node| nodes::node_ref(node)).collect();
        if refs.is_empty() {
            return None;
        }
        let answers = cloud_call::batch("tag machines", refs.len(), DEADLINE, tags.tag(&refs)).await;
        let mut failed = None;
        for (((claim, node), about), answer) in claims.into_iter().zip(&nodes).zip(&refs).zip(answers) {
            let next = match answer {
                Ok(()) => self.label(tags, node, about).await,
                Err(error) => {
                    let age = nodes::age(node, Timestamp::now()).unwrap_or_default();
                    let next = self.after(tags, about, &error, age, &claim);
                    failed.get_or_insert_with(|| error.report());
                    next
                }
            };
            claim.settle(next);
        }
        failed
    }

    async fn label(&self, tags: &dyn NodeTags, node: &Node, about: &NodeRef) -> Next {
        let (key, value) = tags.label();
        let changes = [(key.to_owned(), Some(value.to_owned()))].into();
        let patch = patch::Spec::of(node).labels(&changes);
        let api: Api<Node> = Api::all(self.client.clone());
        let params = api_server::patch_params(COMPONENT);
        let written = api_server::call(api.patch(nodes::name(node), &params, &patch.build())).await;
        match written {
            Ok(_) => {
                if labels::get(node, key).is_none() {
                    let age = nodes::age(node, Timestamp::now()).unwrap_or_default();
                    tags.observe(about, TagOutcome::First(age));
                }
                info!(node = nodes::name(node), "tagged the machine of a node");
                Next::Done
            }
            Err(api_server::Error::NotFound) => Next::Done,
            Err(error) => {
                warn!(
                    node = nodes::name(node),
                    error = error.report(),
                    "cannot label a node whose machine is tagged"
                );
                Next::Retry
            }
        }
    }

    async fn untag(&self, tags: &dyn NodeTags, claims: Vec<Claim<Key>>) -> Option<String> {
        let about = |claim: &Claim<Key>| NodeRef {
            provider_id: match &claim.task {
                Task::Untag(id) => Some(id.clone()),
                Task::Tag => None,
            },
            ..NodeRef::named(&claim.node)
        };
        let refs: Vec<NodeRef> = claims.iter().map(about).collect();
        if refs.is_empty() {
            return None;
        }
        let answers = cloud_call::batch("untag machines", refs.len(), DEADLINE, tags.untag(&refs)).await;
        let mut failed = None;
        for ((claim, about), answer) in claims.into_iter().zip(&refs).zip(answers) {
            let next = match answer {
                Ok(()) => Next::Done,
                Err(error) => {
                    let next = self.after(tags, about, &error, YOUNG, &claim);
                    failed.get_or_insert_with(|| error.report());
                    next
                }
            };
            claim.settle(next);
        }
        failed
    }

    /// The next attempt after a failure, which is counted.
    fn after(&self, tags: &dyn NodeTags, about: &NodeRef, error: &Error, age: Duration, claim: &Key) -> Next {
        let (next, outcomes) = plan::after(error, age, self.queue.failures(claim));
        for outcome in outcomes {
            tags.observe(about, *outcome);
        }
        if outcomes.contains(&TagOutcome::GivenUp) {
            warn!(
                node = about.name,
                error = error.report(),
                "cannot change the tags of a machine"
            );
        }
        next
    }
}

/// The Nodes that still need tags; the work on the others is done.
fn untagged(claims: Vec<Claim<Key>>, store: &Store<Node>, label: (&str, &str)) -> (Vec<Claim<Key>>, Vec<Arc<Node>>) {
    let mut wanted = (Vec::new(), Vec::new());
    for claim in claims {
        match store.find(&claim.node).filter(|node| plan::needs_tags(node, label)) {
            Some(node) => {
                wanted.0.push(claim);
                wanted.1.push(node);
            }
            None => claim.settle(Next::Done),
        }
    }
    wanted
}
