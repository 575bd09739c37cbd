//! Objects are created in order, with one write each, and are not written again.

use crate::world::{World, assert_all, content, keys, outcomes, with};
use operator::{
    Key, Lookup, Object,
    operands::{Outcome, Reader, Uncached, kinds},
};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

#[tokio::test]
async fn one_write_an_object_and_none_when_nothing_changed() {
    let world = World::new("install").await;
    let everything: Vec<_> = world
        .everything()
        .into_iter()
        .filter(|object| object.key().kind != "Namespace")
        .collect();

    let engine = world.engine();
    let report = engine.converge(everything.clone(), &[], &Uncached).await;
    assert_all(&report, &Outcome::Created);
    assert_eq!(report.inventory().len(), everything.len());
    let writes = world.writes();
    assert_eq!(writes.len(), everything.len(), "{writes:#?}");

    assert_all(
        &engine.converge(everything.clone(), &keys(&everything), &Uncached).await,
        &Outcome::Kept,
    );
    assert_all(&world.converge(&everything).await, &Outcome::Kept);
    assert_eq!(
        world.writes(),
        writes,
        "also a process that has just started writes nothing"
    );
}

// Operator.md W17: an object is created after the objects that it needs.
#[tokio::test]
async fn w17_dependencies_are_created_first() {
    let world = World::new("order").await;
    world.converge(&world.everything()).await;
    let rank = |write: &String| {
        let plural = write.split([' ', '/']).nth(1).unwrap();
        kinds::KINDS.iter().find(|kind| kind.plural == plural).unwrap().rank
    };
    let ranks: Vec<_> = world.writes().iter().map(rank).collect();
    assert!(ranks.is_sorted(), "{:#?}", world.writes());
}

#[tokio::test]
async fn an_update_is_one_write() {
    let world = World::new("update").await;
    world.converge(&world.everything()).await;
    let before = world.writes().len();

    let changed: Vec<_> = world
        .everything()
        .into_iter()
        .map(|object| match object.key().kind.as_str() {
            "Deployment" => with(
                &object,
                "/spec/template/metadata/annotations/operator.openshift.io~1config-hash",
                json!("1"),
            ),
            "ConfigMap" => with(&object, "/data/cloud.conf", json!("[Global]\nuse-clouds = true\n")),
            "Secret" => with(&object, "/stringData", json!({ "other": "key" })),
            "Service" => with(&object, "/metadata/annotations", json!({ "a": "b" })),
            _ => object,
        })
        .collect();
    let report = world.converge(&changed).await;
    let updated: Vec<_> = outcomes(&report)
        .into_iter()
        .filter(|outcome| outcome.starts_with("updated"))
        .collect();
    assert_eq!(
        updated,
        [
            "updated ConfigMap",
            "updated Deployment",
            "updated Secret",
            "updated Service"
        ]
    );
    // Reported also if only an object that is not the last one changed.
    assert!(report.has_changed());
    assert_eq!(world.writes().len() - before, 4);
    let secret = world.get(world.of("Secret").key()).await;
    assert_eq!(
        secret["data"],
        json!({ "other": "a2V5" }),
        "what is not wanted any more is gone"
    );
    assert_all(&world.converge(&changed).await, &Outcome::Kept);
    assert_eq!(world.writes().len() - before, 4);
}

/// A field, an item and a whole list that are not desired any more are removed, although only the server has recorded them.
#[tokio::test]
async fn undesired_fields_are_removed() {
    let world = World::new("shrink").await;
    let deployment = world.of("Deployment");
    let mut more = deployment.value().clone();
    more["spec"]["paused"] = json!(true);
    more["spec"]["template"]["spec"]["containers"][0]["env"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "name": "X", "value": "1" }));
    more["spec"]["template"]["spec"]["containers"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "name": "side", "image": "x" }));
    more["spec"]["template"]["spec"]["imagePullSecrets"] = json!([{ "name": "pull" }]);
    more["metadata"]["annotations"] = json!({ "old": "x" });
    world.converge(&[Object::new(more).unwrap()]).await;

    let report = world.converge(std::slice::from_ref(&deployment)).await;
    assert_all(&report, &Outcome::Updated);
    let other = World::new("shrink").await;
    other.converge(&[other.of("Deployment")]).await;
    let text = |live: &Value, name: &str| content(live).to_string().replace(name, "NAME");
    let (live, fresh) = (
        world.get(deployment.key()).await,
        other.get(other.of("Deployment").key()).await,
    );
    assert_eq!(text(&live, &world.namespace), text(&fresh, &other.namespace));
    assert_all(&world.converge(&[deployment]).await, &Outcome::Kept);
}

// A missing configuration does not cause a loop: an annotation that is added or removed is one write.
#[tokio::test]
async fn a_hash_that_vanishes_is_one_write() {
    let world = World::new("hash").await;
    let deployment = world.of("Deployment");
    world.converge(std::slice::from_ref(&deployment)).await;
    let without = with(&deployment, "/spec/template/metadata/annotations", Value::Null);
    assert_all(&world.converge(std::slice::from_ref(&without)).await, &Outcome::Updated);
    assert_all(&world.converge(&[without]).await, &Outcome::Kept);
    assert_eq!(world.writes().len(), 2);
}

/// Serves copies, as informers do, and counts how often they are read.
#[derive(Default)]
struct Copies(Mutex<HashMap<Key, Arc<Value>>>);

impl Reader for Copies {
    fn find(&self, key: &Key) -> Lookup {
        self.0
            .lock()
            .unwrap()
            .get(key)
            .map_or(Lookup::Absent, |live| Lookup::Found(live.clone()))
    }
}

impl Copies {
    async fn refresh(&self, world: &World) {
        for object in world.everything() {
            let key = object.key().clone();
            let live = world.find(&key).await;
            let mut copies = self.0.lock().unwrap();
            match live {
                Some(live) => drop(copies.insert(key, Arc::new(live))),
                None => drop(copies.remove(&key)),
            }
        }
    }
}

#[tokio::test]
async fn cached_copies_save_all_requests_and_late_ones_have_no_effect() {
    let world = World::new("copies").await;
    let (engine, copies, everything) = (world.engine(), Copies::default(), world.everything());
    copies.refresh(&world).await;
    engine.converge(everything.clone(), &[], &copies).await;
    let writes = world.writes();

    // The copies are still those from before the first run.
    let report = engine.converge(everything.clone(), &[], &copies).await;
    assert_all(&report, &Outcome::Kept);
    assert_eq!(world.writes(), writes);

    copies.refresh(&world).await;
    let dead = operator::operands::Engine::new(world.mortal(0));
    let report = dead.converge(everything.clone(), &keys(&everything), &copies).await;
    assert_all(&report, &Outcome::Kept);

    // Outdated in the other direction: one that was changed, and one that was deleted and is still in the copies.
    let config_map = world.of("ConfigMap");
    let changed = with(&config_map, "/data/cloud.conf", json!("new"));
    let late = &copies;
    assert_all(
        &engine.converge(vec![changed.clone()], &[], late).await,
        &Outcome::Updated,
    );
    assert_all(&engine.converge(vec![changed], &[], late).await, &Outcome::Kept);
    assert_eq!(world.writes().len(), writes.len() + 1);
}

#[tokio::test]
async fn duplicate_objects_are_refused_and_others_created() {
    let world = World::new("twice").await;
    let config_map = world.of("ConfigMap");
    let report = world
        .converge(&[config_map.clone(), world.of("Role"), config_map.clone()])
        .await;
    let expected = format!("cannot update {0}: it is asked for twice ConfigMap", config_map.key());
    assert_eq!(outcomes(&report), [expected, "created Role".to_owned()]);
    assert_eq!(world.find(config_map.key()).await, None);
}
