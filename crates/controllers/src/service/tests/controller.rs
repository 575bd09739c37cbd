//! The controller with informers, on a real API server.

use super::{
    fixture::{condition, ingress, namespace},
    node,
    patches::Patches,
};
use crate::service::{
    COMPONENT, Context, Controller, Debounce, Metrics, NotSupported, Options, spec::predicates, trim,
};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::watcher,
};
use memory::{Cloud, Fault, FaultId, Memory, Offer, Operation};
use prometheus::{Registry, TextEncoder};
use rstest::rstest;
use runtime::{
    events::{Event, Recorder},
    health::Pulse,
    informer::Informer,
    queue,
};
use serde_json::{Value, json};
use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex},
    time::Duration,
};
use testkit::{service::load_balancer, wait::until};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// A controller with one namespace, and the Nodes with its label.
struct Fixture {
    cloud: Cloud,
    client: Client,
    patches: Patches,
    namespace: String,
    registry: Registry,
    options: Options,
    events: Arc<Mutex<Vec<Event>>>,
    reloads: watch::Sender<u64>,
    running: Vec<(CancellationToken, JoinHandle<()>)>,
}

impl Fixture {
    async fn new() -> Self {
        let (client, namespace) = namespace().await;
        let debounce = Debounce {
            window: Duration::from_millis(50),
            max: Duration::from_millis(500),
        };
        Self {
            cloud: Cloud::new(),
            client,
            patches: Patches::default(),
            namespace,
            registry: Registry::new(),
            options: Options {
                debounce,
                ..Options::new("test-cluster")
            },
            events: Arc::default(),
            reloads: watch::Sender::new(1),
            running: Vec::new(),
        }
    }

    fn context(&mut self) -> Context {
        self.registry = Registry::new();
        let (sender, mut receiver) = mpsc::channel(1000);
        let events = self.events.clone();
        tokio::spawn(async move {
            while let Some(event) = receiver.recv().await {
                events.lock().unwrap().push(event);
            }
        });
        let ours = watcher::Config::default().labels(&format!("test={}", self.namespace));
        Context {
            client: self.patches.to(self.client.clone()),
            services: Informer::new(self.services(), watcher::Config::default(), trim),
            nodes: Informer::new(self.nodes(), ours, |_| ()),
            provider: Arc::new(Memory::new(&self.cloud)),
            events: Recorder::new(COMPONENT, sender),
            queues: Some(queue::Metrics::register(&self.registry).unwrap()),
            metrics: Metrics::register(&self.registry).unwrap(),
            pulse: Pulse::default(),
            reloads: Some(self.reloads.subscribe()),
            options: self.options.clone(),
        }
    }

    fn start(&mut self) -> Controller {
        let context = self.context();
        let cancel = CancellationToken::new();
        let (services, nodes) = (context.services.clone(), context.nodes.clone());
        let controller = Controller::new(context).unwrap();
        let (running, stop) = (controller.clone(), cancel.clone());
        let run = async move {
            let informers = async { tokio::join!(services.run(stop.clone()), nodes.run(stop.clone())) };
            tokio::join!(informers, running.run(stop.clone()));
        };
        self.running.push((cancel, tokio::spawn(run)));
        controller
    }

    async fn stop(&mut self) {
        for (cancel, running) in self.running.drain(..) {
            cancel.cancel();
            running.await.unwrap();
        }
    }

    fn services(&self) -> Api<Service> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    async fn create(&self, name: &str) -> Service {
        let service = load_balancer(name)
            .namespace(&self.namespace)
            .with(|service| service.metadata.uid = None);
        self.services()
            .create(&PostParams::default(), &service.build())
            .await
            .unwrap()
    }

    async fn change(&self, name: &str, patch: Value) {
        self.services()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// Creates a Node, and returns its name.
    async fn join(&self, name: &str) -> String {
        let name = format!("{}-{name}", self.namespace);
        let mut node = node(&name, &format!("test={}", self.namespace));
        node.metadata.uid = None;
        self.nodes().create(&PostParams::default(), &node).await.unwrap();
        name
    }

    /// Waits until the Service has an address.
    async fn ready(&self, name: &str) -> Service {
        self.wait(name, |service| !ingress(service).is_empty()).await
    }

    async fn wait(&self, name: &str, holds: impl Fn(&Service) -> bool) -> Service {
        let look = || async {
            let service = self.services().get(name).await.unwrap();
            if holds(&service) {
                Ok(service)
            } else {
                Err(format!("{:?}", service.status))
            }
        };
        until(name, look).await
    }

    async fn gone(&self, name: &str) {
        let look = || async {
            self.services()
                .get_opt(name)
                .await
                .unwrap()
                .map_or(Ok(()), |_| Err("it exists"))
        };
        until("the deletion of the Service", look).await;
    }

    /// Waits until this holds for the cloud.
    async fn until(&self, holds: impl Fn(&Cloud) -> bool) {
        let patience = Duration::from_mins(1);
        tokio::time::timeout(patience, self.cloud.until(holds))
            .await
            .expect("the state of the cloud");
    }

    fn count(&self, operation: Operation) -> u64 {
        self.cloud.count(operation)
    }

    fn reasons(&self) -> Vec<&'static str> {
        self.events.lock().unwrap().iter().map(|event| event.reason).collect()
    }

    fn metrics(&self) -> String {
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap()
    }
}

#[tokio::test]
async fn from_creation_to_deletion() {
    let mut fixture = Fixture::new().await;
    let first = fixture.join("a").await;
    let controller = fixture.start();
    let uid = fixture.create("web").await.uid().unwrap();
    let service = fixture.ready("web").await;
    assert_eq!(
        (condition(&service).as_str(), fixture.patches.count()),
        ("True Ensured", 2)
    );
    assert_eq!(fixture.cloud.load_balancer(&uid).unwrap().host_names(), [&first]);

    let second = fixture.join("b").await;
    fixture
        .until(|cloud| cloud.load_balancer(&uid).unwrap().hosts.len() == 2)
        .await;
    assert_eq!(
        (
            fixture.count(Operation::EnsureLoadBalancer),
            fixture.count(Operation::UpdateHosts)
        ),
        (1, 1)
    );

    let moved = json!({"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.2"}]}});
    fixture
        .nodes()
        .patch_status(&second, &PatchParams::default(), &Patch::Merge(moved))
        .await
        .unwrap();
    let addressed = |cloud: &Cloud| {
        cloud
            .load_balancer(&uid)
            .unwrap()
            .hosts
            .iter()
            .any(|host| !host.addresses.is_empty())
    };
    fixture.until(addressed).await;

    fixture.nodes().delete(&first, &DeleteParams::default()).await.unwrap();
    fixture
        .until(|cloud| cloud.load_balancer(&uid).unwrap().host_names() == [&second])
        .await;
    assert_eq!(fixture.patches.count(), 2, "a change of hosts is not written");

    fixture
        .services()
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    fixture.gone("web").await;
    assert_eq!(fixture.cloud.load_balancers(), []);
    controller.refresh_metrics();
    assert!(controller.stillness() < Duration::from_secs(5));
    fixture.stop().await;
    let updated = ["UpdatedLoadBalancer"; 3];
    let reasons = [
        &["EnsuringLoadBalancer", "EnsuredLoadBalancer"][..],
        &updated,
        &["DeletingLoadBalancer", "DeletedLoadBalancer"],
    ];
    assert_eq!(fixture.reasons(), reasons.concat());
}

#[tokio::test]
async fn metrics_have_the_names_of_the_go_framework() {
    let mut fixture = Fixture::new().await;
    fixture.start();
    fixture.create("web").await;
    fixture.ready("web").await;
    fixture.join("a").await;
    fixture.until(|cloud| cloud.count(Operation::UpdateHosts) == 1).await;
    fixture.stop().await;
    let text = fixture.metrics();
    for line in [
        "service_controller_loadbalancer_sync_total 1",
        "service_controller_nodesync_error_total 0",
        "service_controller_nodesync_latency_seconds_bucket{le=\"16384\"} ",
        "service_controller_update_loadbalancer_host_latency_seconds_bucket{le=\"1\"} 1",
        "service_controller_update_loadbalancer_host_latency_seconds_count 1",
        "service_controller_ensure_duration_seconds_count{operation=\"ensure\"} 1",
        "service_controller_loadbalancers_pending 0",
        "workqueue_adds_total{name=\"service\"} ",
        "workqueue_adds_total{name=\"node\"} ",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[tokio::test]
async fn a_pending_load_balancer_blocks_no_other() {
    let mut fixture = Fixture::new().await;
    fixture.options.concurrency = NonZeroUsize::new(1);
    fixture.options.patience = Duration::ZERO;
    fixture
        .cloud
        .configure(|settings| settings.provisioning = Duration::from_mins(10));
    let controller = fixture.start();
    fixture.create("slow").await;
    fixture
        .wait("slow", |service| condition(service) == "False Provisioning")
        .await;
    let shown = || {
        controller.refresh_metrics();
        fixture.metrics().contains("name=\"slow\",") && fixture.metrics().contains("reason=\"Provisioning\"} 1")
    };
    assert!(shown(), "{}", fixture.metrics());
    fixture
        .cloud
        .configure(|settings| settings.provisioning = Duration::ZERO);
    fixture.create("fast").await;
    fixture.ready("fast").await;
    assert!(ingress(&fixture.services().get("slow").await.unwrap()).is_empty());

    // It can be deleted while it is pending.
    fixture
        .services()
        .delete("slow", &DeleteParams::default())
        .await
        .unwrap();
    fixture.gone("slow").await;
    fixture.stop().await;
}

#[tokio::test]
async fn changes_during_a_restart_are_reconciled() {
    let mut fixture = Fixture::new().await;
    fixture.start();
    for name in ["deleted", "retyped", "changed"] {
        fixture.create(name).await;
        fixture.ready(name).await;
    }
    fixture.stop().await;
    fixture
        .services()
        .delete("deleted", &DeleteParams::default())
        .await
        .unwrap();
    fixture.change("retyped", json!({"spec": {"type": "ClusterIP"}})).await;
    fixture
        .change(
            "changed",
            json!({"spec": {"ports": [{"port": 8080, "protocol": "TCP"}]}}),
        )
        .await;
    let host = fixture.join("a").await;

    fixture.start();
    fixture.gone("deleted").await;
    fixture
        .wait("retyped", |service| !predicates::has_finalizer(service))
        .await;
    fixture
        .until(|cloud| cloud.load_balancers()[0].ports[0].port == 8080)
        .await;
    fixture.stop().await;
    assert_eq!(fixture.cloud.load_balancers().len(), 1);
    assert_eq!(fixture.cloud.load_balancers()[0].host_names(), [&host]);
}

#[tokio::test]
async fn a_service_without_finalizer_leaves_its_load_balancer_until_another_has_its_name() {
    let mut fixture = Fixture::new().await;
    fixture.start();
    let old = fixture.create("web").await.uid().unwrap();
    fixture.ready("web").await;
    fixture.change("web", json!({"metadata": {"finalizers": null}})).await;
    fixture
        .services()
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    // Handled later.
    fixture.create("later").await;
    fixture.ready("later").await;
    let uids = |cloud: &Cloud| -> Vec<_> { cloud.load_balancers().into_iter().map(|one| one.service.uid).collect() };
    assert!(uids(&fixture.cloud).contains(&old));
    assert_eq!(fixture.count(Operation::DeleteLoadBalancer), 0);

    // Neither other hosts nor other settings change it.
    let host = fixture.join("a").await;
    fixture
        .until(|cloud| cloud.load_balancers().iter().any(|one| one.host_names() == [&host]))
        .await;
    let ensured = fixture.count(Operation::EnsureLoadBalancer);
    fixture.reloads.send_modify(|count| *count += 1);
    fixture
        .until(|cloud| cloud.count(Operation::EnsureLoadBalancer) > ensured)
        .await;
    fixture.create("last").await;
    fixture.ready("last").await;
    assert!(uids(&fixture.cloud).contains(&old));
    assert_eq!(fixture.count(Operation::DeleteLoadBalancer), 0);

    let new = fixture.create("web").await.uid().unwrap();
    fixture.ready("web").await;
    fixture.stop().await;
    let left = uids(&fixture.cloud);
    assert!(left.contains(&new) && !left.contains(&old), "{left:?}");
}

/// A Service with a load balancer, a cloud that hangs at this operation, and the number of its calls so far.
async fn ready_and_hanging(operation: Operation) -> (Fixture, FaultId, u64) {
    let mut fixture = Fixture::new().await;
    fixture.start();
    fixture.create("web").await;
    fixture.ready("web").await;
    let hang = fixture.cloud.inject(Fault::hang().operation(operation));
    let before = fixture.count(operation);
    (fixture, hang, before)
}

/// The same during an operation: a cluster may be restored during an outage of the cloud.
#[rstest]
#[case::other_hosts(Operation::UpdateHosts)]
#[case::other_settings(Operation::EnsureLoadBalancer)]
#[tokio::test]
async fn a_load_balancer_is_kept_during_an_operation(#[case] operation: Operation) {
    let (mut fixture, hang, before) = ready_and_hanging(operation).await;
    match operation {
        Operation::UpdateHosts => drop(fixture.join("a").await),
        _ => fixture.reloads.send_modify(|count| *count += 1),
    }
    fixture.until(|cloud| cloud.count(operation) > before).await;
    fixture.change("web", json!({"metadata": {"finalizers": null}})).await;
    fixture
        .services()
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    // Handled later.
    fixture.create("later").await;
    fixture.wait("later", predicates::has_finalizer).await;
    fixture.cloud.withdraw(hang);
    fixture.ready("later").await;
    let host = fixture.join("b").await;
    fixture
        .until(|cloud| {
            let mut balancers = cloud.load_balancers().into_iter();
            balancers.any(|one| one.service.name == "later" && one.host_names().contains(&host.as_str()))
        })
        .await;
    fixture.stop().await;
    assert_eq!(fixture.count(Operation::DeleteLoadBalancer), 0);
    assert_eq!(fixture.cloud.load_balancers().len(), 2);
}

/// A call in progress uses the previous settings.
#[rstest]
#[case::hosts(Operation::UpdateHosts, 2)]
#[case::all_of_it(Operation::EnsureLoadBalancer, 3)]
#[tokio::test]
async fn other_settings_reach_a_service_in_progress(#[case] operation: Operation, #[case] ensured: u64) {
    let (mut fixture, hang, before) = ready_and_hanging(operation).await;
    match operation {
        Operation::UpdateHosts => drop(fixture.join("a").await),
        _ => {
            fixture
                .change("web", json!({"metadata": {"annotations": {"a": "b"}}}))
                .await;
        }
    }
    fixture.until(|cloud| cloud.count(operation) > before).await;
    fixture.reloads.send_modify(|count| *count += 1);
    // Handled later.
    fixture.create("later").await;
    fixture.wait("later", predicates::has_finalizer).await;
    fixture.cloud.withdraw(hang);
    let of_web = |call: &&memory::Call| {
        let name = call.service.as_ref().map(|service| service.name.as_str());
        call.operation == Operation::EnsureLoadBalancer && name == Some("web")
    };
    fixture
        .until(|cloud| cloud.calls().iter().filter(of_web).count() as u64 == ensured)
        .await;
    fixture.stop().await;
    // For `web` as often as its user requested something, and once for `later`.
    let announced = until("the events", || async {
        let reasons = fixture.reasons();
        let announced = reasons
            .iter()
            .filter(|reason| **reason == "EnsuringLoadBalancer")
            .count() as u64;
        if announced >= ensured {
            Ok(announced)
        } else {
            Err(format!("{reasons:?}"))
        }
    })
    .await;
    assert_eq!(announced, ensured);
}

#[tokio::test]
async fn a_stop_finishes_calls_in_progress_only() {
    let mut fixture = Fixture::new().await;
    fixture.options.concurrency = NonZeroUsize::new(1);
    let hang = fixture.cloud.inject(Fault::hang());
    fixture.start();
    for name in ["a", "b", "c"] {
        fixture.create(name).await;
    }
    fixture
        .until(|cloud| cloud.count(Operation::EnsureLoadBalancer) == 1)
        .await;
    let (cancel, running) = fixture.running.pop().unwrap();
    cancel.cancel();
    fixture.cloud.withdraw(hang);
    running.await.unwrap();
    assert_eq!(fixture.count(Operation::EnsureLoadBalancer), 1);
    let name = fixture.cloud.load_balancers()[0].service.name.clone();
    assert!(!ingress(&fixture.services().get(&name).await.unwrap()).is_empty());
}

#[tokio::test]
async fn a_cloud_without_load_balancers_is_reported() {
    let mut fixture = Fixture::new().await;
    fixture.cloud.configure(|settings| settings.load_balancers = Offer::No);
    let refused = Controller::new(fixture.context()).err();
    assert_eq!(refused, Some(NotSupported));
    assert_eq!(
        NotSupported.to_string(),
        "the cloud provider does not support external load balancers"
    );
}

#[tokio::test]
async fn load_balancers_are_compared_with_their_services_again_if_requested() {
    let mut fixture = Fixture::new().await;
    fixture.options.resync = Some(Duration::from_millis(100));
    fixture.start();
    fixture.create("web").await;
    fixture.ready("web").await;
    let before = fixture.count(Operation::EnsureLoadBalancer);
    fixture
        .until(|cloud| cloud.count(Operation::EnsureLoadBalancer) >= before + 3)
        .await;
    fixture.stop().await;
    let reasons = ["EnsuringLoadBalancer", "UnAvailableLoadBalancer", "EnsuredLoadBalancer"];
    assert_eq!(fixture.reasons(), reasons, "the comparisons are not reported");
    assert_eq!(fixture.patches.count(), 2, "nothing is written");
}
