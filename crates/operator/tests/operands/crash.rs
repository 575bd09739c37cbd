//! Killed after every single write of an upgrade, also one that recreates objects: the end is that of an undisturbed run. Other
//! changes of a cluster are tested with the operator as a process.

use crate::world::{World, content, keys, outcomes, with};
use operator::{
    Key, Object,
    operands::{Class, Engine, Report, Uncached},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

/// The kinds of a small installation.
fn install(world: &World) -> Vec<Object> {
    ["Deployment", "Service", "ConfigMap", "RoleBinding", "Role"]
        .map(|kind| world.of(kind))
        .to_vec()
}

/// One changed, one recreated, one deleted, one new.
fn upgrade(world: &World) -> Vec<Object> {
    let selected = with(
        &world.of("Deployment"),
        "/spec/selector/matchLabels/k8s-app",
        json!("new"),
    );
    vec![
        with(&selected, "/spec/template/metadata/labels/k8s-app", json!("new")),
        with(&world.of("ConfigMap"), "/data/cloud.conf", json!("new")),
        with(&world.of("RoleBinding"), "/roleRef/name", json!("other")),
        world.of("Role"),
        world.of("PodDisruptionBudget"),
    ]
}

async fn state(world: &World, of: &[Key]) -> BTreeMap<String, Value> {
    let mut state = BTreeMap::new();
    for key in of {
        if let Some(live) = world.find(key).await {
            let text = content(&live).to_string().replace(&world.namespace, "NAME");
            state.insert(key.kind.clone(), serde_json::from_str(&text).unwrap());
        }
    }
    state
}

/// The objects of both.
fn inventory(world: &World) -> Vec<Key> {
    let mut all = keys(&install(world));
    all.extend(keys(&upgrade(world)));
    all.sort();
    all.dedup();
    all
}

fn mortal(world: &World, writes: usize) -> Engine {
    Engine::new(world.mortal(writes)).patience(Duration::from_millis(50))
}

/// The Pods of workloads are deleted at some time.
async fn collect(world: &World) {
    let key = world.of("Deployment").key().clone();
    if world
        .find(&key)
        .await
        .is_some_and(|live| live["metadata"].get("deletionTimestamp").is_some())
    {
        world.collect(&key).await;
    }
}

/// Converges twice: the new Deployment waits for the Pods of the old one.
async fn upgraded(world: &World, engine: &Engine) -> Report {
    engine.converge(upgrade(world), &inventory(world), &Uncached).await;
    collect(world).await;
    engine.converge(upgrade(world), &inventory(world), &Uncached).await
}

#[tokio::test]
async fn during_an_upgrade() {
    let undisturbed = World::new("calm").await;
    undisturbed.converge(&install(&undisturbed)).await;
    let before = undisturbed.writes().len();
    upgraded(&undisturbed, &undisturbed.engine()).await;
    let expected = state(&undisturbed, &inventory(&undisturbed)).await;
    let total = undisturbed.writes().len() - before;
    assert_eq!(total, 7, "changed: 1, replaced: 2 × 2, new: 1, gone: 1");
    for writes in 0..=total {
        let world = World::new("killed").await;
        world.converge(&install(&world)).await;
        upgraded(&world, &mortal(&world, writes)).await;
        let report = upgraded(&world, &world.engine()).await;
        assert!(report.is_complete(), "{:?}", outcomes(&report));
        assert_eq!(
            state(&world, &inventory(&world)).await,
            expected,
            "killed after {writes} writes"
        );
        assert_eq!(world.writes().len() - before, total, "nothing is written twice");
    }
}

/// Two processes that both are the leader.
#[tokio::test]
async fn two_at_once_end_as_one() {
    let (world, undisturbed) = (World::new("two").await, World::new("calm").await);
    let (first, second) = (world.engine(), world.engine());
    let (one, other) = tokio::join!(
        first.converge(world.everything(), &[], &Uncached),
        second.converge(world.everything(), &[], &Uncached)
    );
    assert!(
        one.is_complete() && other.is_complete(),
        "{:?} {:?}",
        outcomes(&one),
        outcomes(&other)
    );
    undisturbed.converge(&undisturbed.everything()).await;
    let all = |world: &World| keys(&world.everything());
    assert_eq!(
        state(&world, &all(&world)).await,
        state(&undisturbed, &all(&undisturbed)).await
    );
    let writes = world.writes();
    world.converge(&world.everything()).await;
    assert_eq!(world.writes(), writes);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_restarts_in_the_middle() {
    let plane = lab::ControlPlane::start().unwrap();
    let world = World::on(&plane, "restart").await;
    let engine = world.engine();
    let stop = async {
        while world.writes().len() < 3 {
            tokio::task::yield_now().await;
        }
        tokio::task::block_in_place(|| plane.stop_apiserver());
    };
    let (report, ()) = tokio::join!(engine.converge(world.everything(), &[], &Uncached), stop);
    let failures: Vec<_> = report.failures().map(ToString::to_string).collect();
    assert!(
        report.failures().all(|failure| failure.class == Class::Transient),
        "{failures:#?}"
    );
    tokio::task::block_in_place(|| plane.start_apiserver()).unwrap();

    let report = engine.converge(world.everything(), &[], &Uncached).await;
    assert!(report.is_complete(), "{:?}", outcomes(&report));
    let writes = world.writes();
    world.converge(&world.everything()).await;
    assert_eq!(world.writes(), writes);
}
