//! Other clients that write at the same time.

use super::*;

#[tokio::test]
async fn after_a_conflict_the_node_of_the_watch_is_used() {
    let fixture = Fixture::new();
    let cached = Arc::new(fixture.register("a", "tainted id:x").await);
    let faster = json!({ "spec": { "taints": [
        { "key": "faster", "effect": "NoSchedule" },
        { "key": taints::UNINITIALIZED, "effect": "NoSchedule" },
    ] } });
    let fresh = fixture
        .api
        .patch(&fixture.name("a"), &PatchParams::default(), &Patch::Merge(&faster))
        .await
        .unwrap();
    let store = Store::of([(*cached).clone()]);
    let writer = Writer::new(fixture.client.clone(), store.clone(), options().syncs);
    let plan = |node: &Node| plan::plan(node, &Ok(found("id:x")), rules());
    let refused = async {
        wait::until("the first patch", || async {
            if fixture.requests.all().is_empty() {
                Err("none yet")
            } else {
                Ok(())
            }
        })
        .await;
        store.insert(fresh);
    };
    let (outcome, ()) = tokio::join!(writer.write(cached, plan), refused);
    assert!(matches!(outcome, Ok(Outcome::Written(_))), "{outcome:?}");
    assert_eq!(summary(&fixture.get("a").await), "taint:faster id:x");
    assert_eq!(fixture.requests.all().len(), 2, "one refused, one accepted");
    fixture.finish().await;
}

#[tokio::test]
async fn a_node_that_is_replaced_during_the_call_is_described_again() {
    let mut fixture = Fixture::new();
    boot(&fixture, "a", "id:memory://old InternalIP=10.0.0.1");
    fixture.register("a", "tainted old=node").await;
    let hang = fixture.cloud.inject(Fault::hang().operation(Operation::Describe));
    start(&mut fixture, options());
    fixture.cloud.until(|cloud| cloud.count(Operation::Describe) > 0).await;
    fixture.delete("a").await;
    fixture.register("a", "tainted new=node").await;
    fixture.cloud.withdraw(hang);
    fixture.until_initialized().await;
    assert_eq!(
        summary(&fixture.get("a").await),
        "id:memory://old InternalIP=10.0.0.1 new=node"
    );
    fixture.until_event("Synced").await;
    assert_eq!(fixture.events(), Vec::<&str>::new(), "one node, one event");
    fixture.finish().await;
}

#[rstest]
#[case::by_the_status_patch("id:x InternalIP=10.0.0.1")]
#[case::by_the_node_patch("id:x")]
#[tokio::test]
async fn a_node_of_the_same_name_is_not_the_same_node(#[case] cloud: &str) {
    let fixture = Fixture::new();
    let old = Arc::new(fixture.register("a", "tainted").await);
    fixture.delete("a").await;
    let new = fixture.register("a", "tainted").await;
    let plan = |node: &Node| plan::plan(node, &Ok(found(cloud)), rules());

    let stale = Store::of([(*old).clone()]);
    let writer = Writer::new(fixture.client.clone(), stale.clone(), options().syncs);
    let outcome = writer.write(old.clone(), plan).await;
    assert!(matches!(outcome, Err(Error::Refused(_))), "{outcome:?}");

    stale.insert(new.clone());
    assert_eq!(writer.write(old.clone(), plan).await, Ok(Outcome::NotFound));
    assert_eq!(fixture.get("a").await, new, "the new node was touched");
    fixture.delete("a").await;
    assert_eq!(writer.write(old, plan).await, Ok(Outcome::NotFound));
    fixture.finish().await;
}

#[tokio::test]
async fn the_second_patch_builds_on_the_answer_to_the_first() {
    let fixture = Fixture::new();
    let cached = Arc::new(fixture.register("a", "tainted").await);
    let ahead = json!({ "metadata": { "labels": { "new": "label" } }, "spec": { "taints": [
        { "key": "first", "effect": "NoSchedule" },
        { "key": taints::UNINITIALIZED, "effect": "NoSchedule" },
    ] } });
    fixture
        .api
        .patch(&fixture.name("a"), &PatchParams::default(), &Patch::Merge(&ahead))
        .await
        .unwrap();

    let writer = Writer::new(fixture.client.clone(), Store::of([(*cached).clone()]), options().syncs);
    let plan = |node: &Node| plan::plan(node, &Ok(found("id:x InternalIP=10.0.0.1 new=cloud")), rules());
    let outcome = writer.write(cached, plan).await.unwrap();
    assert!(matches!(outcome, Outcome::Written(_)), "{outcome:?}");
    assert_eq!(
        summary(&fixture.get("a").await),
        "taint:first id:x InternalIP=10.0.0.1 new=label"
    );
    assert_eq!(fixture.requests.all().len(), 2);
    fixture.finish().await;
}

/// The cache is out of date: another client has initialized the Node, and its first taint is another one now.
#[rstest]
#[case::up_to_date("id:x", "")]
#[case::with_a_new_label("id:x new=cloud", "new=cloud")]
#[tokio::test]
async fn a_node_that_another_client_initialized_keeps_its_other_taints(#[case] cloud: &str, #[case] labels: &str) {
    let fixture = Fixture::new();
    let cached = Arc::new(fixture.register("a", "tainted taint:theirs id:x").await);
    let ahead = json!({ "spec": { "taints": [{ "key": "theirs", "effect": "NoSchedule" }] } });
    fixture
        .api
        .patch(&fixture.name("a"), &PatchParams::default(), &Patch::Merge(&ahead))
        .await
        .unwrap();

    let writer = Writer::new(fixture.client.clone(), Store::of([(*cached).clone()]), options().syncs);
    let cloud = format!("{cloud} InternalIP=10.0.0.1");
    let plan = |node: &Node| plan::plan(node, &Ok(found(&cloud)), rules());
    let outcome = writer.write(cached, plan).await.unwrap();
    let Outcome::Written(writes) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(writes.taints, [0; 0], "the taint was removed by another client");
    let expected = format!("taint:theirs id:x InternalIP=10.0.0.1 {labels}");
    assert_eq!(summary(&fixture.get("a").await), expected.trim_end());
    fixture.finish().await;
}

#[tokio::test]
async fn addresses_of_one_type_are_replaced_and_not_merged() {
    let fixture = Fixture::new();
    let node = Arc::new(
        fixture
            .register("a", "id:x InternalIP=10.0.0.1 InternalIP=10.0.0.2 ExternalIP=1.1.1.1")
            .await,
    );
    let writer = Writer::new(fixture.client.clone(), fixture.informer.store(), options().syncs);
    let plan = |node: &Node| plan::plan(node, &Ok(found("InternalIP=fc01::1 InternalIP=10.0.0.2")), rules());
    writer.write(node, plan).await.unwrap();
    let after = fixture.get("a").await;
    assert_eq!(summary(&after), "id:x InternalIP=fc01::1 InternalIP=10.0.0.2");
    assert_eq!(plan(&after), Plan::Keep);
    assert_eq!(addresses::of(&after).len(), 2);
    fixture.finish().await;
}

/// After a gap in the watch, a list has another Node with the name of one that failed.
#[rstest]
#[case::another_node("tainted uid:other", 0)]
#[case::the_same_node("tainted a=b", 1)]
#[tokio::test]
async fn the_failures_of_one_node_are_not_those_of_another_of_its_name(#[case] now: &str, #[case] failures: u32) {
    let fixture = Fixture::new();
    let reconciler = Reconciler::new(context(&fixture, options()));
    let key = "n".to_owned();
    reconciler.queue.add_rate_limited(key.clone());
    let (old, new) = (testkit::node::node("n", "tainted"), testkit::node::node("n", now));
    reconciler.handle(&Change::Updated {
        old: old.into(),
        new: new.into(),
    });
    assert_eq!(reconciler.queue.failures(&key), failures);
    assert_eq!(reconciler.queue.len(), 1, "it is queued once more");
    fixture.finish().await;
}

#[test]
fn only_relevant_changes_queue_a_node() {
    let differs =
        |a: &str, b: &str| crate::node::controller::differs(&testkit::node::node("n", a), &testkit::node::node("n", b));
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
