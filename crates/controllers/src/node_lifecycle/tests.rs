//! The controller on a real API server, with a memory cloud.

use super::*;
use crate::nodes::{
    self,
    rig::{Rig, gets_stuck, look},
    taints,
};
use cloud::Power;
use kube::{
    api::{Patch, PatchParams},
    runtime::watcher,
};
use memory::{Failure, Fault, Operation};
use rstest::rstest;
use runtime::{
    events::Kind,
    informer::{Informer, State},
};
use serde_json::json;
use testkit::wait;

/// Old enough from the start, and looked at often.
fn options() -> Options {
    Options {
        grace: Duration::ZERO,
        period: Duration::from_millis(50),
        ..Options::default()
    }
}

fn context(rig: &Rig, options: Options) -> Context {
    Context {
        client: rig.client.clone(),
        nodes: rig.informer.store(),
        provider: rig.provider.clone(),
        recorder: rig.recorder(COMPONENT),
        metrics: Metrics::register(&prometheus::Registry::new()).unwrap(),
        pulse: Pulse::default(),
        options,
    }
}

fn start(rig: &mut Rig, options: Options) {
    let ctx = context(rig, options);
    rig.start(|cancel| run(ctx, cancel));
}

/// Waits for some more looks at the cloud.
async fn some_looks(rig: &Rig) {
    let seen = rig.cloud.count(Operation::Describe);
    rig.cloud
        .until(|cloud| cloud.count(Operation::Describe) > seen + 3)
        .await;
}

async fn until_gone(rig: &Rig, short: &str) {
    wait::until("the node to go", || async {
        let node = rig.api.get_opt(&rig.name(short)).await.unwrap();
        node.map_or(Ok(()), |node| Err(look(&node)))
    })
    .await;
}

async fn left(rig: &Rig, shorts: &[String]) -> usize {
    let gets = shorts
        .iter()
        .map(|short| async { rig.api.get_opt(&rig.name(short)).await.unwrap().is_some() });
    futures::future::join_all(gets)
        .await
        .into_iter()
        .filter(|there| *there)
        .count()
}

#[tokio::test]
async fn a_node_whose_machine_is_gone_goes_and_the_others_stay() {
    let mut rig = Rig::new();
    rig.register("gone", "ready:False").await;
    rig.register("ready", "ready:True").await;
    rig.register("there", "ready:Unknown").await;
    rig.cloud.boot(&rig.name("there"));
    let gone = rig.get("gone").await;
    start(&mut rig, options());
    let event = rig.until_event("DeletingNode").await;
    until_gone(&rig, "gone").await;
    let name = rig.name("gone");
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

    some_looks(&rig).await;
    for short in ["ready", "there"] {
        rig.get(short).await;
    }
    assert_eq!(rig.requests.all(), [format!("DELETE /api/v1/nodes/{name}")]);
    for call in rig.cloud.calls_of(Operation::Describe) {
        assert!(
            !call.names.contains(&rig.name("ready")),
            "the cloud was asked about a node that is ready"
        );
    }
    rig.finish().await;
}

#[tokio::test]
async fn a_machine_that_is_shut_down_taints_its_node_until_it_is_ready_again() {
    let mut rig = Rig::new();
    for short in ["first", "further"] {
        rig.cloud.boot(&rig.name(short));
        rig.cloud.set_power(&rig.name(short), Power::Off).unwrap();
    }
    rig.register("first", "ready:False").await;
    rig.register("further", "ready:False taint:other").await;
    start(&mut rig, options());
    let tainted = |node: &Node| taints::contains(taints::of(node), &taints::shutdown());
    for short in ["first", "further"] {
        rig.until(short, "the taint", tainted).await;
    }
    some_looks(&rig).await;
    assert_eq!(
        rig.requests.all().len(),
        2,
        "one patch each, and no reads: {:?}",
        rig.requests.all()
    );

    for short in ["first", "further"] {
        let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
        rig.api
            .patch_status(&rig.name(short), &PatchParams::default(), &Patch::Strategic(&ready))
            .await
            .unwrap();
        rig.until(short, "the taint to go", |node| !tainted(node)).await;
    }
    assert_eq!(look(&rig.get("further").await), "taint:other");
    assert_eq!(rig.requests.all().len(), 4);
    rig.finish().await;
}

#[tokio::test]
async fn a_cloud_that_forgets_everything_deletes_nothing_at_first_and_little_at_a_time() {
    let mut rig = Rig::new();
    let shorts: Vec<String> = (0..10).map(|index| format!("n{index}")).collect();
    for short in &shorts {
        rig.cloud.boot(&rig.name(short));
        rig.register(short, "ready:Unknown").await;
    }
    rig.cloud
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
        ..context(&rig, Options { limits, ..options() })
    };
    rig.start(|cancel| run(ctx, cancel));

    let event = rig.until_event("DeletionHeld").await;
    assert_eq!(event.kind, Kind::Warning);
    assert!(
        event.message.contains("10 of 10 machines are gone"),
        "{}",
        event.message
    );
    some_looks(&rig).await;
    assert_eq!(left(&rig, &shorts).await, 10, "doubted");
    let gauge = |name: &str| {
        let families = registry.gather();
        let family = families.iter().find(|family| family.name() == name).unwrap();
        let metric = &family.get_metric()[0];
        metric.get_gauge().get_value() + metric.get_counter().get_value()
    };
    assert!((gauge("node_lifecycle_controller_held_deletions") - 10.0).abs() < 0.1);

    wait::until("the cloud to be believed", || async {
        let left = left(&rig, &shorts).await;
        if left == 5 {
            Ok(())
        } else {
            Err(format!("{left} nodes are left"))
        }
    })
    .await;
    some_looks(&rig).await;
    assert_eq!(
        left(&rig, &shorts).await,
        5,
        "half of a small cluster at most in a window"
    );
    assert!((gauge("node_lifecycle_controller_deleted_nodes_total") - 5.0).abs() < 0.1);
    rig.finish().await;
}

#[tokio::test]
async fn doubt_deletes_nothing() {
    let mut rig = Rig::new();
    rig.register("a", "ready:False").await;
    let unavailable = rig
        .cloud
        .inject(Fault::fail(Failure::Unavailable("down".into())).operation(Operation::Describe));
    let ctx = context(
        &rig,
        Options {
            deadline: Duration::from_millis(100),
            ..options()
        },
    );
    let pulse = ctx.pulse.clone();
    rig.start(|cancel| run(ctx, cancel));
    some_looks(&rig).await;
    wait::until("a bad pulse", || async {
        match pulse.failing(Duration::ZERO) {
            Err(reason) if reason.contains("down") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    let hang = rig.cloud.inject(Fault::hang().operation(Operation::Describe));
    rig.cloud.withdraw(unavailable);
    some_looks(&rig).await;
    rig.get("a").await;
    assert_eq!((rig.requests.all(), rig.events()), (vec![], vec![]));

    rig.cloud.withdraw(hang);
    until_gone(&rig, "a").await;
    rig.finish().await;
}

#[tokio::test]
async fn a_young_node_is_not_deleted() {
    let mut rig = Rig::new();
    rig.register("a", "ready:False").await;
    start(
        &mut rig,
        Options {
            grace: Duration::from_hours(1),
            ..options()
        },
    );
    some_looks(&rig).await;
    rig.get("a").await;
    rig.finish().await;
}

#[tokio::test]
async fn a_node_of_the_same_name_is_not_the_same_node() {
    let mut rig = Rig::new();
    let old = rig.register("a", "ready:False").await;
    rig.delete("a").await;
    let new = rig.register("a", "ready:False").await;
    let nodes = Store::of([old.clone()]);
    let mut controller = Controller::new(Context {
        nodes: nodes.clone(),
        ..context(&rig, options())
    });

    controller.look().await.unwrap();
    let event = rig.until_event("DeletingNodeFailed").await;
    assert_eq!(event.kind, Kind::Warning);
    assert_eq!(event.regarding, nodes::reference(&old));
    assert_eq!(rig.get("a").await, new, "the new node was touched");

    nodes.insert(new);
    controller.look().await.unwrap();
    until_gone(&rig, "a").await;
    rig.finish().await;
}

#[tokio::test]
async fn a_kubelet_that_comes_back_while_the_cloud_is_asked_is_believed() {
    let mut rig = Rig::new();
    rig.register("a", "ready:False").await;
    let hang = rig.cloud.inject(Fault::hang().operation(Operation::Describe));
    start(&mut rig, options());
    rig.cloud.until(|cloud| cloud.count(Operation::Describe) > 0).await;
    let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
    rig.api
        .patch_status(&rig.name("a"), &PatchParams::default(), &Patch::Strategic(&ready))
        .await
        .unwrap();
    wait::until("the watch to say so", || async {
        let cached = rig.informer.store().find(&rig.name("a")).unwrap();
        if decide::is_in_question(&cached) {
            Err("still not ready")
        } else {
            Ok(())
        }
    })
    .await;
    rig.cloud.withdraw(hang);
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
    rig.get("a").await;
    assert_eq!(rig.events(), Vec::<&str>::new());
    rig.finish().await;
}

#[tokio::test]
async fn nothing_is_decided_on_a_cache_that_is_not_kept_up() {
    let rig = Rig::new();
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
    let looked = Controller::new(Context {
        nodes,
        ..context(&rig, options())
    })
    .look()
    .await;
    assert!(looked.is_err_and(|reason| reason.contains("refused")));
    assert_eq!(rig.cloud.count(Operation::Describe), 0);
    rig.finish().await;
}

#[tokio::test]
async fn all_nodes_that_are_not_ready_are_one_question() {
    let rig = Rig::new();
    for index in 0..300 {
        rig.cloud.boot(&index.to_string());
        rig.informer
            .store()
            .insert(testkit::node::node(&index.to_string(), "ready:Unknown"));
    }
    Controller::new(context(&rig, options())).look().await.unwrap();
    let asked: Vec<_> = rig
        .cloud
        .calls_of(Operation::Describe)
        .iter()
        .map(|call| call.names.len())
        .collect();
    assert_eq!(asked, [300]);
    rig.finish().await;
}

/// A restart would begin the look anew.
#[rstest]
#[case::slow(Fault::delay(Duration::from_secs(40)), Duration::from_mins(1), false)]
#[case::hanging(Fault::hang(), Duration::from_mins(1), false)]
#[case::never_given_up(Fault::hang(), Duration::from_hours(1), true)]
#[tokio::test(start_paused = true)]
async fn a_long_look_at_all_nodes_is_stuck_only_if_it_does_not_move(
    #[case] fault: Fault,
    #[case] deadline: Duration,
    #[case] stuck: bool,
) {
    let rig = Rig::new();
    rig.cloud.inject(fault.operation(Operation::Describe));
    let names: Vec<String> = (0..20).map(|index| index.to_string()).collect();
    for name in &names {
        rig.cloud.boot(name);
    }
    let one_at_a_time = options().syncs(NonZeroUsize::MIN);
    let options = Options {
        deadline,
        ..one_at_a_time
    };
    let ctx = Context {
        nodes: Store::of(names.iter().map(|name| testkit::node::node(name, "ready:Unknown"))),
        ..context(&rig, options)
    };
    let pulse = ctx.pulse.clone();
    assert_eq!(gets_stuck(run(ctx, CancellationToken::new()), &pulse).await, stuck);
}

#[tokio::test(start_paused = true)]
async fn to_wait_for_the_first_list_of_nodes_is_not_to_be_stuck() {
    let rig = Rig::new();
    let ctx = context(&rig, options());
    let pulse = ctx.pulse.clone();
    assert!(!gets_stuck(run(ctx, CancellationToken::new()), &pulse).await);
}
