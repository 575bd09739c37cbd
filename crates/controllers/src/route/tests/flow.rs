//! The whole controller, on a real API server and the memory cloud.

use super::super::{COMPONENT, DEADLINE, Metrics, Options, Routes, queue, run};
use async_trait::async_trait;
use cloud::{Instances, NewRoute, Provider, Route};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::{wait::await_condition, watcher},
};
use memory::{Cloud, Failure, Fault, Memory, Operation};
use rstest::rstest;
use runtime::{
    events::{Event, Recorder},
    health::Pulse,
    informer::{Informer, Store},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use testkit::wait;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

const CLUSTER: &str = "kubernetes";

struct Rig {
    nodes: Api<Node>,
    cloud: Cloud,
    events: mpsc::Receiver<Event>,
    cancel: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
    prefix: String,
    pulse: Pulse,
}

/// The routes to the nodes whose names begin with this.
fn routes(
    provider: Arc<dyn Provider>,
    prefix: &str,
    period: Option<Duration>,
    nodes: Store<Node>,
    events: mpsc::Sender<Event>,
    pulse: Pulse,
) -> Routes {
    let ours = prefix.to_owned();
    let options = Options {
        cluster: CLUSTER.into(),
        cluster_cidrs: vec!["10.201.0.0/16".parse().unwrap()],
        period,
        deadline: DEADLINE,
        in_scope: Arc::new(move |node| {
            node.metadata
                .name
                .as_deref()
                .is_some_and(|name| name.starts_with(&ours))
        }),
    };
    let metrics = Metrics::register(&prometheus::Registry::new()).unwrap();
    let recorder = Recorder::new(COMPONENT, events);
    let client = lab::ControlPlane::shared().client();
    Routes::new(options, provider, client, nodes, recorder, metrics, pulse)
}

impl Rig {
    fn start(period: Option<Duration>) -> Self {
        Self::on(Cloud::new(), period)
    }

    fn on(cloud: Cloud, period: Option<Duration>) -> Self {
        let nodes: Api<Node> = Api::all(lab::ControlPlane::shared().client());
        let (cancel, prefix, pulse) = (CancellationToken::new(), lab::unique("route"), Pulse::default());
        let (sender, events) = mpsc::channel(100);
        let informer = Informer::new(nodes.clone(), watcher::Config::default(), |_| {});
        let provider = Arc::new(Memory::new(&cloud));
        let routes = routes(provider, &prefix, period, informer.store(), sender, pulse.clone());
        let watch = (informer.clone(), cancel.clone());
        let tasks = vec![
            tokio::spawn(async move { watch.0.run(watch.1).await }),
            tokio::spawn(run(routes, informer, queue(period, None), cancel.clone())),
        ];
        Self {
            nodes,
            cloud,
            events,
            cancel,
            tasks,
            prefix,
            pulse,
        }
    }

    async fn join(&self, name: &str, cidr: &str) -> String {
        let name = format!("{}-{name}", self.prefix);
        self.cloud.boot(&name);
        let node = json!({"metadata": {"name": name}, "spec": {"podCIDR": cidr, "podCIDRs": [cidr]}});
        self.nodes
            .create(&PostParams::default(), &serde_json::from_value(node).unwrap())
            .await
            .unwrap();
        name
    }

    async fn until(&self, name: &str, status: &'static str, reason: &'static str) {
        let says = move |node: Option<&Node>| {
            let conditions = node.and_then(|node| node.status.as_ref()?.conditions.as_ref());
            conditions.into_iter().flatten().any(|one| {
                one.type_ == "NetworkUnavailable" && one.status == status && one.reason.as_deref() == Some(reason)
            })
        };
        let waiting = await_condition(self.nodes.clone(), name, says);
        tokio::time::timeout(Duration::from_secs(30), waiting)
            .await
            .unwrap_or_else(|_| panic!("{name} never said {status}/{reason}"))
            .unwrap();
    }

    async fn finish(self) {
        self.cancel.cancel();
        for task in self.tasks {
            task.await.unwrap();
        }
    }
}

#[tokio::test]
async fn routes_come_and_go_with_nodes() {
    let rig = Rig::start(None);
    let name = rig.join("a", "10.201.1.0/24").await;
    rig.until(&name, "False", "RouteCreated").await;
    let there: Vec<_> = rig
        .cloud
        .routes(CLUSTER)
        .iter()
        .map(|route| route.destination.to_string())
        .collect();
    assert_eq!(there, ["10.201.1.0/24"]);
    rig.nodes.delete(&name, &DeleteParams::default()).await.unwrap();
    rig.cloud.until(|cloud| cloud.routes(CLUSTER).is_empty()).await;
    rig.finish().await;
}

#[tokio::test]
async fn a_route_that_cannot_be_created_is_told_and_tried_again() {
    let mut rig = Rig::start(None);
    rig.cloud.inject(
        Fault::fail(Failure::Unavailable("no route table".into()))
            .operation(Operation::CreateRoutes)
            .times(1),
    );
    let name = rig.join("a", "10.201.2.0/24").await;
    rig.until(&name, "True", "NoRouteCreated").await;
    let event = rig.events.recv().await.unwrap();
    assert_eq!(
        (event.component, event.reason),
        ("route_controller", "FailedToCreateRoute")
    );
    assert!(event.message.contains("10.201.2.0/24"), "{}", event.message);
    rig.until(&name, "False", "RouteCreated").await;
    rig.nodes.delete(&name, &DeleteParams::default()).await.unwrap();
    rig.finish().await;
}

#[tokio::test]
async fn says_in_its_pulse_that_routes_cannot_be_listed() {
    let rig = Rig::start(Some(Duration::from_millis(50)));
    let name = rig.join("a", "10.201.7.0/24").await;
    rig.until(&name, "False", "RouteCreated").await;
    let down = rig
        .cloud
        .inject(Fault::fail(Failure::Unavailable("no route table".into())).operation(Operation::ListRoutes));
    wait::until("a bad pulse", || async {
        match rig.pulse.failing(Duration::ZERO) {
            Err(reason) if reason.contains("cannot list routes: ") && reason.contains("no route table") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    rig.cloud.withdraw(down);
    wait::until("a good pulse", || async { rig.pulse.failing(Duration::ZERO) }).await;
    rig.nodes.delete(&name, &DeleteParams::default()).await.unwrap();
    rig.finish().await;
}

#[tokio::test]
async fn what_changes_behind_our_back_is_put_right_and_others_routes_are_left_alone() {
    let rig = Rig::start(Some(Duration::from_millis(50)));
    let name = rig.join("a", "10.201.3.0/24").await;
    rig.until(&name, "False", "RouteCreated").await;
    rig.cloud.add_blackhole(CLUSTER, "10.201.99.0/24".parse().unwrap());
    rig.cloud.add_blackhole(CLUSTER, "192.168.0.0/24".parse().unwrap());
    let destinations = |cloud: &Cloud| -> Vec<String> {
        let mut all: Vec<_> = cloud
            .routes(CLUSTER)
            .iter()
            .map(|route| route.destination.to_string())
            .collect();
        all.sort();
        all
    };
    rig.cloud
        .until(|cloud| destinations(cloud) == ["10.201.3.0/24", "192.168.0.0/24"])
        .await;
    rig.nodes.delete(&name, &DeleteParams::default()).await.unwrap();
    rig.finish().await;
}

#[tokio::test]
async fn two_managers_leave_each_others_routes_alone() {
    let (cloud, period) = (Cloud::new(), Some(Duration::from_millis(50)));
    let rigs = [Rig::on(cloud.clone(), period), Rig::on(cloud.clone(), period)];
    let mut names = Vec::new();
    for (rig, cidr) in rigs.iter().zip(["10.201.8.0/24", "10.201.9.0/24"]) {
        names.push(rig.join("a", cidr).await);
    }
    for (rig, name) in rigs.iter().zip(&names) {
        rig.until(name, "False", "RouteCreated").await;
    }
    // Either has looked once more, with both routes there.
    let seen = cloud.count(Operation::ListRoutes);
    cloud
        .until(|cloud| cloud.count(Operation::ListRoutes) > seen + 10)
        .await;
    assert_eq!(cloud.routes(CLUSTER).len(), 2);
    assert_eq!(cloud.count(Operation::DeleteRoutes), 0);
    for (rig, name) in rigs.into_iter().zip(names) {
        rig.nodes.delete(&name, &DeleteParams::default()).await.unwrap();
        rig.finish().await;
    }
}

/// What we know of nodes may be older than their routes.
#[tokio::test]
async fn a_route_to_a_node_that_we_have_not_heard_of_stays() {
    let nodes: Api<Node> = Api::all(lab::ControlPlane::shared().client());
    let (cloud, name) = (Cloud::new(), lab::unique("route"));
    cloud.boot(&name);
    let cidr = "10.201.11.0/24";
    let node = json!({"metadata": {"name": name}, "spec": {"podCIDR": cidr, "podCIDRs": [cidr]}});
    let node: Node = serde_json::from_value(node).unwrap();
    let node = nodes.create(&PostParams::default(), &node).await.unwrap();
    let with = |known: Vec<Node>| {
        let (sender, _events) = mpsc::channel(100);
        let provider = Arc::new(Memory::new(&cloud));
        routes(provider, &name, None, Store::of(known), sender, Pulse::default())
    };
    with(vec![node]).reconcile().await.unwrap();
    assert_eq!(cloud.routes(CLUSTER).len(), 1);

    let unaware = with(Vec::new());
    unaware.reconcile().await.unwrap();
    assert_eq!(cloud.count(Operation::DeleteRoutes), 0);
    nodes.delete(&name, &DeleteParams::default()).await.unwrap();
    unaware.reconcile().await.unwrap();
    assert_eq!(cloud.routes(CLUSTER).len(), 0);
}

#[tokio::test]
async fn what_is_said_of_one_node_does_not_reach_another_of_its_name() {
    let nodes: Api<Node> = Api::all(lab::ControlPlane::shared().client());
    let (cloud, name) = (Cloud::new(), lab::unique("route"));
    cloud.boot(&name);
    let node = |spec: serde_json::Value| -> Node {
        serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
    };
    let routed = node(json!({ "podCIDR": "10.201.10.0/24", "podCIDRs": ["10.201.10.0/24"] }));
    let old = nodes.create(&PostParams::default(), &routed).await.unwrap();
    nodes.delete(&name, &DeleteParams::default()).await.unwrap();
    nodes.create(&PostParams::default(), &node(json!({}))).await.unwrap();

    let (sender, _events) = mpsc::channel(100);
    let stale = Store::of([old]);
    let provider = Arc::new(Memory::new(&cloud));
    let routes = routes(provider, &name, None, stale, sender, Pulse::default());
    assert_eq!(routes.reconcile().await, Err(cloud::Retry::Backoff));
    let said = nodes
        .get(&name)
        .await
        .unwrap()
        .status
        .and_then(|status| status.conditions);
    let said: Vec<_> = said.into_iter().flatten().map(|condition| condition.type_).collect();
    assert_eq!(said, [""; 0], "it has no pods yet that could be reached");
    nodes.delete(&name, &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn a_heartbeat_asks_nothing_of_the_cloud() {
    let rig = Rig::start(None);
    let name = rig.join("a", "10.201.4.0/24").await;
    rig.until(&name, "False", "RouteCreated").await;
    let other = rig.join("b", "10.201.5.0/24").await;
    rig.until(&other, "False", "RouteCreated").await;
    rig.cloud.forget_calls();
    let beat = json!({"metadata": {"annotations": {"beat": "1"}}});
    rig.nodes
        .patch(&name, &PatchParams::default(), &Patch::Merge(beat))
        .await
        .unwrap();
    // What comes after the heartbeat is heard after it.
    let third = rig.join("c", "10.201.6.0/24").await;
    rig.until(&third, "False", "RouteCreated").await;
    assert_eq!(rig.cloud.count(Operation::ListRoutes), 1);
    for name in [name, other, third] {
        rig.nodes.delete(&name, &DeleteParams::default()).await.unwrap();
    }
    rig.finish().await;
}

/// Changes nothing, and answers to changes as often as it was told, or never.
struct Curt {
    machines: Memory,
    there: Vec<Route>,
    says: Option<usize>,
}

impl Curt {
    async fn answer(&self) -> Vec<cloud::Result<()>> {
        match self.says {
            Some(count) => (0..count).map(|_| Ok(())).collect(),
            None => std::future::pending().await,
        }
    }
}

impl Provider for Curt {
    fn name(&self) -> &'static str {
        "curt"
    }

    fn instances(&self) -> &dyn Instances {
        &self.machines
    }

    fn routes(&self) -> Option<&dyn cloud::Routes> {
        Some(self)
    }
}

#[async_trait]
impl cloud::Routes for Curt {
    async fn list(&self, _: &str) -> cloud::Result<Vec<Route>> {
        Ok(self.there.clone())
    }

    async fn create(&self, _: &str, _: &[NewRoute]) -> Vec<cloud::Result<()>> {
        self.answer().await
    }

    async fn delete(&self, _: &str, _: &[Route]) -> Vec<cloud::Result<()>> {
        self.answer().await
    }
}

#[rstest]
#[case::fewer(Some(0), "10.201.12.0/24")]
#[case::more(Some(2), "10.201.13.0/24")]
#[case::none_in_time(None, "10.201.14.0/24")]
#[tokio::test]
async fn a_change_that_the_cloud_does_not_answer_has_failed(#[case] says: Option<usize>, #[case] cidr: &str) {
    let nodes: Api<Node> = Api::all(lab::ControlPlane::shared().client());
    let name = lab::unique("route");
    let node = json!({"metadata": {"name": name}, "spec": {"podCIDR": cidr, "podCIDRs": [cidr]}});
    let node: Node = serde_json::from_value(node).unwrap();
    let node = nodes.create(&PostParams::default(), &node).await.unwrap();
    let (sender, mut events) = mpsc::channel(100);
    let with = |known: Vec<Node>, there: Vec<Route>| {
        let machines = Memory::new(&Cloud::new());
        let provider = Arc::new(Curt { machines, there, says });
        let pulse = Pulse::default();
        let mut routes = routes(provider, &name, None, Store::of(known), sender.clone(), pulse);
        routes.options.deadline = Duration::from_millis(50);
        routes
    };
    let failed = Err(cloud::Retry::Backoff);

    assert_eq!(with(vec![node], Vec::new()).reconcile().await, failed, "create");
    assert_eq!(events.recv().await.unwrap().reason, "FailedToCreateRoute");
    let told = nodes.get(&name).await.unwrap().status.unwrap().conditions.unwrap();
    assert_eq!(told[0].reason.as_deref(), Some("NoRouteCreated"));
    let orphan = super::route(&format!("blackhole {cidr}"));
    assert_eq!(with(Vec::new(), vec![orphan]).reconcile().await, failed, "delete");
    nodes.delete(&name, &DeleteParams::default()).await.unwrap();
}
