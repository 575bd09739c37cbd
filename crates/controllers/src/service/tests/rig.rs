//! A reconciler over a memory cloud and a real API server, one step at a time.

use super::wire::Wire;
use crate::service::{
    COMPONENT, Metrics, Options, announce::Announcer, hosts::Hosts, ledger::Ledger, reconcile::Reconciler, trim,
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
    informer::Store,
    queue::{Limiter, Next, Queue, work},
};
use serde_json::{Value, json};
use std::sync::Arc;
use testkit::service::Builder;
use tokio::sync::mpsc;

pub const CLUSTER: &str = "test-cluster";

pub struct Rig {
    pub reconciler: Arc<Reconciler>,
    pub cloud: Cloud,
    pub nodes: Store<Node>,
    pub wire: Wire,
    pub client: Client,
    pub namespace: String,
    events: mpsc::Receiver<Event>,
}

impl Rig {
    /// On the real API server, in a namespace of its own.
    pub async fn new() -> Self {
        let namespace = lab::unique("service");
        let client = lab::ControlPlane::shared().client();
        let object = Namespace {
            metadata: meta(&namespace),
            ..Namespace::default()
        };
        Api::all(client.clone())
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
        let wire = Wire::default();
        Self::with(wire.to(client.clone()), client, wire, namespace)
    }

    /// Without an API server: whoever asks it for something fails the test.
    pub fn offline() -> Self {
        Self::with(Wire::nowhere(), Wire::nowhere(), Wire::default(), "default".into())
    }

    fn with(client: Client, server: Client, wire: Wire, namespace: String) -> Self {
        let (sender, events) = mpsc::channel(1000);
        let cloud = Cloud::new();
        let nodes = Store::of([]);
        let options = Options::new(CLUSTER);
        let reconciler = Arc::new(Reconciler {
            services: Store::of([]),
            hosts: Hosts::new(nodes.clone(), options.scope.clone()),
            provider: Arc::new(Memory::new(&cloud)),
            writer: Writer::new(client),
            announcer: Announcer::new(Recorder::new(COMPONENT, sender), "the-cloud"),
            metrics: Metrics::register(&Registry::new()).unwrap(),
            pulse: Pulse::default(),
            options,
            ledger: Ledger::default(),
        });
        Self {
            reconciler,
            cloud,
            nodes,
            wire,
            client: server,
            namespace,
            events,
        }
    }

    /// Starts the process anew, with changes: the same cluster, the same cloud, nothing in memory.
    pub fn restart(&mut self, change: impl FnOnce(&mut Reconciler)) {
        let Reconciler {
            services,
            hosts,
            provider,
            writer,
            announcer,
            metrics,
            pulse,
            options,
            ledger: _,
        } = &*self.reconciler;
        let mut reconciler = Reconciler {
            services: services.clone(),
            hosts: hosts.clone(),
            provider: provider.clone(),
            writer: writer.clone(),
            announcer: announcer.clone(),
            metrics: metrics.clone(),
            pulse: pulse.clone(),
            options: options.clone(),
            ledger: Ledger::default(),
        };
        change(&mut reconciler);
        self.reconciler = Arc::new(reconciler);
    }

    /// Tells all Services of the hosts as they are now. What fails is not tried again.
    pub async fn pass(&self, workers: usize) {
        let queue = Queue::new("service", Limiter::client_go(), None);
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

    pub fn api(&self) -> Api<Service> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Makes it so on the API server, and shows it to the reconciler.
    pub async fn create(&self, service: Builder) -> Arc<Service> {
        let service = service
            .namespace(&self.namespace)
            .with(|service| service.metadata.uid = None)
            .build();
        let name = service.name_any();
        self.api().create(&PostParams::default(), &service).await.unwrap();
        if let Some(status) = &service.status {
            let patch = Patch::Merge(json!({ "status": status }));
            self.api()
                .patch_status(&name, &PatchParams::default(), &patch)
                .await
                .unwrap();
        }
        if service.metadata.deletion_timestamp.is_some() {
            self.api().delete(&name, &DeleteParams::default()).await.unwrap();
        }
        self.look(&name).await.unwrap()
    }

    /// Shows the reconciler what the API server has, as an informer would.
    pub async fn look(&self, name: &str) -> Option<Arc<Service>> {
        let mut service = self.api().get_opt(name).await.unwrap();
        service.iter_mut().for_each(trim);
        match service {
            Some(service) => drop(self.reconciler.services.insert(service)),
            None => drop(self.reconciler.services.remove(&self.key(name))),
        }
        self.reconciler.services.find(&self.key(name))
    }

    /// Brings the Service in order, with what the reconciler has been shown.
    pub async fn sync(&self, name: &str) -> Next {
        self.reconciler.reconcile(&self.key(name)).await
    }

    /// A user changes the Service.
    pub async fn change(&self, name: &str, patch: Value) -> Arc<Service> {
        self.api()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
        self.look(name).await.unwrap()
    }

    /// The nodes are these now.
    pub fn set_nodes(&self, nodes: impl IntoIterator<Item = Node>) {
        let nodes: Vec<_> = nodes.into_iter().collect();
        for old in self.nodes.list() {
            if !nodes.iter().any(|node| node.metadata.name == old.metadata.name) {
                self.nodes.remove(&old.name_any());
                self.reconciler.hosts.heed(&runtime::informer::Change::Deleted(old));
            }
        }
        for node in nodes {
            self.reconciler.hosts.heed(&self.nodes.insert(node));
        }
    }

    /// The calls of the cloud since last asked, as `operation name host host`.
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

    /// The reasons of the events since last asked.
    pub fn reasons(&mut self) -> Vec<&'static str> {
        self.events().into_iter().map(|event| event.reason).collect()
    }

    /// The events since last asked.
    pub fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }
}

fn meta(name: &str) -> k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
    k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
        name: Some(name.to_owned()),
        ..Default::default()
    }
}
