//! All states of an object: a watch receives each of them, however busy the machine is.

use crate::fixture::{Fixture, condition};
use futures::StreamExt;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, ListParams, WatchEvent, WatchParams},
};
use serde_json::{Value, json};
use std::{
    pin::pin,
    sync::{Arc, Mutex},
};
use tokio::task::JoinHandle;

const TYPES: [&str; 4] = ["Available", "Progressing", "Degraded", "Upgradeable"];
/// The statuses that need a message.
const BAD: [&str; 4] = ["False", "True", "True", "False"];

/// Every state of an object since the beginning.
pub struct History {
    path: String,
    seen: Arc<Mutex<Vec<Value>>>,
    watch: JoinHandle<()>,
}

/// A state: its conditions as `True reason message`, and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Available, progressing, degraded, upgradeable.
    pub conditions: [String; 4],
    /// Empty before the first roll-out.
    pub version: String,
}

impl History {
    /// Begins now; the object may not exist yet.
    pub async fn begin(fixture: &Fixture, resource: &ApiResource, name: &str) -> Self {
        let api: Api<DynamicObject> = Api::all_with(fixture.client.clone(), resource);
        let fields = format!("metadata.name={name}");
        let list = api.list(&ListParams::default().fields(&fields)).await.unwrap();
        let since = list.metadata.resource_version.unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let watch = tokio::spawn(follow(api, WatchParams::default().fields(&fields), since, seen.clone()));
        let ApiResource {
            api_version, plural, ..
        } = resource;
        Self {
            path: format!("/apis/{api_version}/{plural}/{name}"),
            seen,
            watch,
        }
    }

    /// The states since the last call, or the beginning. Each has a message for every failure and change.
    pub async fn states(&self, fixture: &Fixture) -> Vec<State> {
        let now = fixture.find(&self.path).await.unwrap();
        let version = &now["metadata"]["resourceVersion"];
        let look = async || {
            let seen = self.seen.lock().unwrap();
            let is_there = seen
                .iter()
                .any(|state| state["metadata"]["resourceVersion"] == *version);
            (is_there && !self.watch.is_finished())
                .then_some(())
                .ok_or_else(|| format!("{} states", seen.len()))
        };
        fixture.until("the history to be complete", look).await;
        let mut seen = self.seen.lock().unwrap();
        // The next call begins with the last one.
        let last = seen.last().cloned();
        let states: Vec<_> = seen.drain(..).map(|object| State::of(&object)).collect();
        seen.extend(last);
        drop(seen);
        for state in &states {
            state.assert_explained();
        }
        states
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

impl State {
    /// The state that an object reports.
    pub fn of(object: &Value) -> Self {
        let versions = object["status"]["versions"].as_array().into_iter().flatten();
        let mut ours = versions.filter(|each| each["name"] == "operator");
        let version = ours.next().and_then(|each| each["version"].as_str());
        Self {
            conditions: TYPES.map(|type_| condition(object, type_)),
            version: version.unwrap_or_default().to_owned(),
        }
    }

    /// Whether everything is healthy.
    pub fn is_well(&self) -> bool {
        let good = ["True", "False", "False", "True"];
        self.conditions
            .iter()
            .zip(good)
            .all(|(condition, good)| condition.starts_with(good))
    }

    fn assert_explained(&self) {
        for (type_, (condition, bad)) in TYPES.iter().zip(self.conditions.iter().zip(BAD)) {
            let words = condition.split_whitespace().count();
            assert!(
                !condition.starts_with(bad) || words > 2,
                "{type_} says nothing: {self:#?}"
            );
        }
    }
}

/// A watch ends every few minutes, and is resumed.
async fn follow(api: Api<DynamicObject>, params: WatchParams, mut since: String, seen: Arc<Mutex<Vec<Value>>>) {
    loop {
        let mut events = pin!(api.watch(&params, &since).await.unwrap());
        while let Some(event) = events.next().await {
            match event.unwrap() {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    since = object.metadata.resource_version.clone().unwrap();
                    seen.lock().unwrap().push(json!(object));
                }
                WatchEvent::Bookmark(bookmark) => since = bookmark.metadata.resource_version,
                WatchEvent::Deleted(_) => {}
                WatchEvent::Error(status) => panic!("{status:?}"),
            }
        }
    }
}

/// The version changes only when everything is rolled out.
pub fn assert_versions_after_the_roll_out(states: &[State]) {
    for pair in states.windows(2) {
        assert!(pair[0].version == pair[1].version || pair[1].is_well(), "{pair:#?}");
    }
}
