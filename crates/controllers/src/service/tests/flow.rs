//! The whole controller, with informers on a real API server.

use super::{
    node,
    sync::{condition, ingress},
    wire::Wire,
};
use crate::service::{COMPONENT, Context, Controller, Debounce, Metrics, NotSupported, Options, predicates, trim};
use k8s_openapi::api::core::v1::{Namespace, Node, Service};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::watcher,
};
use memory::{Cloud, Failure, Fault, FaultId, Memory, Offer, Operation};
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

/// A controller over a cluster of its own: one namespace, and the nodes with its label.
struct Flow {
    cloud: Cloud,
    client: Client,
    wire: Wire,
    namespace: String,
    registry: Registry,
    options: Options,
    events: Arc<Mutex<Vec<Event>>>,
    reloads: watch::Sender<u64>,
    running: Vec<(CancellationToken, JoinHandle<()>)>,
}

impl Flow {
    async fn new() -> Self {
        let client = lab::ControlPlane::shared().client();
        let namespace = lab::unique("flow");
        let object: Namespace = serde_json::from_value(json!({"metadata": {"name": namespace}})).unwrap();
        Api::all(client.clone())
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
        let debounce = Debounce {
            window: Duration::from_millis(50),
            max: Duration::from_millis(500),
        };
        Self {
            cloud: Cloud::new(),
            client,
            wire: Wire::default(),
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
        let ours = watcher::Config::default().labels(&format!("flow={}", self.namespace));
        Context {
            client: self.wire.to(self.client.clone()),
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

    /// A node joins; its name is answered.
    async fn join(&self, name: &str) -> String {
        let name = format!("{}-{name}", self.namespace);
        let mut node = node(&name, &format!("flow={}", self.namespace));
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
                .map_or(Ok(()), |_| Err("still there"))
        };
        until("the Service to go", look).await;
    }

    /// Waits until this holds of the cloud.
    async fn until(&self, holds: impl Fn(&Cloud) -> bool) {
        let patience = Duration::from_mins(1);
        tokio::time::timeout(patience, self.cloud.until(holds))
            .await
            .expect("the cloud to get there");
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
async fn the_life_of_a_service() {
    let mut flow = Flow::new().await;
    let first = flow.join("a").await;
    let controller = flow.start();
    let uid = flow.create("web").await.uid().unwrap();
    let service = flow.ready("web").await;
    assert_eq!(
        (condition(&service).as_str(), flow.wire.patches().len()),
        ("True Ensured", 2)
    );
    assert_eq!(flow.cloud.load_balancer(&uid).unwrap().host_names(), [&first]);

    let second = flow.join("b").await;
    flow.until(|cloud| cloud.load_balancer(&uid).unwrap().hosts.len() == 2)
        .await;
    assert_eq!(
        (
            flow.count(Operation::EnsureLoadBalancer),
            flow.count(Operation::UpdateHosts)
        ),
        (1, 1)
    );

    let moved = json!({"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.2"}]}});
    flow.nodes()
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
    flow.until(addressed).await;

    flow.nodes().delete(&first, &DeleteParams::default()).await.unwrap();
    flow.until(|cloud| cloud.load_balancer(&uid).unwrap().host_names() == [&second])
        .await;
    assert_eq!(flow.wire.patches().len(), 2, "hosts are no news for the API server");

    flow.services().delete("web", &DeleteParams::default()).await.unwrap();
    flow.gone("web").await;
    assert_eq!(flow.cloud.load_balancers(), []);
    controller.refresh_metrics();
    assert!(controller.stillness() < Duration::from_secs(5));
    flow.stop().await;
    let updated = ["UpdatedLoadBalancer"; 3];
    let reasons = [
        &["EnsuringLoadBalancer", "EnsuredLoadBalancer"][..],
        &updated,
        &["DeletingLoadBalancer", "DeletedLoadBalancer"],
    ];
    assert_eq!(flow.reasons(), reasons.concat());
}

#[tokio::test]
async fn metrics_have_the_names_of_the_go_framework() {
    let mut flow = Flow::new().await;
    flow.start();
    flow.create("web").await;
    flow.ready("web").await;
    flow.join("a").await;
    flow.until(|cloud| cloud.count(Operation::UpdateHosts) == 1).await;
    flow.stop().await;
    let text = flow.metrics();
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
async fn a_pending_load_balancer_blocks_nobody() {
    let mut flow = Flow::new().await;
    flow.options.concurrency = NonZeroUsize::new(1);
    flow.options.patience = Duration::ZERO;
    flow.cloud
        .configure(|settings| settings.provisioning = Duration::from_mins(10));
    flow.start();
    flow.create("slow").await;
    flow.wait("slow", |service| condition(service) == "False Provisioning")
        .await;
    flow.cloud.configure(|settings| settings.provisioning = Duration::ZERO);
    flow.create("fast").await;
    flow.ready("fast").await;
    assert!(ingress(&flow.services().get("slow").await.unwrap()).is_empty());

    // It can be deleted while it is being made.
    flow.services().delete("slow", &DeleteParams::default()).await.unwrap();
    flow.gone("slow").await;
    flow.stop().await;
}

#[tokio::test]
async fn a_call_that_hangs_blocks_nobody_else() {
    let mut flow = Flow::new().await;
    flow.cloud
        .inject(Fault::hang().only(format!("{}/stuck", flow.namespace)));
    flow.start();
    flow.create("stuck").await;
    flow.until(|cloud| cloud.count(Operation::EnsureLoadBalancer) == 1)
        .await;
    flow.create("web").await;
    flow.ready("web").await;
    flow.cloud.withdraw_all();
    flow.ready("stuck").await;
    flow.stop().await;
}

#[tokio::test]
async fn a_burst_of_nodes_is_one_update() {
    let mut flow = Flow::new().await;
    flow.options.debounce = Debounce {
        window: Duration::from_secs(1),
        max: Duration::from_secs(30),
    };
    flow.start();
    let uid = flow.create("web").await.uid().unwrap();
    flow.ready("web").await;
    for index in 0..10 {
        flow.join(&format!("n{index}")).await;
    }
    flow.until(|cloud| cloud.load_balancer(&uid).unwrap().hosts.len() == 10)
        .await;
    assert_eq!(flow.count(Operation::UpdateHosts), 1);
    flow.stop().await;
}

#[tokio::test]
async fn a_restart_writes_nothing() {
    let mut flow = Flow::new().await;
    flow.join("a").await;
    flow.start();
    for name in ["a", "b", "c"] {
        flow.create(name).await;
        flow.ready(name).await;
    }
    flow.stop().await;
    flow.cloud.forget_calls();
    flow.wire.forget();
    flow.events.lock().unwrap().clear();

    flow.start();
    flow.until(|cloud| cloud.count(Operation::EnsureLoadBalancer) == 3)
        .await;
    // Somebody else's change comes through after them.
    flow.change("a", json!({"metadata": {"labels": {"a": "b"}}})).await;
    flow.create("d").await;
    flow.ready("d").await;
    flow.stop().await;
    assert_eq!(flow.cloud.writes().len(), 1, "d");
    assert_eq!(flow.count(Operation::EnsureLoadBalancer), 4);
    assert_eq!(flow.wire.patches().len(), 2, "d");
    assert_eq!(flow.reasons(), ["EnsuringLoadBalancer", "EnsuredLoadBalancer"], "d");
}

#[tokio::test]
async fn what_happened_while_nobody_looked_is_made_up_for() {
    let mut flow = Flow::new().await;
    flow.start();
    for name in ["deleted", "retyped", "changed"] {
        flow.create(name).await;
        flow.ready(name).await;
    }
    flow.stop().await;
    flow.services()
        .delete("deleted", &DeleteParams::default())
        .await
        .unwrap();
    flow.change("retyped", json!({"spec": {"type": "ClusterIP"}})).await;
    flow.change(
        "changed",
        json!({"spec": {"ports": [{"port": 8080, "protocol": "TCP"}]}}),
    )
    .await;
    let host = flow.join("a").await;

    flow.start();
    flow.gone("deleted").await;
    flow.wait("retyped", |service| !predicates::has_finalizer(service))
        .await;
    flow.until(|cloud| cloud.load_balancers()[0].ports[0].port == 8080)
        .await;
    flow.stop().await;
    assert_eq!(flow.cloud.load_balancers().len(), 1);
    assert_eq!(flow.cloud.load_balancers()[0].host_names(), [&host]);
}

#[tokio::test]
async fn a_service_that_did_not_wait_for_us_keeps_its_load_balancer_until_another_takes_its_name() {
    let mut flow = Flow::new().await;
    flow.start();
    let old = flow.create("web").await.uid().unwrap();
    flow.ready("web").await;
    flow.change("web", json!({"metadata": {"finalizers": null}})).await;
    flow.services().delete("web", &DeleteParams::default()).await.unwrap();
    // What is heard later is done later.
    flow.create("later").await;
    flow.ready("later").await;
    let uids = |cloud: &Cloud| -> Vec<_> { cloud.load_balancers().into_iter().map(|one| one.service.uid).collect() };
    assert!(uids(&flow.cloud).contains(&old));
    assert_eq!(flow.count(Operation::DeleteLoadBalancer), 0);

    // Neither other hosts nor other settings are a reason to do something about it.
    let host = flow.join("a").await;
    flow.until(|cloud| cloud.load_balancers().iter().any(|one| one.host_names() == [&host]))
        .await;
    let ensured = flow.count(Operation::EnsureLoadBalancer);
    flow.reloads.send_modify(|count| *count += 1);
    flow.until(|cloud| cloud.count(Operation::EnsureLoadBalancer) > ensured)
        .await;
    flow.create("last").await;
    flow.ready("last").await;
    assert!(uids(&flow.cloud).contains(&old));
    assert_eq!(flow.count(Operation::DeleteLoadBalancer), 0);

    let new = flow.create("web").await.uid().unwrap();
    flow.ready("web").await;
    flow.stop().await;
    let left = uids(&flow.cloud);
    assert!(left.contains(&new) && !left.contains(&old), "{left:?}");
}

/// A Service that is served, a cloud that will hang at this, and how often it was asked for that before.
async fn served_and_about_to_hang(operation: Operation) -> (Flow, FaultId, u64) {
    let mut flow = Flow::new().await;
    flow.start();
    flow.create("web").await;
    flow.ready("web").await;
    let hang = flow.cloud.inject(Fault::hang().operation(operation));
    let before = flow.count(operation);
    (flow, hang, before)
}

/// The same, while its load balancer is worked on: a cluster is restored when little works.
#[rstest]
#[case::other_hosts(Operation::UpdateHosts)]
#[case::other_settings(Operation::EnsureLoadBalancer)]
#[tokio::test]
async fn a_load_balancer_that_served_stays_although_it_is_worked_on(#[case] operation: Operation) {
    let (mut flow, hang, before) = served_and_about_to_hang(operation).await;
    match operation {
        Operation::UpdateHosts => drop(flow.join("a").await),
        _ => flow.reloads.send_modify(|count| *count += 1),
    }
    flow.until(|cloud| cloud.count(operation) > before).await;
    flow.change("web", json!({"metadata": {"finalizers": null}})).await;
    flow.services().delete("web", &DeleteParams::default()).await.unwrap();
    // What is heard later is done later.
    flow.create("later").await;
    flow.wait("later", predicates::has_finalizer).await;
    flow.cloud.withdraw(hang);
    flow.ready("later").await;
    let host = flow.join("b").await;
    flow.until(|cloud| {
        let mut balancers = cloud.load_balancers().into_iter();
        balancers.any(|one| one.service.name == "later" && one.host_names().contains(&host.as_str()))
    })
    .await;
    flow.stop().await;
    assert_eq!(flow.count(Operation::DeleteLoadBalancer), 0);
    assert_eq!(flow.cloud.load_balancers().len(), 2);
}

#[tokio::test]
async fn other_settings_of_the_cloud_are_a_reason_to_try_again() {
    let mut flow = Flow::new().await;
    let invalid = Failure::Invalid {
        field: "class".into(),
        reason: "there is none".into(),
    };
    let wrong = flow
        .cloud
        .inject(Fault::fail(invalid).operation(Operation::EnsureLoadBalancer));
    flow.start();
    flow.create("web").await;
    flow.wait("web", |service| condition(service) == "False Invalid").await;
    flow.cloud.withdraw(wrong);
    flow.reloads.send_modify(|count| *count += 1);
    flow.ready("web").await;
    flow.stop().await;
    assert_eq!(flow.count(Operation::EnsureLoadBalancer), 2);
}

/// A call that is under way knows only the settings of before.
#[rstest]
#[case::hosts(Operation::UpdateHosts, 2)]
#[case::all_of_it(Operation::EnsureLoadBalancer, 3)]
#[tokio::test]
async fn other_settings_reach_what_is_just_worked_on(#[case] operation: Operation, #[case] ensured: u64) {
    let (mut flow, hang, before) = served_and_about_to_hang(operation).await;
    match operation {
        Operation::UpdateHosts => drop(flow.join("a").await),
        _ => {
            flow.change("web", json!({"metadata": {"annotations": {"a": "b"}}}))
                .await;
        }
    }
    flow.until(|cloud| cloud.count(operation) > before).await;
    flow.reloads.send_modify(|count| *count += 1);
    // What is heard later is done later.
    flow.create("later").await;
    flow.wait("later", predicates::has_finalizer).await;
    flow.cloud.withdraw(hang);
    let of_web = |call: &&memory::Call| {
        let name = call.service.as_ref().map(|service| service.name.as_str());
        call.operation == Operation::EnsureLoadBalancer && name == Some("web")
    };
    flow.until(|cloud| cloud.calls().iter().filter(of_web).count() as u64 == ensured)
        .await;
    flow.stop().await;
    // Of web as often as its user asked for something, and once of later.
    let told = until("the events", || async {
        let reasons = flow.reasons();
        let told = reasons
            .iter()
            .filter(|reason| **reason == "EnsuringLoadBalancer")
            .count() as u64;
        if told >= ensured {
            Ok(told)
        } else {
            Err(format!("{reasons:?}"))
        }
    })
    .await;
    assert_eq!(told, ensured);
}

#[tokio::test]
async fn failures_are_tried_again_when_the_cloud_says() {
    let mut flow = Flow::new().await;
    let throttled = Failure::Throttled {
        retry_after: Some(Duration::from_millis(100)),
    };
    flow.cloud
        .inject(Fault::fail(throttled).operation(Operation::EnsureLoadBalancer).times(3));
    flow.start();
    flow.create("web").await;
    flow.ready("web").await;
    flow.stop().await;
    assert_eq!(flow.count(Operation::EnsureLoadBalancer), 4);
}

#[tokio::test]
async fn a_stop_finishes_what_is_under_way_and_nothing_else() {
    let mut flow = Flow::new().await;
    flow.options.concurrency = NonZeroUsize::new(1);
    let hang = flow.cloud.inject(Fault::hang());
    flow.start();
    for name in ["a", "b", "c"] {
        flow.create(name).await;
    }
    flow.until(|cloud| cloud.count(Operation::EnsureLoadBalancer) == 1)
        .await;
    let (cancel, running) = flow.running.pop().unwrap();
    cancel.cancel();
    flow.cloud.withdraw(hang);
    running.await.unwrap();
    assert_eq!(flow.count(Operation::EnsureLoadBalancer), 1);
    let name = flow.cloud.load_balancers()[0].service.name.clone();
    assert!(!ingress(&flow.services().get(&name).await.unwrap()).is_empty());
}

#[tokio::test]
async fn a_cloud_without_load_balancers_is_said_to_be_one() {
    let mut flow = Flow::new().await;
    flow.cloud.configure(|settings| settings.load_balancers = Offer::No);
    let refused = Controller::new(flow.context()).err();
    assert_eq!(refused, Some(NotSupported));
    assert_eq!(
        NotSupported.to_string(),
        "the cloud provider does not support external load balancers"
    );
}
