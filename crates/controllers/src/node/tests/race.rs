//! Others who write at the same time.

use super::*;

#[tokio::test]
async fn other_writers_cannot_keep_a_node_from_being_initialized() {
    let mut rig = Rig::new();
    for short in ["a", "b", "c", "d"] {
        rig.cloud.boot(&rig.name(short));
        rig.register(short, "tainted taint:other").await;
    }
    let hang = rig.cloud.inject(Fault::hang().operation(Operation::Describe));
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
    let hang = rig.cloud.inject(Fault::hang().operation(Operation::Describe));
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

/// What the cache still says is tainted has been initialised by somebody else: what comes first now is another's taint.
#[rstest]
#[case::as_the_cloud_says("id:x", "")]
#[case::with_a_label_to_come("id:x new=cloud", "new=cloud")]
#[tokio::test]
async fn a_node_that_somebody_else_initialized_keeps_its_other_taints(#[case] cloud: &str, #[case] labels: &str) {
    let rig = Rig::new();
    let cached = Arc::new(rig.register("a", "tainted taint:theirs id:x").await);
    let ahead = json!({ "spec": { "taints": [{ "key": "theirs", "effect": "NoSchedule" }] } });
    rig.api
        .patch(&rig.name("a"), &PatchParams::default(), &Patch::Merge(&ahead))
        .await
        .unwrap();

    let writer = Writer::new(rig.client.clone(), Store::of([(*cached).clone()]), options().syncs);
    let cloud = format!("{cloud} InternalIP=10.0.0.1");
    let decide = |node: &Node| plan::plan(node, &Ok(found(&cloud)), rules());
    let outcome = writer.carry_out(cached, decide).await.unwrap();
    let Outcome::Written(writes) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(writes.taints, [0; 0], "it is not ours to say that it is initialised");
    let expected = format!("taint:theirs id:x InternalIP=10.0.0.1 {labels}");
    assert_eq!(look(&rig.get("a").await), expected.trim_end());
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

/// A list after a gap in the watch shows another node under the name of one that was in trouble.
#[rstest]
#[case::another_node("tainted uid:other", 0)]
#[case::the_same_node("tainted a=b", 1)]
#[tokio::test]
async fn the_failures_of_one_node_are_not_those_of_another_of_its_name(#[case] now: &str, #[case] failures: u32) {
    let rig = Rig::new();
    let controller = Controller::new(context(&rig, options()));
    let key = "n".to_owned();
    controller.queue.add_rate_limited(key.clone());
    let (old, new) = (testkit::node::node("n", "tainted"), testkit::node::node("n", now));
    controller.hear(&Change::Updated {
        old: old.into(),
        new: new.into(),
    });
    assert_eq!(controller.queue.failures(&key), failures);
    assert_eq!(controller.queue.len(), 1, "it is looked at once more");
    rig.finish().await;
}

#[test]
fn only_a_change_that_matters_puts_a_node_back_into_the_queue() {
    let differs =
        |a: &str, b: &str| crate::node::sync::differs(&testkit::node::node("n", a), &testkit::node::node("n", b));
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
