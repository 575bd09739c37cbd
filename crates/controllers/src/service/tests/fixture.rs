//! A reconciler over the memory cloud and a real API server, one attempt at a time.

use super::{node, patches::Patches};
use crate::service::{
    COMPONENT, Metrics, Options,
    events::ServiceEvents,
    hosts::Hosts,
    reconcile::Reconciler,
    state::ServiceStates,
    status::{self, conditions},
    trim,
    write::Writer,
};
use k8s_openapi::api::core::v1::{Namespace, Node, Service};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use memory::{Cloud, Memory};
use prometheus::Registry;
use runtime::{
    events::{Event, Recorder},
    health::Pulse,
    informer::{Change, Store},
    queue::{Limiter, Next, Queue, work},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use testkit::service::{Builder, load_balancer};
use tokio::sync::mpsc;

pub const CLUSTER: &str = "test-cluster";

pub struct Fixture {
    pub reconciler: Arc<Reconciler>,
    pub cloud: Cloud,
    pub nodes: Store<Node>,
    pub patches: Patches,
    pub client: Client,
    pub namespace: String,
    events: mpsc::Receiver<Event>,
}

/// The client, and the name of a new namespace.
pub async fn namespace() -> (Client, String) {
    let (client, name) = (lab::ControlPlane::shared().client(), lab::unique("service"));
    let object: Namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    let api = Api::all(client.clone());
    api.create(&PostParams::default(), &object).await.unwrap();
    (client, name)
}

impl Fixture {
    /// On the real API server, in a namespace of its own.
    pub async fn new() -> Self {
        let (client, namespace) = namespace().await;
        let patches = Patches::default();
        Self::with(patches.to(client.clone()), client, patches, namespace)
    }

    /// Without an API server: every request fails the test.
    pub fn offline() -> Self {
        Self::with(Patches::none(), Patches::none(), Patches::default(), "default".into())
    }

    fn with(client: Client, server: Client, patches: Patches, namespace: String) -> Self {
        let (sender, events) = mpsc::channel(1000);
        let cloud = Cloud::new();
        let nodes = Store::of([]);
        let options = Options::new(CLUSTER);
        let reconciler = Arc::new(Reconciler {
            services: Store::of([]),
            hosts: Hosts::new(nodes.clone(), options.scope.clone()),
            provider: Arc::new(Memory::new(&cloud)),
            writer: Writer::new(client),
            events: ServiceEvents::new(Recorder::new(COMPONENT, sender), "the-cloud"),
            metrics: Metrics::register(&Registry::new()).unwrap(),
            pulse: Pulse::default(),
            options,
            states: ServiceStates::default(),
        });
        Self {
            reconciler,
            cloud,
            nodes,
            patches,
            client: server,
            namespace,
            events,
        }
    }

    /// Starts a new process, with changes: the same cluster and cloud, and no state.
    pub fn restart(&mut self, change: impl FnOnce(&mut Reconciler)) {
        let Reconciler {
            services,
            hosts,
            provider,
            writer,
            events,
            metrics,
            pulse,
            options,
            states: _,
        } = &*self.reconciler;
        let mut reconciler = Reconciler {
            services: services.clone(),
            hosts: hosts.clone(),
            provider: provider.clone(),
            writer: writer.clone(),
            events: events.clone(),
            metrics: metrics.clone(),
            pulse: pulse.clone(),
            options: options.clone(),
            states: ServiceStates::default(),
        };
        change(&mut reconciler);
        self.reconciler = Arc::new(reconciler);
    }

    /// Passes the current hosts to all Services. There are no retries.
    pub async fn fan_out(&self, workers: usize) {
        let queue = Queue::new(
            "service",
            Limiter::exponential(Duration::from_millis(5), Duration::from_secs(1000)),
            None,
        );
        self.reconciler.fan_out(&queue);
        queue.stop();
        let reconciler = self.reconciler.clone();
        let handle = move |key: String| {
            let reconciler = reconciler.clone();
            async move { reconciler.reconcile(&key).await }
        };
        work(queue, workers.try_into().unwrap(), handle).await;
    }

    pub fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.namespace)
    }

    pub fn has_state(&self, name: &str) -> bool {
        self.reconciler.states.read(&self.key(name), |state| state.is_some())
    }

    pub fn api(&self) -> Api<Service> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Creates the Service on the API server and in the cache.
    pub async fn create(&self, service: Builder) -> Arc<Service> {
        let service = service
            .namespace(&self.namespace)
            .with(|service| service.metadata.uid = None)
            .build();
        let name = service.name_any();
        self.api().create(&PostParams::default(), &service).await.unwrap();
        if let Some(status) = &service.status {
            self.patch_status(&name, Patch::Merge(json!({ "status": status })))
                .await;
        }
        if service.metadata.deletion_timestamp.is_some() {
            self.api().delete(&name, &DeleteParams::default()).await.unwrap();
        }
        self.refresh(&name).await.unwrap()
    }

    /// A reconciled Service `s`; its calls, events and patches are forgotten.
    pub async fn create_ready(&mut self) -> Arc<Service> {
        self.create(load_balancer("s")).await;
        self.reconcile("s").await;
        self.calls();
        self.reasons();
        self.patches.clear();
        self.refresh("s").await.unwrap()
    }

    /// Updates the cache from the API server.
    pub async fn refresh(&self, name: &str) -> Option<Arc<Service>> {
        let mut service = self.api().get_opt(name).await.unwrap();
        service.iter_mut().for_each(trim);
        match service {
            Some(service) => drop(self.reconciler.services.insert(service)),
            None => drop(self.reconciler.services.remove(&self.key(name))),
        }
        self.reconciler.services.find(&self.key(name))
    }

    /// Reconciles the Service once, from the cache.
    pub async fn reconcile(&self, name: &str) -> Next {
        self.reconciler.reconcile(&self.key(name)).await
    }

    /// A user changes the Service.
    pub async fn change(&self, name: &str, patch: Value) -> Arc<Service> {
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        self.api().patch(name, &params, &patch).await.unwrap();
        self.refresh(name).await.unwrap()
    }

    pub async fn patch_status(&self, name: &str, patch: Patch<Value>) {
        let params = PatchParams::default();
        self.api().patch_status(name, &params, &patch).await.unwrap();
    }

    /// A user deletes the Service.
    pub async fn delete(&self, name: &str) -> Option<Arc<Service>> {
        self.api().delete(name, &DeleteParams::default()).await.unwrap();
        self.refresh(name).await
    }

    /// A user removes the finalizers; the cache is not updated.
    pub async fn strip_finalizers(&self, name: &str) {
        let (params, patch) = (PatchParams::default(), json!({"metadata": {"finalizers": null}}));
        self.api().patch(name, &params, &Patch::Merge(patch)).await.unwrap();
    }

    /// The condition on the API server.
    pub async fn condition(&self, name: &str) -> String {
        condition(&self.refresh(name).await.unwrap())
    }

    /// Replaces all Nodes, by texts such as `node1 doomed`.
    pub fn set_nodes(&self, texts: &[&str]) {
        self.replace_nodes(texts.iter().map(|text| {
            let (name, words) = text.split_once(' ').unwrap_or((text, ""));
            node(name, words)
        }));
    }

    pub fn replace_nodes(&self, nodes: impl IntoIterator<Item = Node>) {
        let nodes: Vec<_> = nodes.into_iter().collect();
        for old in self.nodes.list() {
            if !nodes.iter().any(|node| node.metadata.name == old.metadata.name) {
                self.nodes.remove(&old.name_any());
                self.reconciler.hosts.handle(&Change::Deleted(old));
            }
        }
        for node in nodes {
            self.reconciler.hosts.handle(&self.nodes.insert(node));
        }
    }

    /// The hosts of the first load balancer.
    pub fn host_names(&self) -> Vec<String> {
        let balancers = self.cloud.load_balancers();
        balancers[0].host_names().into_iter().map(str::to_owned).collect()
    }

    /// The calls to the cloud since the last time, as `operation name host host`.
    pub fn calls(&self) -> Vec<String> {
        let calls = self.cloud.calls();
        self.cloud.forget_calls();
        let describe = |call: &memory::Call| {
            let name = call.service.as_ref().map_or("", |service| &service.name);
            let words = [call.operation.as_str(), name]
                .into_iter()
                .chain(call.names.iter().map(String::as_str));
            words.collect::<Vec<_>>().join(" ")
        };
        calls.iter().map(describe).collect()
    }

    /// The reasons of the events since the last time.
    pub fn reasons(&mut self) -> Vec<&'static str> {
        self.events().into_iter().map(|event| event.reason).collect()
    }

    /// The events since the last time.
    pub fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }

    /// The messages of events about failures since the last time.
    pub fn failures(&mut self) -> Vec<String> {
        let events = self.events().into_iter();
        let failures = events.filter(|event| event.reason.ends_with("Failed"));
        failures.map(|event| event.message).collect()
    }
}

pub fn condition(service: &Service) -> String {
    conditions::find(service)
        .map(|one| format!("{} {}", one.status, one.reason))
        .unwrap_or_default()
}

pub fn ingress(service: &Service) -> Vec<String> {
    let ingress = status::of(service).ingress.into_iter();
    ingress.filter_map(|ingress| ingress.ip).collect()
}
