//! Tags of the machines behind nodes: a Node whose machine has them gets a label, and loses them when it is deleted.

use crate::{
    api_server, cloud_call,
    nodes::{self, Scope, labels, patch},
    requeue,
};
use cloud::{Error, NodeRef, NodeTags, Provider, ProviderId, Retry, TagOutcome};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client};
use runtime::{
    health::Pulse,
    informer::{Change, Informer, Store},
    queue::{self, Bucket, Claim, Limiter, Next, Queue},
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// The field manager of the label.
const COMPONENT: &str = "tagging-controller";

/// Nodes that come together are tagged together: how long the first waits for the others.
const GATHER: Duration = Duration::from_millis(100);

/// How often a node is retried before it is given up.
const RETRIES: u32 = 9;

/// A machine that the cloud does not show may be so new that it does not show it yet.
const YOUNG: Duration = Duration::from_mins(5);

/// How long one batch may take.
const DEADLINE: Duration = Duration::from_mins(1);

/// A node, and what its machine needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    node: String,
    task: Task,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Task {
    Tag,
    /// The Node is deleted: this was its provider ID.
    Untag(ProviderId),
}

/// The queue of the controller.
#[must_use]
pub fn queue(metrics: Option<&queue::Metrics>) -> Queue<Key> {
    let limiter = Limiter::exponential(Duration::from_millis(5), Duration::from_secs(1000));
    Queue::new("Tags", limiter, metrics)
}

/// What the controller works with.
pub struct Context {
    /// The cloud.
    pub provider: Arc<dyn Provider>,
    /// The nodes that are ours.
    pub scope: Scope,
    /// Writes the label.
    pub client: Client,
    /// All Nodes.
    pub nodes: Informer<Node>,
    /// The queue.
    pub queue: Queue<Key>,
    /// Hears how it goes.
    pub pulse: Pulse,
}

/// Tags machines until cancelled; what is under way is finished.
pub async fn run(context: Context, cancel: CancellationToken) {
    let Some(pace) = context.provider.node_tags().map(NodeTags::pace) else {
        return;
    };
    let context = Arc::new(context);
    context.listen(pace.rate.map(|(per_second, burst)| Bucket::new(per_second, burst)));
    let mut running = JoinSet::new();
    let next = || gather(&context.queue, pace.batch.get());
    while let Some(claims) = cancel.run_until_cancelled(next()).await.flatten() {
        let context = Arc::clone(&context);
        running.spawn(async move { context.batch(claims).await });
        while running.len() >= pace.workers.get() {
            running.join_next().await;
        }
    }
    context.queue.stop();
    while running.join_next().await.is_some() {}
}

async fn gather(queue: &Queue<Key>, most: usize) -> Option<Vec<Claim<Key>>> {
    let mut claims = queue.next_batch(most).await?;
    tokio::time::sleep(GATHER).await;
    if claims.len() < most && !queue.is_empty() {
        claims.extend(queue.next_batch(most - claims.len()).await.unwrap_or_default());
    }
    Some(claims)
}

impl Context {
    fn listen(self: &Arc<Self>, bucket: Option<Bucket>) {
        let this = Arc::downgrade(self);
        let bucket = bucket.map(Mutex::new);
        self.nodes.on_change(move |change| {
            let Some(this) = this.upgrade() else { return };
            let Some(key) = this.work(change) else { return };
            let wait = bucket.as_ref().map(|bucket| {
                let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
                bucket.reserve(Instant::now())
            });
            this.queue.add_after(key, wait.unwrap_or_default());
        });
    }

    fn work(&self, change: &Change<Node>) -> Option<Key> {
        let tags = self.provider.node_tags()?;
        work(change, tags.label()).filter(|_| {
            let (Change::Added(node) | Change::Deleted(node) | Change::Updated { new: node, .. }) = change;
            self.scope.contains(node)
        })
    }

    async fn batch(&self, claims: Vec<Claim<Key>>) {
        let Some(tags) = self.provider.node_tags() else { return };
        self.pulse.begin();
        let (tag, untag): (Vec<_>, Vec<_>) = claims.into_iter().partition(|claim| claim.task == Task::Tag);
        let results = [self.tag(tags, tag).await, self.untag(tags, untag).await];
        match results.into_iter().flatten().next() {
            None => self.pulse.success(),
            Some(error) => self.pulse.failure(error),
        }
    }

    /// Tags machines, and labels their Nodes. Returns what went wrong, if anything did.
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
                    failed.get_or_insert_with(|| error.report());
                    after(&error, age, self.queue.failures(&claim), |outcome| {
                        tags.observe(about, outcome);
                    })
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
                    failed.get_or_insert_with(|| error.report());
                    after(&error, YOUNG, self.queue.failures(&claim), |outcome| {
                        tags.observe(about, outcome);
                    })
                }
            };
            claim.settle(next);
        }
        failed
    }
}

/// What a change asks for.
fn work(change: &Change<Node>, label: (&str, &str)) -> Option<Key> {
    match change {
        Change::Added(node) | Change::Updated { new: node, .. } => {
            let key = Key {
                node: nodes::name(node).to_owned(),
                task: Task::Tag,
            };
            needs_tags(node, label).then_some(key)
        }
        Change::Deleted(node) => {
            let id = nodes::provider_id(node)?;
            // Without the label its machine never had tags of ours.
            labels::get(node, label.0)?;
            Some(Key {
                node: nodes::name(node).to_owned(),
                task: Task::Untag(id),
            })
        }
    }
}

/// A Node is tagged once its provider ID is known.
fn needs_tags(node: &Node, (key, value): (&str, &str)) -> bool {
    nodes::provider_id(node).is_some() && labels::get(node, key) != Some(value)
}

/// The Nodes that still need tags; the work on the others is done.
fn untagged(claims: Vec<Claim<Key>>, store: &Store<Node>, label: (&str, &str)) -> (Vec<Claim<Key>>, Vec<Arc<Node>>) {
    let mut wanted = (Vec::new(), Vec::new());
    for claim in claims {
        match store.find(&claim.node).filter(|node| needs_tags(node, label)) {
            Some(node) => {
                wanted.0.push(claim);
                wanted.1.push(node);
            }
            None => claim.settle(Next::Done),
        }
    }
    wanted
}

/// What comes after a failure: it is retried for a while, unless that is of no use.
fn after(error: &Error, age: Duration, failures: u32, observe: impl Fn(TagOutcome)) -> Next {
    let is_final = match error {
        Error::NotSupported { .. } => return Next::Done,
        Error::NotFound { .. } if age < YOUNG => false,
        Error::NotFound { .. } => true,
        error => error.retry() == Retry::Never || failures >= RETRIES,
    };
    observe(TagOutcome::Failed);
    if is_final {
        warn!(error = error.report(), "cannot change the tags of a machine");
        observe(TagOutcome::GivenUp);
        return Next::Done;
    }
    requeue::after(error.retry(), Next::Retry)
}

#[cfg(test)]
mod tests;
