//! Nodes that are initialised follow the cloud.

use super::*;

#[tokio::test]
async fn addresses_and_labels_follow_the_cloud_and_an_idle_look_writes_nothing() {
    let mut rig = Rig::new();
    boot(
        &rig,
        "a",
        "id:x InternalIP=10.0.0.1 InternalIP=fc01::1 type:small tag=1",
    );
    rig.register("a", "id:x InternalIP=10.0.0.1 InternalIP=fc01::1").await;
    start(
        &mut rig,
        Options {
            status_period: Duration::from_millis(50),
            ..options()
        },
    );
    rig.until("a", "labels", |node| labels::get(node, "tag") == Some("1"))
        .await;
    let looks = || rig.cloud.count(Operation::Describe);
    rig.requests.clear();
    let seen = looks();
    rig.cloud
        .until(|cloud| cloud.count(Operation::Describe) > seen + 3)
        .await;
    assert_eq!(rig.requests.all(), Vec::<String>::new(), "nothing changed");

    boot(&rig, "a", "id:x InternalIP=10.0.0.2 InternalIP=fc01::1 type:big tag=2");
    let node = rig
        .until("a", "the new label", |node| labels::get(node, "tag") == Some("2"))
        .await;
    assert_eq!(
        look(&node),
        "id:x InternalIP=10.0.0.2 InternalIP=fc01::1 beta.kubernetes.io/instance-type=big \
         node.kubernetes.io/instance-type=big tag=2"
    );
    rig.finish().await;
}

// upstream: TestUpdateNodeStatus
#[rstest]
#[case("100 untainted nodes, 10 ms cloud latency, 1 workers", 1)]
#[case("100 untainted nodes, 10 ms cloud latency, 5 workers", 5)]
#[case("100 untainted nodes, 10 ms cloud latency, 10 workers", 10)]
#[case("100 untainted nodes, 10 ms cloud latency, 30 workers", 30)]
#[tokio::test]
async fn all_nodes_are_asked_about_once_and_so_many_at_a_time(#[case] name: &str, #[case] workers: usize) {
    let mut rig = Rig::new();
    rig.cloud
        .inject(Fault::delay(Duration::from_millis(10)).operation(Operation::Describe));
    for index in 0..100 {
        rig.cloud.create_machine(Machine::named(rig.name(&index.to_string())));
        rig.informer
            .store()
            .insert(testkit::node::node(&rig.name(&index.to_string()), ""));
    }
    let at_a_time = options().status_updates(NonZeroUsize::new(workers).unwrap());
    let controller = Controller::new(context(&rig, at_a_time));
    controller.refresh(&CancellationToken::new()).await.unwrap();
    let calls = rig.cloud.calls_of(Operation::Describe);
    let asked: Vec<usize> = calls.iter().map(|call| call.names.len()).collect();
    let mut expected = vec![workers; 100 / workers];
    expected.extend((100 % workers > 0).then_some(100 % workers));
    assert_eq!(asked, expected, "{name}");
    let about: std::collections::BTreeSet<&String> = calls.iter().flat_map(|call| &call.names).collect();
    assert_eq!(about.len(), 100, "{name}: one question about each");
    assert_eq!(rig.events(), Vec::<&str>::new());
    rig.finish().await;
}

#[tokio::test]
async fn old_names_of_labels_are_copied_to_the_new_ones() {
    let mut rig = Rig::new();
    rig.register(
        "a",
        "failure-domain.beta.kubernetes.io/zone=z topology.kubernetes.io/zone=wrong",
    )
    .await;
    start(&mut rig, options());
    rig.until("a", "the new name", |node| {
        labels::get(node, "topology.kubernetes.io/zone") == Some("z")
    })
    .await;
    assert_eq!(rig.requests.all().len(), 1);
    rig.finish().await;
}

#[tokio::test]
async fn nodes_of_others_are_left_alone() {
    let mut rig = Rig::new();
    rig.register("theirs", "tainted id:other://1").await;
    rig.register("perhaps", "tainted").await;
    let scope = Scope {
        schemes: ["memory".to_owned()].into(),
        ..Scope::default()
    };
    start(&mut rig, Options { scope, ..options() });
    rig.cloud.until(|cloud| cloud.count(Operation::Describe) >= 3).await;
    for call in rig.cloud.calls_of(Operation::Describe) {
        assert_eq!(call.names, [rig.name("perhaps")]);
    }
    assert_eq!(
        (rig.requests.all(), rig.events()),
        (vec![], vec![]),
        "another manager may know the machine"
    );
    rig.finish().await;
}
