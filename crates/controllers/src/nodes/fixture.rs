//! A real API server and a memory cloud, with Nodes that are separate from those of other tests.

use super::{Scope, addresses, conditions, scope::parse_selector, taints, trim};
use cloud::Provider;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    runtime::watcher,
};
use memory::{Cloud, Memory};
use runtime::{
    events::{Event, Recorder},
    health::Pulse,
    informer::Informer,
};
use serde_json::json;
use std::{future::Future, sync::Arc, time::Duration};
use testkit::{requests::Requests, wait::until};
use tokio::{sync::mpsc, task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

const LABEL: &str = "outrigger.test/group";

pub(crate) struct Fixture {
    /// The prefix of the names of its Nodes.
    pub(crate) group: String,
    /// Not counted.
    pub(crate) api: Api<Node>,
    /// Counted.
    pub(crate) client: Client,
    pub(crate) requests: Requests,
    pub(crate) cloud: Cloud,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) informer: Informer<Node>,
    events: mpsc::Receiver<Event>,
    sender: mpsc::Sender<Event>,
    cancel: CancellationToken,
    tasks: JoinSet<()>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::on(lab::ControlPlane::shared())
    }

    pub(crate) fn on(plane: &lab::ControlPlane) -> Self {
        let group = lab::unique("node");
        let api = Api::all(plane.client());
        let (client, requests) = Requests::of(plane.config());
        let (sender, events) = mpsc::channel(10_000);
        let cloud = Cloud::new();
        let selected = watcher::Config::default().labels(&format!("{LABEL}={group}"));
        let informer = Informer::new(api.clone(), selected, trim);
        let provider = Arc::new(Memory::new(&cloud));
        let (cancel, tasks) = (CancellationToken::new(), JoinSet::new());
        Self {
            group,
            api,
            client,
            requests,
            cloud,
            provider,
            informer,
            events,
            sender,
            cancel,
            tasks,
        }
    }

    pub(crate) fn recorder(&self, component: &'static str) -> Recorder {
        Recorder::new(component, self.sender.clone())
    }

    /// Runs the informer and the controller until the end of the test.
    pub(crate) fn start<F: Future<Output = ()> + Send + 'static>(&mut self, run: impl FnOnce(CancellationToken) -> F) {
        let (informer, cancel) = (self.informer.clone(), self.cancel.clone());
        self.tasks.spawn(async move { informer.run(cancel).await });
        self.tasks.spawn(run(self.cancel.clone()));
    }

    /// All Nodes of this test.
    pub(crate) fn scope(&self) -> Scope {
        Scope {
            selector: parse_selector(&format!("{LABEL}={}", self.group)).unwrap(),
            ..Scope::default()
        }
    }

    /// The name of a Node of this test.
    pub(crate) fn name(&self, short: &str) -> String {
        format!("{}-{short}", self.group)
    }

    /// Creates a Node from words; see [`testkit::node::node`].
    pub(crate) async fn register(&self, short: &str, words: &str) -> Node {
        let mut node = testkit::node::node(&self.name(short), words);
        node.metadata.uid = None;
        node.metadata
            .labels
            .get_or_insert_default()
            .insert(LABEL.to_owned(), self.group.clone());
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone());
        self.api.create(&PostParams::default(), &node).await.unwrap();
        // The API server adds a taint of its own to new Nodes.
        let patch = Patch::Merge(json!({ "spec": { "taints": taints } }));
        self.api
            .patch(&self.name(short), &PatchParams::default(), &patch)
            .await
            .unwrap()
    }

    pub(crate) async fn get(&self, short: &str) -> Node {
        self.api.get(&self.name(short)).await.unwrap()
    }

    pub(crate) async fn delete(&self, short: &str) {
        self.api
            .delete(&self.name(short), &DeleteParams::default())
            .await
            .unwrap();
    }

    /// Waits until this holds for the Node.
    pub(crate) async fn until(&self, short: &str, what: &str, holds: impl Fn(&Node) -> bool) -> Node {
        let waited_for = format!("{what} on {short}");
        until(&waited_for, || async {
            let node = self.get(short).await;
            if holds(&node) { Ok(node) } else { Err(summary(&node)) }
        })
        .await
    }

    /// All Nodes.
    pub(crate) async fn list(&self) -> Vec<Node> {
        self.api.list(&self.selected()).await.unwrap().items
    }

    fn selected(&self) -> ListParams {
        ListParams::default().labels(&format!("{LABEL}={}", self.group))
    }

    /// Waits until all Nodes are initialized.
    pub(crate) async fn until_initialized(&self) {
        until("all nodes to be initialized", || async {
            let nodes = self.list().await;
            match nodes.iter().filter(|node| taints::is_uninitialized(node)).count() {
                0 => Ok(()),
                left => Err(format!("{left} of {} are not", nodes.len())),
            }
        })
        .await;
    }

    /// Waits for an event with this reason, and drops those before it.
    pub(crate) async fn until_event(&mut self, reason: &str) -> Event {
        let wait = tokio::time::timeout(Duration::from_mins(1), async {
            loop {
                let event = self.events.recv().await.unwrap();
                if event.reason == reason {
                    return event;
                }
            }
        });
        wait.await.unwrap_or_else(|_| panic!("no event {reason}"))
    }

    /// The reasons of all events that have not been read.
    pub(crate) fn events(&mut self) -> Vec<&'static str> {
        let mut reasons = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            reasons.push(event.reason);
        }
        reasons
    }

    /// Cancels all tasks, and waits for their end.
    pub(crate) async fn stop(&mut self) {
        self.cancel.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
    }

    /// Waits until the health check of this loop fails with such a reason.
    pub(crate) async fn until_failing(pulse: &Pulse, reason: &str) {
        until("a failing health check", || async {
            match pulse.failing(Duration::ZERO) {
                Err(text) if text.contains(reason) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    /// Stops, and deletes all Nodes.
    pub(crate) async fn finish(mut self) {
        self.stop().await;
        let (params, selected) = (DeleteParams::default(), self.selected());
        self.api.delete_collection(&params, &selected).await.unwrap();
    }
}

/// Whether a loop spends more than five minutes on one piece of work within half an hour; the clock must be paused.
pub(crate) async fn gets_stuck(work: impl Future<Output = ()>, pulse: &Pulse) -> bool {
    let watch = async {
        let end = Instant::now() + Duration::from_mins(30);
        while Instant::now() < end {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if pulse.stuck(Duration::from_mins(5)).is_err() {
                return true;
            }
        }
        false
    };
    tokio::select! {
        () = work => panic!("the loop has ended"),
        stuck = watch => stuck,
    }
}

/// The Node in the words of [`testkit::node::node`].
pub(crate) fn summary(node: &Node) -> String {
    let mut words: Vec<String> = taints::of(node).iter().map(|taint| short(&taint.key)).collect();
    words.extend(super::provider_id(node).map(|id| format!("id:{id}")));
    words.extend(
        addresses::of(node)
            .iter()
            .map(|address| format!("{}={}", address.type_, address.address)),
    );
    let labels = node.metadata.labels.iter().flatten().filter(|(key, _)| *key != LABEL);
    words.extend(labels.map(|(key, value)| format!("{key}={value}")));
    let failure = conditions::find(node, conditions::CLOUD_PROVIDER_INITIALIZED);
    words.extend(failure.map(|it| format!("failure:{}", it.reason.as_deref().unwrap_or_default())));
    words.join(" ")
}

fn short(taint: &str) -> String {
    match taint {
        taints::UNINITIALIZED => "tainted".to_owned(),
        taints::SHUTDOWN => "shutdown".to_owned(),
        other => format!("taint:{other}"),
    }
}
