//! The controller on a real API server, with a memory cloud.

use super::{reconcile::Reconciler, *};
use crate::nodes::{
    self,
    fixture::{Fixture, gets_stuck, summary},
    taints,
};
use cloud::Power;
use k8s_openapi::api::core::v1::Node;
use kube::{
    api::{Patch, PatchParams},
    runtime::watcher,
};
use memory::{Failure, Fault, Operation};
use rstest::rstest;
use runtime::{
    events::Kind,
    health::Pulse,
    informer::{Informer, State, Store},
};
use serde_json::json;
use std::{collections::BTreeSet, num::NonZeroUsize, time::Duration};
use testkit::wait;
use tokio_util::sync::CancellationToken;

/// Without a grace period, and with frequent passes.
fn options() -> Options {
    Options {
        grace: Duration::ZERO,
        period: Duration::from_millis(50),
        ..Options::default()
    }
}

fn context(fixture: &Fixture, options: Options) -> Context {
    Context {
        client: fixture.client.clone(),
        nodes: fixture.informer.store(),
        provider: fixture.provider.clone(),
        recorder: fixture.recorder(COMPONENT),
        metrics: Metrics::register(&prometheus::Registry::new()).unwrap(),
        pulse: Pulse::default(),
        options,
    }
}

fn start(fixture: &mut Fixture, options: Options) {
    let ctx = context(fixture, options);
    fixture.start(|cancel| run(ctx, cancel));
}

/// Waits for some more passes.
async fn some_passes(fixture: &Fixture) {
    let seen = fixture.cloud.count(Operation::Describe);
    fixture
        .cloud
        .until(|cloud| cloud.count(Operation::Describe) > seen + 3)
        .await;
}

/// Waits for passes that send nothing.
async fn until_at_rest(fixture: &Fixture) {
    wait::until("passes without a request", || async {
        let before = fixture.requests.all().len();
        some_passes(fixture).await;
        let sent = fixture.requests.all().split_off(before);
        if sent.is_empty() {
            Ok(())
        } else {
            Err(format!("{sent:?}"))
        }
    })
    .await;
}

/// That these requests were sent and no others. A pass that begins before the watch reports a patch sends it again, which conflicts.
fn assert_only(fixture: &Fixture, requests: &[String]) {
    let sent: BTreeSet<_> = fixture.requests.all().into_iter().collect();
    assert_eq!(sent, requests.iter().cloned().collect());
}

async fn until_gone(fixture: &Fixture, short: &str) {
    wait::until("the deletion of the node", || async {
        let node = fixture.api.get_opt(&fixture.name(short)).await.unwrap();
        node.map_or(Ok(()), |node| Err(summary(&node)))
    })
    .await;
}

async fn left(fixture: &Fixture, shorts: &[String]) -> usize {
    let gets = shorts
        .iter()
        .map(|short| async { fixture.api.get_opt(&fixture.name(short)).await.unwrap().is_some() });
    futures::future::join_all(gets)
        .await
        .into_iter()
        .filter(|there| *there)
        .count()
}

#[tokio::test]
async fn a_node_without_an_instance_is_deleted_and_others_are_kept() {
    let mut fixture = Fixture::new();
    fixture.register("gone", "ready:False").await;
    fixture.register("ready", "ready:True").await;
    fixture.register("there", "ready:Unknown").await;
    fixture.cloud.boot(&fixture.name("there"));
    let gone = fixture.get("gone").await;
    start(&mut fixture, options());
    let event = fixture.until_event("DeletingNode").await;
    until_gone(&fixture, "gone").await;
    let name = fixture.name("gone");
    assert_eq!(
        (event.component, event.kind),
        ("cloud-node-lifecycle-controller", Kind::Normal)
    );
    assert_eq!(
        event.message,
        format!("Deleting node {name} because it does not exist in the cloud provider")
    );
    assert_eq!(event.regarding, nodes::reference(&gone));
    assert_eq!(event.regarding.api_version.as_deref(), Some("v1"));

    some_passes(&fixture).await;
    for short in ["ready", "there"] {
        fixture.get(short).await;
    }
    assert_eq!(fixture.requests.all(), [format!("DELETE /api/v1/nodes/{name}")]);
    for call in fixture.cloud.calls_of(Operation::Describe) {
        assert!(
            !call.names.contains(&fixture.name("ready")),
            "the instance of a ready node was looked up"
        );
    }
    fixture.finish().await;
}

#[tokio::test]
async fn a_node_is_tainted_while_its_instance_is_shut_down() {
    let mut fixture = Fixture::new();
    for short in ["first", "further"] {
        fixture.cloud.boot(&fixture.name(short));
        fixture.cloud.set_power(&fixture.name(short), Power::Off).unwrap();
    }
    fixture.register("first", "ready:False").await;
    fixture.register("further", "ready:False taint:other").await;
    start(&mut fixture, options());
    let tainted = |node: &Node| taints::contains(taints::of(node), &taints::shutdown());
    for short in ["first", "further"] {
        fixture.until(short, "the taint", tainted).await;
    }
    until_at_rest(&fixture).await;
    let patches = ["first", "further"].map(|short| format!("PATCH /api/v1/nodes/{}", fixture.name(short)));
    assert_only(&fixture, &patches);

    for short in ["first", "further"] {
        let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
        fixture
            .api
            .patch_status(&fixture.name(short), &PatchParams::default(), &Patch::Strategic(&ready))
            .await
            .unwrap();
        fixture
            .until(short, "the removal of the taint", |node| !tainted(node))
            .await;
    }
    assert_eq!(summary(&fixture.get("further").await), "taint:other");
    assert_only(&fixture, &patches);
    fixture.finish().await;
}

#[tokio::test]
async fn a_cloud_that_loses_all_instances_deletes_few_nodes_after_a_while() {
    let mut fixture = Fixture::new();
    let shorts: Vec<String> = (0..10).map(|index| format!("n{index}")).collect();
    for short in &shorts {
        fixture.cloud.boot(&fixture.name(short));
        fixture.register(short, "ready:Unknown").await;
    }
    fixture
        .cloud
        .inject(Fault::fail(Failure::Blind).operation(Operation::Describe));
    let registry = prometheus::Registry::new();
    let confirm = Duration::from_millis(1500);
    let limits = Limits {
        confirm,
        ..Limits::default()
    };
    let metrics = Metrics::register(&registry).unwrap();
    let ctx = Context {
        metrics,
        ..context(&fixture, Options { limits, ..options() })
    };
    fixture.start(|cancel| run(ctx, cancel));

    let event = fixture.until_event("DeletionHeld").await;
    assert_eq!(event.kind, Kind::Warning);
    assert!(
        event.message.contains("10 of 10 machines do not exist in the cloud"),
        "{}",
        event.message
    );
    some_passes(&fixture).await;
    assert_eq!(left(&fixture, &shorts).await, 10, "held");
    let gauge = |name: &str| {
        let families = registry.gather();
        let family = families.iter().find(|family| family.name() == name).unwrap();
        let metric = &family.get_metric()[0];
        metric.get_gauge().get_value() + metric.get_counter().get_value()
    };
    assert!((gauge("node_lifecycle_controller_held_deletions") - 10.0).abs() < 0.1);

    wait::until("the confirmation", || async {
        let left = left(&fixture, &shorts).await;
        if left == 5 {
            Ok(())
        } else {
            Err(format!("{left} nodes are left"))
        }
    })
    .await;
    some_passes(&fixture).await;
    assert_eq!(
        left(&fixture, &shorts).await,
        5,
        "half of a small cluster at most in a window"
    );
    assert!((gauge("node_lifecycle_controller_deleted_nodes_total") - 5.0).abs() < 0.1);
    fixture.finish().await;
}

#[tokio::test]
async fn failing_calls_delete_nothing() {
    let mut fixture = Fixture::new();
    fixture.register("a", "ready:False").await;
    let unavailable = fixture
        .cloud
        .inject(Fault::fail(Failure::Unavailable("down".into())).operation(Operation::Describe));
    let ctx = context(
        &fixture,
        Options {
            deadline: Duration::from_millis(100),
            ..options()
        },
    );
    let pulse = ctx.pulse.clone();
    fixture.start(|cancel| run(ctx, cancel));
    some_passes(&fixture).await;
    Fixture::until_failing(&pulse, "down").await;
    let hang = fixture.cloud.inject(Fault::hang().operation(Operation::Describe));
    fixture.cloud.withdraw(unavailable);
    some_passes(&fixture).await;
    fixture.get("a").await;
    assert_eq!((fixture.requests.all(), fixture.events()), (vec![], vec![]));

    fixture.cloud.withdraw(hang);
    until_gone(&fixture, "a").await;
    fixture.finish().await;
}

#[tokio::test]
async fn a_node_of_the_same_name_is_not_the_same_node() {
    let mut fixture = Fixture::new();
    let old = fixture.register("a", "ready:False").await;
    fixture.delete("a").await;
    let new = fixture.register("a", "ready:False").await;
    let nodes = Store::of([old.clone()]);
    let mut reconciler = Reconciler::new(Context {
        nodes: nodes.clone(),
        ..context(&fixture, options())
    });

    reconciler.reconcile().await.unwrap();
    let event = fixture.until_event("DeletingNodeFailed").await;
    assert_eq!(event.kind, Kind::Warning);
    assert_eq!(event.regarding, nodes::reference(&old));
    assert_eq!(fixture.get("a").await, new, "the new node was touched");

    nodes.insert(new);
    reconciler.reconcile().await.unwrap();
    until_gone(&fixture, "a").await;
    fixture.finish().await;
}

#[tokio::test]
async fn a_node_that_becomes_ready_during_the_call_is_kept() {
    let mut fixture = Fixture::new();
    fixture.register("a", "ready:False").await;
    let hang = fixture.cloud.inject(Fault::hang().operation(Operation::Describe));
    start(&mut fixture, options());
    fixture.cloud.until(|cloud| cloud.count(Operation::Describe) > 0).await;
    let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
    fixture
        .api
        .patch_status(&fixture.name("a"), &PatchParams::default(), &Patch::Strategic(&ready))
        .await
        .unwrap();
    wait::until("the watch", || async {
        let cached = fixture.informer.store().find(&fixture.name("a")).unwrap();
        plan::is_ready(&cached).then_some(()).ok_or("not ready")
    })
    .await;
    fixture.cloud.withdraw(hang);
    fixture.stop().await;
    fixture.get("a").await;
    assert_eq!(fixture.events(), Vec::<&str>::new());
    fixture.finish().await;
}

#[tokio::test]
async fn nothing_is_deleted_while_the_watch_fails() {
    let fixture = Fixture::new();
    let mut nowhere = lab::ControlPlane::shared().config();
    nowhere.cluster_url = "https://127.0.0.1:1".parse().unwrap();
    let api = kube::Api::all(kube::Client::try_from(nowhere).unwrap());
    let informer = Informer::new(api, watcher::Config::default(), nodes::trim);
    let nodes = informer.store();
    tokio::select! {
        () = informer.run(CancellationToken::new()) => {}
        () = wait::until("the watch to fail", || async { match nodes.state() {
            State::Failing(_) => Ok(()),
            other => Err(format!("{other:?}")),
        } }) => {}
    }
    nodes.insert(testkit::node::node("a", "ready:False"));
    let result = Reconciler::new(Context {
        nodes,
        ..context(&fixture, options())
    })
    .reconcile()
    .await;
    assert!(result.is_err_and(|failed| failed.0.contains("refused")));
    assert_eq!(fixture.cloud.count(Operation::Describe), 0);
    fixture.finish().await;
}

#[tokio::test]
async fn all_nodes_that_are_not_ready_are_one_call() {
    let fixture = Fixture::new();
    for index in 0..300 {
        fixture.cloud.boot(&index.to_string());
        fixture
            .informer
            .store()
            .insert(testkit::node::node(&index.to_string(), "ready:Unknown"));
    }
    Reconciler::new(context(&fixture, options())).reconcile().await.unwrap();
    let asked: Vec<_> = fixture
        .cloud
        .calls_of(Operation::Describe)
        .iter()
        .map(|call| call.names.len())
        .collect();
    assert_eq!(asked, [300]);
    fixture.finish().await;
}

/// A restart would begin the pass from the start.
#[rstest]
#[case::slow(Fault::delay(Duration::from_secs(40)), Duration::from_mins(1), false)]
#[case::hanging(Fault::hang(), Duration::from_mins(1), false)]
#[case::without_a_deadline(Fault::hang(), Duration::from_hours(1), true)]
#[tokio::test(start_paused = true)]
async fn a_long_pass_is_stuck_only_without_progress(
    #[case] fault: Fault,
    #[case] deadline: Duration,
    #[case] stuck: bool,
) {
    let fixture = Fixture::new();
    fixture.cloud.inject(fault.operation(Operation::Describe));
    let names: Vec<String> = (0..20).map(|index| index.to_string()).collect();
    for name in &names {
        fixture.cloud.boot(name);
    }
    let one_at_a_time = options().syncs(NonZeroUsize::MIN);
    let options = Options {
        deadline,
        ..one_at_a_time
    };
    let ctx = Context {
        nodes: Store::of(names.iter().map(|name| testkit::node::node(name, "ready:Unknown"))),
        ..context(&fixture, options)
    };
    let pulse = ctx.pulse.clone();
    assert_eq!(gets_stuck(run(ctx, CancellationToken::new()), &pulse).await, stuck);
}

#[tokio::test(start_paused = true)]
async fn the_wait_for_the_first_list_is_not_stuck() {
    let fixture = Fixture::new();
    let ctx = context(&fixture, options());
    let pulse = ctx.pulse.clone();
    assert!(!gets_stuck(run(ctx, CancellationToken::new()), &pulse).await);
}
