//! Objects that are not desired any more are deleted, in the safe order, if they are ours.

use crate::world::{World, assert_all, keys, outcomes, with};
use operator::{
    Key, Lookup, Object,
    operands::{Engine, Outcome, Reader, Report, Uncached, kinds},
};
use rstest::rstest;
use serde_json::json;
use std::time::Duration;

fn plurals(writes: &[String]) -> Vec<&str> {
    writes.iter().map(|write| write.split('/').next().unwrap()).collect()
}

/// The same object with another name.
fn renamed(object: &Object, suffix: &str) -> Object {
    let mut value = object.value().clone();
    value["metadata"]["name"] = json!(format!("{}{suffix}", object.key().name));
    Object::new(value).unwrap()
}

// Operator.md W18: with one machine instead of two, the budget is deleted.
#[tokio::test]
async fn w18_an_unwanted_budget_is_deleted() {
    let world = World::new("single").await;
    let (engine, all) = (
        world.engine(),
        vec![world.of("Deployment"), world.of("PodDisruptionBudget")],
    );
    let inventory = engine.converge(all.clone(), &[], &Uncached).await.inventory();
    let report = engine.converge(all[..1].to_vec(), &inventory, &Uncached).await;
    assert_eq!(outcomes(&report), ["kept Deployment", "pruned PodDisruptionBudget"]);
    assert_eq!(report.inventory(), keys(&all[..1]));
    assert_eq!(world.find(all[1].key()).await, None);
    assert_eq!(
        report.events().map(|event| event.reason).collect::<Vec<_>>(),
        ["ResourceDeleteSuccess"]
    );
    // With an inventory that is out of date, as after a crash.
    let again = engine.converge(all[..1].to_vec(), &inventory, &Uncached).await;
    assert_eq!(outcomes(&again), ["gone PodDisruptionBudget", "kept Deployment"]);
    assert_eq!(again.events().count(), 0);
}

// Operator.md W18: another platform.
#[tokio::test]
async fn w18_a_switch_stops_the_old_workload_before_the_new_one_starts() {
    let world = World::new("switch").await;
    let kinds = [
        "Deployment",
        "Service",
        "ClusterRole",
        "ClusterRoleBinding",
        "PodDisruptionBudget",
    ];
    let old: Vec<_> = kinds.iter().map(|kind| renamed(&world.of(kind), "-old")).collect();
    let new: Vec<_> = kinds.iter().map(|kind| renamed(&world.of(kind), "-new")).collect();
    let inventory = world.engine().converge(old.clone(), &[], &Uncached).await.inventory();
    let before = world.writes().len();

    let report = world.engine().converge(new.clone(), &inventory, &Uncached).await;
    let outcome = |object: &Object| report.outcome(object.key()).cloned().unwrap();
    let waits = Outcome::Pending(format!("waits for {}", old[0].key()));
    assert_eq!(outcome(&old[0]), Outcome::Pending("its Pods still exist".into()));
    assert_eq!(outcome(&new[0]), waits);
    for object in &old[1..] {
        assert_eq!(outcome(object), waits, "{}", object.key());
    }
    for object in &new[1..] {
        assert_eq!(outcome(object), Outcome::Created, "{}", object.key());
    }
    // With a process that was killed in between.
    world.collect(old[0].key()).await;
    let report = world
        .engine()
        .converge(new.clone(), &report.inventory(), &Uncached)
        .await;
    assert!(report.is_complete(), "{:?}", outcomes(&report));
    let writes = world.writes().split_off(before);
    let place = |write: String| {
        writes
            .iter()
            .position(|other| *other == write)
            .unwrap_or_else(|| panic!("{write}: {writes:#?}"))
    };
    let name = &world.namespace;
    let stop = place(format!("delete deployments/{name}-old"));
    let start = place(format!("patch deployments/{name}-new"));
    assert!(place(format!("patch clusterrolebindings/{name}-new")) < stop);
    assert!(stop < start && start < place(format!("delete services/{name}-old")));
    assert!(place(format!("delete clusterrolebindings/{name}-old")) < place(format!("delete clusterroles/{name}-old")));
    for object in &old {
        assert_eq!(world.find(object.key()).await, None, "{}", object.key());
    }
}

#[tokio::test]
async fn only_what_is_ours_and_of_our_kinds_is_pruned() {
    let world = World::new("mine").await;
    world.create(world.of("ConfigMap"), "kubectl-create").await;
    let other = |api_version: &str, kind: &str| Key {
        api_version: api_version.into(),
        kind: kind.into(),
        namespace: None,
        name: world.namespace.clone(),
    };
    let namespace = world.namespace().key().clone();
    world.converge(&[world.namespace()]).await;
    let writes = world.writes();
    let inventory = [
        namespace.clone(),
        other("config.openshift.io/v1", "ClusterOperator"),
        world.of("ConfigMap").key().clone(),
    ];
    let report = world.engine().converge(vec![], &inventory, &Uncached).await;
    let expected = [
        "left: it was not made by the operator ConfigMap",
        "left: namespaces are never deleted Namespace",
    ];
    assert_eq!(outcomes(&report), expected);
    assert_eq!(world.writes(), writes);
    assert!(report.is_complete());
}

/// An object of the same name that a user has created since is not ours, although it is in the inventory.
#[tokio::test]
async fn an_object_with_the_same_name_is_kept() {
    let world = World::new("namesake").await;
    let config_map = world.of("ConfigMap");
    world.converge(std::slice::from_ref(&config_map)).await;
    world.delete(config_map.key()).await;
    world.create(config_map.clone(), "kubectl-create").await;
    let report = world
        .engine()
        .converge(vec![], &keys(std::slice::from_ref(&config_map)), &Uncached)
        .await;
    assert_eq!(outcomes(&report), ["left: it was not made by the operator ConfigMap"]);
}

/// Two operators with one field manager: objects of a controller are changed and deleted only for that controller.
#[tokio::test]
async fn objects_of_another_controller_are_kept() {
    let world = World::new("owned").await;
    let nobodys = world.of("ConfigMap");
    let owner = |name: &str| json!([{ "apiVersion": "example.com/v1", "kind": "Owner", "name": name, "uid": name, "controller": true }]);
    let owned = with(&nobodys, "/metadata/ownerReferences", owner("a"));
    let inventory = keys(std::slice::from_ref(&owned));
    let theirs = || world.engine().owned_by("Owner");
    let made = theirs().converge(vec![owned.clone()], &[], &Uncached).await;
    assert_all(&made, &Outcome::Created);
    let writes = world.writes();

    let others = with(&nobodys, "/metadata/ownerReferences", owner("b"));
    for wanted in [with(&nobodys, "/data", json!({ "a": "b" })), others] {
        let report = world.converge(std::slice::from_ref(&wanted)).await;
        let failures: Vec<_> = report.failures().map(ToString::to_string).collect();
        let expected = format!(
            "cannot update {}: it belongs to Owner a, so it is left alone: delete that, or give it another name",
            nobodys.key()
        );
        assert_eq!(failures, [expected.as_str()]);
        let preview = world.engine().preview(&[wanted], &[]).await;
        assert_eq!((preview.text.as_str(), preview.failures[0].to_string()), ("", expected));
    }
    let report = world.engine().remove_all(&inventory, &Uncached).await;
    assert_eq!(outcomes(&report), ["left: it is owned by another object ConfigMap"]);
    assert_eq!(world.engine().preview(&[], &inventory).await.text, "");
    assert_eq!(world.writes(), writes);

    let report = theirs().remove_all(&inventory, &Uncached).await;
    assert_all(&report, &Outcome::Pruned);
    // And the other way round.
    world.converge(std::slice::from_ref(&nobodys)).await;
    let report = theirs().remove_all(&inventory, &Uncached).await;
    assert_eq!(outcomes(&report), ["left: it is owned by another object ConfigMap"]);
}

// What workloads need is deleted only after their Pods have ended.
#[tokio::test]
async fn removal_is_in_the_safe_order() {
    let world = World::new("remove").await;
    let everything: Vec<_> = world
        .everything()
        .into_iter()
        .filter(|object| object.key().kind != "Namespace")
        .collect();
    let mut inventory = world.converge(&everything).await.inventory();
    inventory.push(world.namespace().key().clone());
    let before = world.writes().len();

    let report = world.engine().remove_all(&inventory, &Uncached).await;
    assert!(!report.is_complete());
    let deployment = world.of("Deployment").key().clone();
    assert_eq!(
        report.outcome(&deployment),
        Some(&Outcome::Pending("its Pods still exist".into()))
    );
    let account = report.outcome(world.of("ServiceAccount").key()).cloned();
    assert_eq!(
        account,
        Some(Outcome::Pending(format!("waits for {}", world.of("DaemonSet").key())))
    );
    assert_eq!(report.inventory().len(), inventory.len());
    assert_eq!(world.writes().len() - before, 2, "only the workloads");

    world.collect(&deployment).await;
    world.collect(world.of("DaemonSet").key()).await;
    // With a process that was killed in between.
    let report = world.engine().remove_all(&inventory, &Uncached).await;
    assert!(report.is_complete(), "{:?}", outcomes(&report));
    for object in &everything {
        assert_eq!(world.find(object.key()).await, None, "{}", object.key());
    }
    let writes = world.writes().split_off(before);
    let rank = |plural: &&str| {
        let plural = plural.trim_start_matches("delete ");
        kinds::KINDS.iter().find(|kind| kind.plural == plural).unwrap().rank
    };
    let ranks: Vec<_> = plurals(&writes).iter().map(rank).collect();
    assert!(ranks.is_sorted_by(|earlier, later| earlier >= later), "{writes:#?}");
    assert_eq!(writes.len(), everything.len());
    assert!(world.find(world.namespace().key()).await.is_some());

    let report = world.engine().remove_all(&report.inventory(), &Uncached).await;
    assert_eq!(report.outcomes().count(), 0);
}

/// It is ready in the same call if the Pods are deleted quickly.
#[tokio::test]
async fn removal_waits_a_while_for_pods() {
    let world = World::new("quick").await;
    let all = [world.of("Deployment"), world.of("Role")];
    world.converge(&all).await;
    let engine = world.engine().patience(std::time::Duration::from_secs(20));
    let keys = keys(&all);
    let collector = async {
        while world.get(all[0].key()).await["metadata"]
            .get("deletionTimestamp")
            .is_none()
        {
            tokio::task::yield_now().await;
        }
        world.collect(all[0].key()).await;
    };
    let (report, ()) = tokio::join!(engine.remove_all(&keys, &Uncached), collector);
    assert_all(&report, &Outcome::Pruned);
}

#[tokio::test]
async fn a_desired_object_waits_for_its_deletion() {
    let world = World::new("back").await;
    let deployment = vec![world.of("Deployment")];
    let inventory = world.converge(&deployment).await.inventory();
    world.engine().converge(vec![], &inventory, &Uncached).await;
    let report = world.converge(&deployment).await;
    let waits = "the old one still exists: its Pods still exist";
    assert_all(&report, &Outcome::Pending(waits.into()));
    world.collect(deployment[0].key()).await;
    assert_all(&world.converge(&deployment).await, &Outcome::Created);
}

/// Objects that workloads need are kept as long as it is not known whether the workloads still exist.
#[tokio::test]
async fn removal_stops_at_workloads_that_cannot_be_removed() {
    let world = World::new("stuck").await;
    let all = [world.of("Deployment"), world.of("Role")];
    world.converge(&all).await;
    let dead = Engine::new(world.mortal(0));
    let report = dead.remove_all(&keys(&all), &Uncached).await;
    assert_eq!(report.failures().count(), 1);
    let waits = Outcome::Pending(format!("waits for {}", all[0].key()));
    assert_eq!(report.outcome(all[1].key()), Some(&waits));
    assert_eq!(report.inventory().len(), 2);
}

/// There is no request for objects that are known to be deleted.
#[tokio::test]
async fn known_deletions_cost_no_request() {
    struct Nothing;
    impl Reader for Nothing {
        fn find(&self, _: &Key) -> Lookup {
            Lookup::Absent
        }
    }
    let world = World::new("absent").await;
    let dead = Engine::new(world.mortal(0));
    let inventory = keys(&world.everything());
    assert_all(&dead.converge(vec![], &inventory, &Nothing).await, &Outcome::Gone);
    assert_all(&dead.remove_all(&inventory, &Nothing).await, &Outcome::Gone);
}

/// However long the Pods take, and in whichever run they are deleted: one event for each workload, and no other.
#[rstest]
#[case::by_itself(&[])]
#[case::while_something_is_waited_for(&["Service"])]
#[tokio::test]
async fn the_deletion_of_a_workload_is_reported_once(#[case] others: &[&str]) {
    let world = World::new("farewell").await;
    let engine = world.engine().patience(Duration::ZERO);
    let kinds = ["Deployment", "DaemonSet"].iter().chain(others);
    let all: Vec<_> = kinds.map(|kind| world.of(kind)).collect();
    let mut inventory = engine.converge(all.clone(), &[], &Uncached).await.inventory();
    let reasons = |report: &Report| -> Vec<String> {
        let reported = report
            .events()
            .map(|event| format!("{} {}", event.reason, event.key.kind));
        reported.collect()
    };
    for _ in 0..2 {
        let report = engine.remove_all(&inventory, &Uncached).await;
        assert_eq!(reasons(&report), [""; 0]);
        inventory = report.inventory();
    }
    world.collect(all[0].key()).await;
    let report = engine.remove_all(&inventory, &Uncached).await;
    assert_eq!(reasons(&report), ["ResourceDeleteSuccess Deployment"]);
    world.collect(all[1].key()).await;
    // Also with the previous inventory: the new one may not have been written.
    let mut reported = Vec::new();
    for _ in 0..2 {
        reported.extend(reasons(&engine.remove_all(&inventory, &Uncached).await));
    }
    reported.sort();
    let rest = ["DaemonSet"].iter().chain(others);
    let expected: Vec<_> = rest.map(|kind| format!("ResourceDeleteSuccess {kind}")).collect();
    assert_eq!(reported, expected);
}
