//! `--kube-api-qps`, `--kube-api-burst` and `--concurrent-*` are obeyed if given; if not, there are no such limits.

use crate::fixture::{Fixture, Launch};
use cloud::Detail;
use futures::future::join_all;
use memory_sim::{Call, Fault, Operation};
use rstest::rstest;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// The times of the requests that such a limit applies to, for each client, because each has its own, as in client-go, and
/// another one for events. The lease has no limit, and a watch is one request.
async fn requests(fixture: &Fixture, launch: Launch, nodes: usize) -> BTreeMap<String, Vec<f64>> {
    let names: Vec<_> = (0..nodes).map(|number| format!("n{number}")).collect();
    let names = join_all(names.iter().map(|name| fixture.join(name))).await;
    let manager = launch.start();
    for name in &names {
        fixture.initialised(&manager, name).await;
    }
    let mut clients: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for entry in fixture.requests().into_iter().filter(|entry| entry.verb != "watch") {
        let mut client = entry.agent.rsplit('/').next().unwrap_or_default().to_owned();
        if entry.resource == "events" {
            client.push_str(" events");
        }
        let times = clients.entry(client).or_default();
        times.push(entry.at.as_duration().as_secs_f64());
    }
    clients.remove("leader-election").expect("a leader");
    for times in clients.values_mut() {
        times.sort_by(f64::total_cmp);
    }
    assert_eq!(
        clients["node-controller"].len(),
        2 * nodes,
        "two patches a node: {clients:#?}"
    );
    clients
}

/// The maximum number of requests by which a bucket was overdrawn.
fn excess(times: &[f64], qps: f64, burst: f64) -> f64 {
    let mut worst = f64::MIN;
    for (first, start) in times.iter().enumerate() {
        let mut count = 0.0;
        for end in &times[first..] {
            count += 1.0;
            worst = worst.max(count - burst - qps * (end - start));
        }
    }
    worst
}

#[tokio::test]
async fn requests_are_limited_as_configured() {
    let fixture = Fixture::shared().await;
    let launch = fixture.manager().flag("--kube-api-qps=5").flag("--kube-api-burst=1");
    let clients = requests(&fixture, launch, 8).await;
    for (client, times) in &clients {
        let over = excess(times, 5.0, 1.0);
        assert!(over < 2.5, "{client} made {over:.1} requests too many: {times:?}");
    }
    let patches = &clients["node-controller"];
    let span = patches.last().unwrap() - patches[0];
    assert!(span > 2.5, "{} patches within {span:.2} s", patches.len());
}

#[tokio::test]
async fn requests_are_not_limited_by_default() {
    let fixture = Fixture::shared().await;
    let clients = requests(&fixture, fixture.manager(), 80).await;
    let over = excess(&clients["node-controller"], 20.0, 30.0);
    assert!(over > 10.0, "this looks like 20 a second: {clients:?}");
}

/// The maximum number of load balancers in progress at the same time.
async fn at_once(flag: Option<&str>) -> usize {
    let fixture = Fixture::shared().await;
    fixture
        .cloud
        .inject(Fault::delay(Duration::from_millis(700)).operation(Operation::EnsureLoadBalancer));
    let services: Vec<_> = (0..4).map(|number| fixture.balanced(&format!("s{number}"))).collect();
    let services = join_all(services.into_iter().map(|service| fixture.create(service))).await;
    let manager = flag.into_iter().fold(fixture.manager(), Launch::flag).start();
    for service in services {
        fixture
            .served(&manager, service.metadata.name.as_deref().unwrap())
            .await;
    }
    peak(&fixture.cloud.calls_of(Operation::EnsureLoadBalancer), |_| 1)
}

/// The maximum of a sum over concurrent calls.
fn peak(calls: &[Call], much: impl Fn(&Call) -> usize) -> usize {
    let runs_at = |call: &Call, time: Duration| call.at <= time && time < call.at + call.took.unwrap_or_default();
    let at_start = |one: &Call| calls.iter().filter(|call| runs_at(call, one.at)).map(&much).sum();
    calls.iter().map(at_start).max().unwrap_or_default()
}

/// The maximum number of Nodes in concurrent calls to the cloud.
#[derive(Debug, PartialEq, Eq)]
struct Peaks {
    initialised: usize,
    updated: usize,
    looked_at: usize,
}

impl Peaks {
    fn of(calls: &[Call]) -> Self {
        let (mut known, mut new, mut updates, mut looks) = (BTreeSet::new(), Vec::new(), Vec::new(), Vec::new());
        for call in calls {
            // A Node without an earlier call is new.
            let before = known.len();
            known.extend(&call.names);
            let is_new = known.len() > before;
            match call.detail {
                Some(Detail::Full) if is_new => new.push(call.clone()),
                Some(Detail::Full) => updates.push(call.clone()),
                _ => looks.push(call.clone()),
            }
        }
        let nodes = |calls: &[Call]| peak(calls, |call| call.names.len());
        Self {
            // Some may start a moment after the others: three at once are not one by one.
            initialised: nodes(&new).min(3),
            updated: nodes(&updates),
            looked_at: nodes(&looks),
        }
    }
}

const NODES: usize = 6;

#[rstest]
#[case::each_is_given(
    &["--concurrent-node-syncs=2", "--concurrent-node-status-updates=3", "--concurrent-node-lifecycle-syncs=1"],
    Peaks { initialised: 2, updated: 3, looked_at: 1 }
)]
#[case::updates_as_syncs(&["--concurrent-node-syncs=1"], Peaks { initialised: 1, updated: 1, looked_at: NODES })]
#[case::ours(&[], Peaks { initialised: 3, updated: NODES, looked_at: NODES })]
#[tokio::test]
async fn so_many_nodes_at_a_time(#[case] flags: &[&str], #[case] expected: Peaks) {
    let fixture = Fixture::shared().await;
    let names: Vec<_> = (0..NODES).map(|number| format!("n{number}")).collect();
    let names = join_all(names.iter().map(|name| fixture.join(name))).await;
    fixture
        .cloud
        .inject(Fault::delay(Duration::from_millis(150)).operation(Operation::Describe));
    let quick = ["--node-status-update-frequency=200ms", "--node-monitor-period=200ms"];
    let launch = flags
        .iter()
        .chain(&quick)
        .fold(fixture.manager(), |launch, flag| launch.flag(flag));
    let manager = launch.start();
    for name in &names {
        fixture.initialised(&manager, name).await;
        fixture.set_ready(name, "Unknown").await;
    }
    // Until each loop has read all of them, and starts again.
    let mark = fixture.cloud.calls_of(Operation::Describe).len();
    let is_settled = |calls: &[Call]| {
        let rounds = |detail| calls[mark..].iter().filter(|call| call.detail == Some(detail)).count();
        [Detail::Full, Detail::Liveness]
            .into_iter()
            .all(|detail| rounds(detail) > 2 * NODES)
    };
    let settled = fixture
        .cloud
        .until(|cloud| is_settled(&cloud.calls_of(Operation::Describe)));
    tokio::time::timeout(Duration::from_mins(4), settled)
        .await
        .expect("rounds");
    assert_eq!(Peaks::of(&fixture.cloud.calls_of(Operation::Describe)), expected);
}

#[tokio::test]
async fn one_service_at_a_time_if_configured() {
    assert_eq!(at_once(Some("--concurrent-service-syncs=1")).await, 1);
}

#[tokio::test]
async fn two_services_at_a_time_if_configured() {
    assert_eq!(at_once(Some("--concurrent-service-syncs=2")).await, 2);
}

#[tokio::test]
async fn many_services_at_a_time_by_default() {
    assert_eq!(at_once(None).await, 4);
}
