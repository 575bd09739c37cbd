//! The controller on a real API server, with the memory cloud.

use super::super::{COMPONENT, Context, DEADLINE, Metrics, Options, queue, reconcile::Reconciler, run};
use crate::nodes::{
    Scope,
    conditions::{self, NETWORK_UNAVAILABLE},
    fixture::Fixture,
    scope::parse_selector,
};
use async_trait::async_trait;
use cloud::{Instances, NewRoute, Provider, Route};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use memory::{Cloud, Failure, Fault, Memory, Operation};
use rstest::rstest;
use runtime::health::Pulse;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use testkit::wait;

const CLUSTER: &str = "kubernetes";
const OFTEN: Option<Duration> = Some(Duration::from_millis(50));

fn context(fixture: &Fixture, period: Option<Duration>) -> Context {
    Context {
        client: fixture.client.clone(),
        nodes: fixture.informer.clone(),
        provider: fixture.provider.clone(),
        recorder: fixture.recorder(COMPONENT),
        queue: queue(period, None),
        metrics: Metrics::register(&prometheus::Registry::new()).unwrap(),
        pulse: Pulse::default(),
        options: Options {
            cluster: CLUSTER.into(),
            cluster_cidrs: vec!["10.201.0.0/16".parse().unwrap()],
            period,
            deadline: DEADLINE,
            scope: fixture.scope(),
        },
    }
}

/// A fixture with a running controller.
fn start(period: Option<Duration>) -> (Fixture, Pulse) {
    let mut fixture = Fixture::new();
    let context = context(&fixture, period);
    let pulse = context.pulse.clone();
    fixture.start(|cancel| run(context, cancel));
    (fixture, pulse)
}

/// Creates a Node with this pod CIDR, and its instance.
async fn join(fixture: &Fixture, short: &str, cidr: &str, words: &str) -> Node {
    fixture.cloud.boot(&fixture.name(short));
    fixture.register(short, &format!("cidr:{cidr} {words}")).await
}

async fn until(fixture: &Fixture, short: &str, status: &str, reason: &str) {
    let has_condition = |node: &Node| {
        conditions::find(node, NETWORK_UNAVAILABLE)
            .is_some_and(|it| it.status == status && it.reason.as_deref() == Some(reason))
    };
    fixture.until(short, reason, has_condition).await;
}

fn destinations(cloud: &Cloud) -> Vec<String> {
    let routes = cloud.routes(CLUSTER);
    let mut all: Vec<_> = routes.iter().map(|route| route.destination.to_string()).collect();
    all.sort();
    all
}

#[tokio::test]
async fn routes_follow_nodes() {
    let (fixture, _) = start(None);
    join(&fixture, "a", "10.201.1.0/24", "").await;
    until(&fixture, "a", "False", "RouteCreated").await;
    assert_eq!(destinations(&fixture.cloud), ["10.201.1.0/24"]);
    fixture.delete("a").await;
    fixture.cloud.until(|cloud| cloud.routes(CLUSTER).is_empty()).await;
    fixture.finish().await;
}

#[tokio::test]
async fn a_route_that_cannot_be_created_is_reported_and_retried() {
    let (mut fixture, _) = start(None);
    let down = Fault::fail(Failure::Unavailable("no route table".into()));
    fixture.cloud.inject(down.operation(Operation::CreateRoutes).times(1));
    join(&fixture, "a", "10.201.2.0/24", "").await;
    until(&fixture, "a", "True", "NoRouteCreated").await;
    let event = fixture.until_event("FailedToCreateRoute").await;
    assert_eq!(event.component, "route_controller");
    assert!(event.message.contains("10.201.2.0/24"), "{}", event.message);
    until(&fixture, "a", "False", "RouteCreated").await;
    fixture.finish().await;
}

#[tokio::test]
async fn the_health_check_reports_that_routes_cannot_be_listed() {
    let (fixture, pulse) = start(OFTEN);
    join(&fixture, "a", "10.201.7.0/24", "").await;
    until(&fixture, "a", "False", "RouteCreated").await;
    let down = Fault::fail(Failure::Unavailable("no route table".into()));
    let down = fixture.cloud.inject(down.operation(Operation::ListRoutes));
    Fixture::until_failing(&pulse, "cannot list routes: list-routes is unavailable: no route table").await;
    fixture.cloud.withdraw(down);
    wait::until("health", || async { pulse.failing(Duration::ZERO) }).await;
    fixture.finish().await;
}

#[tokio::test]
async fn changes_by_others_are_reverted_within_the_cluster_cidr_only() {
    let (fixture, _) = start(OFTEN);
    join(&fixture, "a", "10.201.3.0/24", "").await;
    until(&fixture, "a", "False", "RouteCreated").await;
    fixture.cloud.add_blackhole(CLUSTER, "10.201.99.0/24".parse().unwrap());
    fixture.cloud.add_blackhole(CLUSTER, "192.168.0.0/24".parse().unwrap());
    fixture
        .cloud
        .until(|cloud| destinations(cloud) == ["10.201.3.0/24", "192.168.0.0/24"])
        .await;
    fixture.finish().await;
}

#[tokio::test]
async fn two_managers_keep_the_routes_of_each_other() {
    let mut fixture = Fixture::new();
    let [one, two] = ["one", "two"].map(|manager| {
        let mut context = context(&fixture, OFTEN);
        context.options.scope = Scope {
            selector: parse_selector(&format!("manager={manager}")).unwrap(),
            ..Scope::default()
        };
        context
    });
    fixture.start(|cancel| async move {
        tokio::join!(run(one, cancel.clone()), run(two, cancel));
    });
    for (short, cidr, words) in [
        ("a", "10.201.8.0/24", "manager=one"),
        ("b", "10.201.9.0/24", "manager=two"),
    ] {
        join(&fixture, short, cidr, words).await;
        until(&fixture, short, "False", "RouteCreated").await;
    }
    // Each manager has listed both routes.
    let listed = fixture.cloud.count(Operation::ListRoutes);
    fixture
        .cloud
        .until(|cloud| cloud.count(Operation::ListRoutes) > listed + 10)
        .await;
    assert_eq!(fixture.cloud.routes(CLUSTER).len(), 2);
    assert_eq!(fixture.cloud.count(Operation::DeleteRoutes), 0);
    fixture.finish().await;
}

/// The cache may be older than a route.
#[tokio::test]
async fn a_route_to_a_node_that_is_not_cached_yet_is_kept() {
    let fixture = Fixture::new();
    let store = fixture.informer.store();
    store.insert(join(&fixture, "a", "10.201.11.0/24", "").await);
    let reconciler = Reconciler::new(context(&fixture, None));
    reconciler.reconcile().await.unwrap();
    assert_eq!(fixture.cloud.routes(CLUSTER).len(), 1);

    store.remove(&fixture.name("a"));
    reconciler.reconcile().await.unwrap();
    assert_eq!(fixture.cloud.count(Operation::DeleteRoutes), 0);
    fixture.delete("a").await;
    reconciler.reconcile().await.unwrap();
    assert_eq!(fixture.cloud.routes(CLUSTER).len(), 0);
}

#[tokio::test]
async fn another_node_of_the_same_name_does_not_get_the_condition() {
    let fixture = Fixture::new();
    let old = join(&fixture, "a", "10.201.10.0/24", "").await;
    fixture.delete("a").await;
    fixture.register("a", "").await;
    fixture.informer.store().insert(old);
    let result = Reconciler::new(context(&fixture, None)).reconcile().await;
    assert_eq!(result, Err(cloud::Retry::Backoff));
    assert_eq!(conditions::find(&fixture.get("a").await, NETWORK_UNAVAILABLE), None);
    fixture.finish().await;
}

#[tokio::test]
async fn a_heartbeat_causes_no_call() {
    let (fixture, _) = start(None);
    join(&fixture, "a", "10.201.4.0/24", "").await;
    until(&fixture, "a", "False", "RouteCreated").await;
    fixture.cloud.forget_calls();
    let heartbeat = Patch::Merge(json!({"metadata": {"annotations": {"beat": "1"}}}));
    let (name, params) = (fixture.name("a"), PatchParams::default());
    fixture.api.patch(&name, &params, &heartbeat).await.unwrap();
    // Handled after the heartbeat.
    join(&fixture, "b", "10.201.6.0/24", "").await;
    until(&fixture, "b", "False", "RouteCreated").await;
    assert_eq!(fixture.cloud.count(Operation::ListRoutes), 1);
    fixture.finish().await;
}

/// Changes nothing, and gives this many answers, or none at all.
struct Answers {
    instances: Memory,
    routes: Vec<Route>,
    count: Option<usize>,
}

impl Answers {
    async fn answer(&self) -> Vec<cloud::Result<()>> {
        match self.count {
            Some(count) => (0..count).map(|_| Ok(())).collect(),
            None => std::future::pending().await,
        }
    }
}

impl Provider for Answers {
    fn name(&self) -> &'static str {
        "answers"
    }

    fn instances(&self) -> &dyn Instances {
        &self.instances
    }

    fn routes(&self) -> Option<&dyn cloud::Routes> {
        Some(self)
    }
}

#[async_trait]
impl cloud::Routes for Answers {
    async fn list(&self, _: &str) -> cloud::Result<Vec<Route>> {
        Ok(self.routes.clone())
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
#[case::late(None, "10.201.14.0/24")]
#[tokio::test]
async fn an_incomplete_answer_is_a_failure(#[case] count: Option<usize>, #[case] cidr: &str) {
    let mut fixture = Fixture::new();
    let node = join(&fixture, "a", cidr, "").await;
    let reconciler = |routes: Vec<Route>| {
        let instances = Memory::new(&fixture.cloud);
        let provider = Arc::new(Answers {
            instances,
            routes,
            count,
        });
        let mut context = Context {
            provider,
            ..context(&fixture, None)
        };
        context.options.deadline = Duration::from_millis(50);
        Reconciler::new(context)
    };
    let (create, delete) = (
        reconciler(Vec::new()),
        reconciler(vec![super::route(&format!("blackhole {cidr}"))]),
    );
    let failed = Err(cloud::Retry::Backoff);
    assert_eq!(delete.reconcile().await, failed, "delete");
    fixture.informer.store().insert(node);
    assert_eq!(create.reconcile().await, failed, "create");
    fixture.until_event("FailedToCreateRoute").await;
    let condition = conditions::find(&fixture.get("a").await, NETWORK_UNAVAILABLE).cloned();
    assert_eq!(condition.unwrap().reason.as_deref(), Some("NoRouteCreated"));
    fixture.finish().await;
}
