//! Initialized Nodes follow the cloud.

use super::*;

#[tokio::test]
async fn addresses_and_labels_follow_the_cloud_and_an_idle_refresh_writes_nothing() {
    let mut fixture = Fixture::new();
    boot(
        &fixture,
        "a",
        "id:x InternalIP=10.0.0.1 InternalIP=fc01::1 type:small tag=1",
    );
    fixture
        .register("a", "id:x InternalIP=10.0.0.1 InternalIP=fc01::1")
        .await;
    start(
        &mut fixture,
        Options {
            status_period: Duration::from_millis(50),
            ..options()
        },
    );
    fixture
        .until("a", "labels", |node| labels::get(node, "tag") == Some("1"))
        .await;
    fixture.requests.clear();
    let seen = fixture.cloud.count(Operation::Describe);
    fixture
        .cloud
        .until(|cloud| cloud.count(Operation::Describe) > seen + 3)
        .await;
    assert_eq!(fixture.requests.all(), Vec::<String>::new(), "nothing changed");

    boot(
        &fixture,
        "a",
        "id:x InternalIP=10.0.0.2 InternalIP=fc01::1 type:big tag=2",
    );
    let node = fixture
        .until("a", "the new label", |node| labels::get(node, "tag") == Some("2"))
        .await;
    assert_eq!(
        summary(&node),
        "id:x InternalIP=10.0.0.2 InternalIP=fc01::1 beta.kubernetes.io/instance-type=big \
         node.kubernetes.io/instance-type=big tag=2"
    );
    fixture.finish().await;
}

// upstream: TestUpdateNodeStatus
#[rstest]
#[case("100 untainted nodes, 10 ms cloud latency, 1 workers", 1)]
#[case("100 untainted nodes, 10 ms cloud latency, 5 workers", 5)]
#[case("100 untainted nodes, 10 ms cloud latency, 10 workers", 10)]
#[case("100 untainted nodes, 10 ms cloud latency, 30 workers", 30)]
#[tokio::test]
async fn all_nodes_are_described_once_in_batches(#[case] name: &str, #[case] workers: usize) {
    let mut fixture = Fixture::new();
    fixture
        .cloud
        .inject(Fault::delay(Duration::from_millis(10)).operation(Operation::Describe));
    for index in 0..100 {
        fixture
            .cloud
            .create_machine(Machine::named(fixture.name(&index.to_string())));
        fixture
            .informer
            .store()
            .insert(testkit::node::node(&fixture.name(&index.to_string()), ""));
    }
    let at_a_time = options().status_updates(NonZeroUsize::new(workers).unwrap());
    let reconciler = Reconciler::new(context(&fixture, at_a_time));
    reconciler.refresh(&CancellationToken::new()).await.unwrap();
    let calls = fixture.cloud.calls_of(Operation::Describe);
    let asked: Vec<usize> = calls.iter().map(|call| call.names.len()).collect();
    let mut expected = vec![workers; 100 / workers];
    expected.extend((100 % workers > 0).then_some(100 % workers));
    assert_eq!(asked, expected, "{name}");
    let about: std::collections::BTreeSet<&String> = calls.iter().flat_map(|call| &call.names).collect();
    assert_eq!(about.len(), 100, "{name}: each is described");
    assert_eq!(fixture.events(), Vec::<&str>::new());
    fixture.finish().await;
}

#[tokio::test]
async fn deprecated_labels_are_copied_to_their_current_names() {
    let mut fixture = Fixture::new();
    fixture
        .register(
            "a",
            "failure-domain.beta.kubernetes.io/zone=z topology.kubernetes.io/zone=wrong",
        )
        .await;
    start(&mut fixture, options());
    fixture
        .until("a", "the new name", |node| {
            labels::get(node, "topology.kubernetes.io/zone") == Some("z")
        })
        .await;
    assert_eq!(fixture.requests.all().len(), 1);
    fixture.finish().await;
}

#[tokio::test]
async fn nodes_of_other_managers_are_ignored() {
    let mut fixture = Fixture::new();
    fixture.register("others", "tainted id:other://1").await;
    fixture.register("unknown", "tainted").await;
    let scope = Scope {
        schemes: ["memory".to_owned()].into(),
        ..Scope::default()
    };
    start(&mut fixture, Options { scope, ..options() });
    fixture.cloud.until(|cloud| cloud.count(Operation::Describe) >= 3).await;
    for call in fixture.cloud.calls_of(Operation::Describe) {
        assert_eq!(call.names, [fixture.name("unknown")]);
    }
    assert_eq!(
        (fixture.requests.all(), fixture.events()),
        (vec![], vec![]),
        "another manager may have the instance"
    );
    fixture.finish().await;
}
