//! The controller on a real API server, with a memory cloud.

use super::{plan::Plan, write::Outcome, *};
use crate::nodes::{
    self, addresses,
    conditions::{self, CLOUD_PROVIDER_INITIALIZED},
    labels,
    rig::{Rig, look},
    taints,
};
use cloud::{AddressKind, Answer, ProviderIds};
use kube::{
    api::{Patch, PatchParams},
    config::KubeConfigOptions,
};
use memory::{Failure, Fault, Machine, Operation};
use rstest::rstest;
use runtime::informer::Store;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use testkit::{node::machine, wait};

/// Nothing waits longer than a test likes to.
fn options() -> Options {
    Options {
        patience: Duration::ZERO,
        poll: Duration::from_millis(50),
        ..Options::default()
    }
}

fn context(rig: &Rig, options: Options) -> Context {
    Context {
        client: rig.client.clone(),
        nodes: rig.informer.clone(),
        provider: rig.provider.clone(),
        recorder: rig.recorder(COMPONENT),
        queue: queue(None),
        metrics: Metrics::register(&prometheus::Registry::new()).unwrap(),
        sync_pulse: Pulse::default(),
        status_pulse: Pulse::default(),
        options,
    }
}

fn start(rig: &mut Rig, options: Options) {
    let ctx = context(rig, options);
    rig.start(|cancel| run(ctx, cancel));
}

/// The machine of these words (see [`testkit::node::machine`]) under the name of a Node.
fn boot(rig: &Rig, short: &str, words: &str) {
    let cloud::Instance {
        provider_id,
        instance_type,
        addresses,
        zone,
        region,
        labels,
        power,
    } = machine(words);
    let name = rig.name(short);
    let known = Machine::named(name);
    rig.cloud.create_machine(Machine {
        provider_id,
        instance_type,
        zone,
        region,
        addresses,
        labels,
        power,
        ..known
    });
}

#[tokio::test]
async fn a_node_costs_two_patches_and_the_taint_goes_last() {
    let mut rig = Rig::new();
    let registry = prometheus::Registry::new();
    let ctx = Context {
        metrics: Metrics::register(&registry).unwrap(),
        ..context(&rig, options())
    };
    boot(
        &rig,
        "a",
        "id:memory://1 InternalIP=10.0.0.1 InternalIP=fc01::1 zone:z region:r type:t x=y",
    );
    rig.register("a", "tainted taint:other Hostname=kubelet a=b").await;
    rig.start(|cancel| run(ctx, cancel));

    let event = rig.until_event("Synced").await;
    let node = rig.get("a").await;
    assert_eq!(
        look(&node),
        "taint:other id:memory://1 InternalIP=10.0.0.1 InternalIP=fc01::1 Hostname=kubelet a=b \
         beta.kubernetes.io/instance-type=t failure-domain.beta.kubernetes.io/region=r \
         failure-domain.beta.kubernetes.io/zone=z node.kubernetes.io/instance-type=t topology.kubernetes.io/region=r \
         topology.kubernetes.io/zone=z x=y"
    );
    let path = format!("/api/v1/nodes/{}", rig.name("a"));
    assert_eq!(
        rig.requests.all(),
        [format!("PATCH {path}/status"), format!("PATCH {path}")]
    );
    assert_eq!(
        (event.component, event.message.as_str()),
        ("cloud-node-controller", "Node synced successfully")
    );
    assert_eq!(event.regarding, nodes::reference(&node));
    let counts: Vec<_> = registry
        .gather()
        .iter()
        .map(|family| {
            (
                family.name().to_owned(),
                family.get_metric()[0].get_histogram().get_sample_count(),
            )
        })
        .collect();
    assert_eq!(
        counts,
        [
            (
                "node_controller_cloud_provider_taint_removal_delay_seconds".to_owned(),
                1
            ),
            ("node_controller_initial_node_sync_delay_seconds".to_owned(), 1),
        ]
    );
    rig.finish().await;
}

// upstream: Test_syncNode
#[rstest]
#[case(
    "node initialized with hostname",
    "tainted Hostname=nodeoverriden",
    "id:fake://12345 Hostname=node0.cloud.internal InternalIP=10.0.0.1",
    "id:fake://12345 Hostname=node0.cloud.internal InternalIP=10.0.0.1"
)]
#[case(
    "node initialized with hostname and cloud provider missing hostname",
    "tainted Hostname=nodeoverriden",
    "id:fake://12345 InternalIP=10.0.0.1 ExternalIP=132.143.154.163",
    "id:fake://12345 InternalIP=10.0.0.1 ExternalIP=132.143.154.163 Hostname=nodeoverriden"
)]
#[case(
    "node addresses",
    "taint:ImproveCoverageTaint tainted",
    "id:fake://12345 InternalIP=10.0.0.1",
    "taint:ImproveCoverageTaint id:fake://12345 InternalIP=10.0.0.1"
)]
#[case(
    "provider ID already set",
    "tainted id:test-provider-id",
    "id:test-provider-id InternalIP=10.0.0.1",
    "id:test-provider-id InternalIP=10.0.0.1"
)]
#[case(
    "[instanceV2] provided additional labels with labels to discard",
    "node-ip:10.0.0.1 taint:ImproveCoverageTaint tainted id:node0.cp.12345 my.custom.label/foo=fizz my.custom.label/bar=foo",
    "id:node0.cp.12345 InternalIP=10.0.0.1 topology.kubernetes.io/region=no k8s.io/region=no my.custom.label/foo=bar my.custom.label/bar=foo k8snio/bar=foo",
    "taint:ImproveCoverageTaint id:node0.cp.12345 InternalIP=10.0.0.1 k8snio/bar=foo my.custom.label/bar=foo my.custom.label/foo=fizz"
)]
#[tokio::test]
async fn initializes(#[case] name: &str, #[case] there: &str, #[case] cloud: &str, #[case] expected: &str) {
    let mut rig = Rig::new();
    boot(&rig, "a", cloud);
    rig.register("a", there).await;
    start(&mut rig, options());
    rig.until_initialized().await;
    assert_eq!(look(&rig.get("a").await), expected, "{name}");
    rig.finish().await;
}

#[tokio::test]
async fn a_cloud_without_provider_ids_initializes_nodes_without() {
    let mut rig = Rig::new();
    rig.cloud
        .configure(|settings| settings.provider_ids = ProviderIds::None);
    rig.cloud.create_machine(Machine::named(rig.name("a")));
    rig.register("a", "tainted").await;
    start(&mut rig, options());
    rig.until_initialized().await;
    assert_eq!(look(&rig.get("a").await), "");
    assert_eq!(rig.requests.all().len(), 1, "nothing but the taint changed");
    rig.finish().await;
}

#[tokio::test]
async fn a_burst_is_one_question_and_two_writes_a_node() {
    let mut rig = Rig::new();
    let names: Vec<String> = (0..200).map(|index| format!("n{index}")).collect();
    for name in &names {
        rig.cloud.boot(&rig.name(name));
    }
    futures::future::join_all(names.iter().map(|name| rig.register(name, "tainted"))).await;
    start(&mut rig, options());
    rig.until_initialized().await;
    assert_eq!(rig.requests.with("PATCH").len(), 400);
    assert_eq!(rig.requests.all().len(), 400, "nothing but patches");
    let asked = rig.cloud.count(Operation::Describe);
    assert!(asked <= 3, "200 nodes cost {asked} questions");
    rig.finish().await;
}

#[rstest]
#[case::missing(
    "",
    "tainted",
    "trouble:MachineNotFound",
    "Cannot initialize node: the cloud does not know the machine with name "
)]
#[case::wrong_node_ip(
    "id:x InternalIP=10.0.0.1",
    "tainted node-ip:10.0.0.2 id:x",
    "trouble:InvalidNodeIP",
    "Cannot initialize node: the provided node IP 10.0.0.2 is not an address of the machine; the cloud says 10.0.0.1"
)]
#[tokio::test]
async fn a_node_that_stays_tainted_says_why_and_recovers(
    #[case] cloud: &str,
    #[case] there: &str,
    #[case] trouble: &str,
    #[case] message: &str,
) {
    let mut rig = Rig::new();
    if !cloud.is_empty() {
        boot(&rig, "a", cloud);
    }
    rig.register("a", there).await;
    start(&mut rig, options());
    let event = rig.until_event("FailedToInitialize").await;
    assert!(event.message.starts_with(message), "{}", event.message);
    let node = rig
        .until("a", "a condition", |node| {
            conditions::find(node, CLOUD_PROVIDER_INITIALIZED).is_some()
        })
        .await;
    assert!(
        look(&node).ends_with(trouble) && taints::is_uninitialized(&node),
        "{}",
        look(&node)
    );
    let condition = conditions::find(&node, CLOUD_PROVIDER_INITIALIZED).unwrap();
    assert_eq!(
        (condition.status.as_str(), condition.message.as_deref()),
        ("False", Some(event.message.as_str()))
    );

    boot(&rig, "a", "id:x InternalIP=10.0.0.2");
    rig.until_initialized().await;
    assert_eq!(
        look(&rig.get("a").await),
        "id:x InternalIP=10.0.0.2",
        "the condition is gone with the trouble"
    );
    assert_eq!(
        rig.requests.all().len(),
        3,
        "one write for the trouble, two for the rest"
    );
    rig.finish().await;
}

#[tokio::test]
async fn a_cloud_that_throttles_is_obeyed_and_one_that_fails_is_asked_again() {
    let mut rig = Rig::new();
    rig.cloud.boot(&rig.name("a"));
    let second = Duration::from_secs(1);
    rig.cloud.inject(
        Fault::fail(Failure::Throttled {
            retry_after: Some(second),
        })
        .at(Operation::Describe)
        .times(1),
    );
    rig.cloud.inject(
        Fault::fail(Failure::Unavailable("down".into()))
            .at(Operation::Describe)
            .times(3),
    );
    rig.register("a", "tainted").await;
    let patient = Options {
        patience: Duration::from_mins(1),
        ..options()
    };
    start(&mut rig, patient);
    rig.until_initialized().await;
    let calls = rig.cloud.calls_of(Operation::Describe);
    assert_eq!(calls.len(), 4, "throttled, failed twice, answered");
    assert!(
        calls[1].at >= calls[0].at + second,
        "asked sooner than the cloud wanted"
    );
    assert_eq!(rig.requests.all().len(), 2, "short trouble leaves no traces");
    rig.until_event("Synced").await;
    rig.finish().await;
}

#[tokio::test]
async fn a_machine_that_is_not_ready_is_asked_about_later() {
    let mut rig = Rig::new();
    rig.cloud.create_machine(Machine::typical(rig.name("a")).not_yet());
    let before = rig.register("a", "tainted").await;
    start(&mut rig, options());
    rig.until_event("WaitingForCloud").await;
    rig.cloud.until(|cloud| cloud.count(Operation::Describe) >= 3).await;
    let mut after = rig.get("a").await;
    after
        .metadata
        .managed_fields
        .clone_from(&before.metadata.managed_fields);
    assert_eq!(after, before, "the node is left as it is");
    rig.cloud
        .modify_machine(&rig.name("a"), |machine| machine.readiness = memory::Readiness::Known);
    rig.until_initialized().await;
    rig.finish().await;
}

#[tokio::test]
async fn a_cloud_that_hangs_is_given_up_and_what_is_under_way_at_the_end_is_finished() {
    let mut rig = Rig::new();
    rig.cloud.boot(&rig.name("a"));
    let hang = rig.cloud.inject(Fault::hang().at(Operation::Describe));
    rig.register("a", "tainted").await;
    let hasty = Options {
        deadline: Duration::from_millis(200),
        ..options()
    };
    start(&mut rig, hasty);
    let event = rig.until_event("FailedToInitialize").await;
    assert_eq!(
        event.message,
        "Cannot initialize node: describe machines is unavailable: no answer in time"
    );
    rig.cloud.withdraw(hang);
    rig.until_initialized().await;

    rig.cloud.boot(&rig.name("b"));
    rig.cloud.forget_calls();
    rig.cloud
        .inject(Fault::delay(Duration::from_millis(100)).at(Operation::Describe));
    rig.register("b", "tainted").await;
    rig.cloud.until(|cloud| cloud.count(Operation::Describe) > 0).await;
    rig.cancel();
    wait::until("the controller to end", || {
        let running = rig.running();
        async move {
            if running == 0 {
                Ok(())
            } else {
                Err(format!("{running} tasks run"))
            }
        }
    })
    .await;
    assert!(
        !taints::is_uninitialized(&rig.get("b").await),
        "work that had begun was thrown away"
    );
    rig.finish().await;
}

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
async fn all_nodes_are_asked_about_once(#[case] name: &str, #[case] workers: usize) {
    let mut rig = Rig::new();
    rig.cloud
        .inject(Fault::delay(Duration::from_millis(10)).at(Operation::Describe));
    for index in 0..100 {
        rig.cloud.create_machine(Machine::named(rig.name(&index.to_string())));
        rig.informer
            .store()
            .insert(testkit::node::node(&rig.name(&index.to_string()), ""));
    }
    let status_updates = NonZeroUsize::new(workers).unwrap();
    let controller = Controller::new(context(
        &rig,
        Options {
            status_updates,
            ..options()
        },
    ));
    controller.refresh(&CancellationToken::new()).await.unwrap();
    let asked: Vec<usize> = rig
        .cloud
        .calls_of(Operation::Describe)
        .iter()
        .map(|call| call.names.len())
        .collect();
    assert_eq!(asked, [100], "{name}: one question about each, and one call for all");
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

#[tokio::test]
async fn other_writers_cannot_keep_a_node_from_being_initialized() {
    let mut rig = Rig::new();
    for short in ["a", "b", "c", "d"] {
        rig.cloud.boot(&rig.name(short));
        rig.register(short, "tainted taint:other").await;
    }
    let hang = rig.cloud.inject(Fault::hang().at(Operation::Describe));
    let (cancel, writes) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
    let names = ["a", "b", "c", "d"].map(|short| rig.name(short));
    let storm = tokio::spawn(storm(rig.api.clone(), names, writes.clone(), cancel.clone()));
    start(&mut rig, options());
    wait::until("a storm", || async {
        let writes = writes.load(Ordering::Relaxed);
        if writes > 50 {
            Ok(())
        } else {
            Err(format!("{writes} writes"))
        }
    })
    .await;
    rig.cloud.withdraw(hang);
    rig.until_initialized().await;
    cancel.cancel();
    storm.await.unwrap();
    let ours = rig.requests.all().len();
    assert!(ours <= 40, "{ours} writes for 4 nodes");
    rig.finish().await;
}

#[tokio::test]
async fn when_somebody_was_faster_the_node_that_the_watch_brings_counts() {
    let rig = Rig::new();
    let cached = Arc::new(rig.register("a", "tainted id:x").await);
    let faster = json!({ "spec": { "taints": [
        { "key": "faster", "effect": "NoSchedule" },
        { "key": taints::UNINITIALIZED, "effect": "NoSchedule" },
    ] } });
    let fresh = rig
        .api
        .patch(&rig.name("a"), &PatchParams::default(), &Patch::Merge(&faster))
        .await
        .unwrap();
    let store = Store::of([(*cached).clone()]);
    let writer = Writer::new(rig.client.clone(), store.clone(), options().syncs);
    let decide = |node: &Node| plan::plan(node, &Ok(found("id:x")), rules());
    let refused = async {
        wait::until("the first patch", || async {
            if rig.requests.all().is_empty() {
                Err("none yet")
            } else {
                Ok(())
            }
        })
        .await;
        store.insert(fresh);
    };
    let (outcome, ()) = tokio::join!(writer.carry_out(cached, decide), refused);
    assert!(matches!(outcome, Ok(Outcome::Written(_))), "{outcome:?}");
    assert_eq!(look(&rig.get("a").await), "taint:faster id:x");
    assert_eq!(rig.requests.all().len(), 2, "one in vain, one that counts");
    rig.finish().await;
}

#[tokio::test]
async fn a_node_that_is_replaced_while_the_cloud_is_asked_is_asked_about_itself() {
    let mut rig = Rig::new();
    boot(&rig, "a", "id:memory://old InternalIP=10.0.0.1");
    rig.register("a", "tainted old=node").await;
    let hang = rig.cloud.inject(Fault::hang().at(Operation::Describe));
    start(&mut rig, options());
    rig.cloud.until(|cloud| cloud.count(Operation::Describe) > 0).await;
    rig.delete("a").await;
    rig.register("a", "tainted new=node").await;
    rig.cloud.withdraw(hang);
    rig.until_initialized().await;
    assert_eq!(
        look(&rig.get("a").await),
        "id:memory://old InternalIP=10.0.0.1 new=node"
    );
    rig.until_event("Synced").await;
    assert_eq!(rig.events(), Vec::<&str>::new(), "one node, one event");
    rig.finish().await;
}

#[tokio::test]
async fn an_api_server_that_goes_away_and_comes_back_costs_only_time() {
    let plane = lab::ControlPlane::start().unwrap();
    let mut rig = Rig::on(&plane);
    rig.cloud.boot(&rig.name("a"));
    rig.register("a", "tainted").await;
    let hang = rig.cloud.inject(Fault::hang().at(Operation::Describe));
    let ctx = context(&rig, options());
    let queue = ctx.queue.clone();
    rig.start(|cancel| run(ctx, cancel));
    rig.cloud.until(|cloud| cloud.count(Operation::Describe) > 0).await;
    plane.stop_apiserver();
    rig.cloud.withdraw(hang);
    wait::until("some attempts in vain", || async {
        let failures = queue.failures(&rig.name("a"));
        if failures > 2 {
            Ok(())
        } else {
            Err(format!("{failures} failures"))
        }
    })
    .await;
    plane.start_apiserver().unwrap();
    rig.until_initialized().await;
    rig.finish().await;
}

/// Changes a label and moves the taints around, as fast as the API server lets it.
async fn storm(api: kube::Api<Node>, names: [String; 4], writes: Arc<AtomicUsize>, cancel: CancellationToken) {
    let params = PatchParams::default();
    while !cancel.is_cancelled() {
        for name in &names {
            let count = writes.fetch_add(1, Ordering::Relaxed);
            let label = json!({ "metadata": { "labels": { "storm": count.to_string() } } });
            api.patch(name, &params, &Patch::Merge(&label)).await.unwrap();
            let place = format!("/spec/taints/{}", count % 2);
            let taint = json!([{ "op": "add", "path": place, "value": { "key": "storm", "effect": "NoSchedule" } }]);
            let untaint = json!([
                { "op": "test", "path": format!("{place}/key"), "value": "storm" },
                { "op": "remove", "path": place },
            ]);
            for operations in [taint, untaint] {
                let patch: Patch<()> = Patch::Json(serde_json::from_value(operations).unwrap());
                // It fails when a taint went in between and the places are wrong.
                let _ = api.patch(name, &params, &patch).await;
            }
        }
    }
}

fn found(words: &str) -> Answer {
    Answer::Found(Box::new(machine(words)))
}

fn rules() -> plan::Rules<'static> {
    plan::Rules {
        provider_ids: ProviderIds::Given,
        labels: Labels::Follow,
        before: None,
    }
}

#[rstest]
#[case::by_the_status_patch("id:x InternalIP=10.0.0.1")]
#[case::by_the_node_patch("id:x")]
#[tokio::test]
async fn a_node_of_the_same_name_is_not_the_same_node(#[case] cloud: &str) {
    let rig = Rig::new();
    let old = Arc::new(rig.register("a", "tainted").await);
    rig.delete("a").await;
    let new = rig.register("a", "tainted").await;
    let decide = |node: &Node| plan::plan(node, &Ok(found(cloud)), rules());

    let stale = Store::of([(*old).clone()]);
    let writer = Writer::new(rig.client.clone(), stale.clone(), options().syncs);
    let outcome = writer.carry_out(old.clone(), decide).await;
    assert!(matches!(outcome, Err(Stuck::Refused(_))), "{outcome:?}");

    stale.insert(new.clone());
    assert_eq!(writer.carry_out(old.clone(), decide).await, Ok(Outcome::Gone));
    assert_eq!(rig.get("a").await, new, "the new node was touched");
    rig.delete("a").await;
    assert_eq!(writer.carry_out(old, decide).await, Ok(Outcome::Gone));
    rig.finish().await;
}

#[tokio::test]
async fn the_second_patch_builds_on_the_answer_to_the_first() {
    let rig = Rig::new();
    let cached = Arc::new(rig.register("a", "tainted").await);
    let ahead = json!({ "metadata": { "labels": { "new": "label" } }, "spec": { "taints": [
        { "key": "first", "effect": "NoSchedule" },
        { "key": taints::UNINITIALIZED, "effect": "NoSchedule" },
    ] } });
    rig.api
        .patch(&rig.name("a"), &PatchParams::default(), &Patch::Merge(&ahead))
        .await
        .unwrap();

    let writer = Writer::new(rig.client.clone(), Store::of([(*cached).clone()]), options().syncs);
    let decide = |node: &Node| plan::plan(node, &Ok(found("id:x InternalIP=10.0.0.1 new=cloud")), rules());
    let outcome = writer.carry_out(cached, decide).await.unwrap();
    assert!(matches!(outcome, Outcome::Written(_)), "{outcome:?}");
    assert_eq!(
        look(&rig.get("a").await),
        "taint:first id:x InternalIP=10.0.0.1 new=label"
    );
    assert_eq!(rig.requests.all().len(), 2);
    rig.finish().await;
}

#[tokio::test]
async fn addresses_of_one_type_are_replaced_and_not_merged() {
    let rig = Rig::new();
    let node = Arc::new(
        rig.register("a", "id:x InternalIP=10.0.0.1 InternalIP=10.0.0.2 ExternalIP=1.1.1.1")
            .await,
    );
    let writer = Writer::new(rig.client.clone(), rig.informer.store(), options().syncs);
    let decide = |node: &Node| plan::plan(node, &Ok(found("InternalIP=fc01::1 InternalIP=10.0.0.2")), rules());
    writer.carry_out(node, decide).await.unwrap();
    let after = rig.get("a").await;
    assert_eq!(look(&after), "id:x InternalIP=fc01::1 InternalIP=10.0.0.2");
    assert_eq!(decide(&after), Plan::Keep);
    assert_eq!(addresses::of(&after).len(), 2);
    rig.finish().await;
}

#[tokio::test]
async fn a_missing_permission_is_named() {
    let rig = Rig::new();
    let node = Arc::new(rig.register("a", "tainted").await);
    let file = lab::ControlPlane::shared().kubeconfig_for(&rig.group, &[]);
    let file = kube::config::Kubeconfig::read_from(file).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .unwrap();
    let writer = Writer::new(
        kube::Client::try_from(config).unwrap(),
        rig.informer.store(),
        options().syncs,
    );
    let decide = |node: &Node| plan::plan(node, &Ok(found("id:x InternalIP=10.0.0.1")), rules());
    let stuck = writer.carry_out(node, decide).await.unwrap_err().to_string();
    assert!(stuck.contains("cannot patch resource \"nodes/status\""), "{stuck}");
    rig.finish().await;
}

#[test]
fn only_a_change_that_matters_puts_a_node_back_into_the_queue() {
    let differs = |a: &str, b: &str| super::sync::differs(&testkit::node::node("n", a), &testkit::node::node("n", b));
    assert!(
        !differs("tainted ready:True", "tainted ready:False InternalIP=10.0.0.1"),
        "a heartbeat"
    );
    for change in [
        "tainted id:x",
        "",
        "tainted a=b",
        "tainted node-ip:10.0.0.1",
        "tainted uid:other",
        "tainted uuid:u",
    ] {
        assert!(differs("tainted", change), "{change}");
    }
}

#[tokio::test]
async fn a_machine_with_a_host_name_keeps_it() {
    let mut rig = Rig::new();
    let machine = Machine::named(rig.name("a")).address(AddressKind::Hostname, "cloud");
    rig.cloud.create_machine(machine);
    rig.register("a", "tainted Hostname=kubelet").await;
    start(&mut rig, options());
    rig.until_initialized().await;
    assert!(look(&rig.get("a").await).ends_with(" Hostname=cloud"));
    rig.finish().await;
}
