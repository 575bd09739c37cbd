//! The whole controller, on a real API server and the memory cloud.

use super::super::{COMPONENT, Metrics, Options, Routes, queue, run};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::{wait::await_condition, watcher},
};
use memory::{Cloud, Failure, Fault, Memory, Operation};
use runtime::{
    events::{Event, Recorder},
    health::Pulse,
    informer::Informer,
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

impl Rig {
    fn start(period: Option<Duration>) -> Self {
        let client = lab::ControlPlane::shared().client();
        let nodes: Api<Node> = Api::all(client.clone());
        let (cloud, cancel, prefix) = (Cloud::new(), CancellationToken::new(), lab::unique("route"));
        let (sender, events) = mpsc::channel(100);
        let informer = Informer::new(nodes.clone(), watcher::Config::default(), |_| {});
        let ours = prefix.clone();
        let options = Options {
            cluster: CLUSTER.into(),
            cluster_cidrs: vec!["10.201.0.0/16".parse().unwrap()],
            period,
            in_scope: Arc::new(move |node| {
                node.metadata
                    .name
                    .as_deref()
                    .is_some_and(|name| name.starts_with(&ours))
            }),
        };
        let metrics = Metrics::register(&prometheus::Registry::new()).unwrap();
        let recorder = Recorder::new(COMPONENT, sender);
        let provider = Arc::new(Memory::new(&cloud));
        let pulse = Pulse::default();
        let (store, beat) = (informer.store(), pulse.clone());
        let routes = Routes::new(options, provider, client, store, recorder, metrics, beat).unwrap();
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
            .at(Operation::CreateRoutes)
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
        .inject(Fault::fail(Failure::Unavailable("no route table".into())).at(Operation::ListRoutes));
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
