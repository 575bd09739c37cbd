//! The objects of one watch.

use super::Resource;
use crate::{Key, Lookup, Unread};
use kube::{ResourceExt, api::DynamicObject, runtime::watcher};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::watch;

/// Whether a watch is up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    Starting,
    Synced,
    /// The API server does not know the kind.
    Unserved,
    Failing(String),
}

/// The objects that one watch has seen. Clones share them.
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    objects: RwLock<BTreeMap<Key, Arc<Value>>>,
    state: watch::Sender<State>,
    /// The highest resource version that the watch has received, of any object.
    newest: AtomicU64,
}

impl Default for Store {
    fn default() -> Self {
        Self(Arc::new(Inner {
            objects: RwLock::default(),
            state: watch::Sender::new(State::Starting),
            newest: AtomicU64::new(0),
        }))
    }
}

impl Store {
    pub(super) fn find(&self, key: &Key) -> Lookup {
        if let Some(found) = self.read().get(key) {
            return Lookup::Found(found.clone());
        }
        match &*self.0.state.borrow() {
            State::Synced | State::Unserved => Lookup::Absent,
            State::Starting => Lookup::Unknown("it has not been read yet".to_owned()),
            State::Failing(reason) => Lookup::Unknown(reason.clone()),
        }
    }

    /// All objects; or why they are not known.
    pub(super) fn all(&self) -> Result<Vec<Arc<Value>>, Unread> {
        match &*self.0.state.borrow() {
            State::Synced | State::Unserved => Ok(self.read().values().cloned().collect()),
            State::Starting => Err(Unread("they have not been read yet".to_owned())),
            State::Failing(reason) => Err(Unread(reason.clone())),
        }
    }

    /// Waits until the watch has listed the objects, or reported why it cannot.
    pub(super) async fn started(&self) {
        let mut state = self.0.state.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ = state.wait_for(|state| *state != State::Starting).await;
    }

    pub(super) fn is_different(&self, state: &State) -> bool {
        *self.0.state.borrow() != *state
    }

    pub(super) fn set(&self, state: State) {
        self.0.state.send_replace(state);
    }

    /// Stores an object that was not received from the watch, unless the watch has reported its deletion since.
    pub(super) fn saw(&self, key: &Key, value: &Arc<Value>) {
        let gone = self.read().get(key).is_none() && version(value) <= self.0.newest.load(Ordering::Relaxed);
        if !gone {
            self.put(key, Some(value.clone()));
        }
    }

    /// Stores or removes an object, unless the stored one is newer. Returns whether something changed.
    pub(super) fn put(&self, key: &Key, value: Option<Arc<Value>>) -> bool {
        let mut objects = self.write();
        match value {
            None => objects.remove(key).is_some(),
            Some(new) => {
                let known = objects.get(key).map_or(0, |known| version(known));
                let news = known == 0 || version(&new) > known;
                if news {
                    objects.insert(key.clone(), new);
                }
                news
            }
        }
    }

    /// Stores an event of the watch. Returns whether something changed.
    pub(super) fn apply(
        &self,
        resource: &Resource,
        event: watcher::Event<DynamicObject>,
        listing: &mut BTreeMap<Key, Arc<Value>>,
    ) -> bool {
        if let watcher::Event::Apply(object) | watcher::Event::InitApply(object) | watcher::Event::Delete(object) =
            &event
        {
            let seen = object.resource_version().and_then(|version| version.parse().ok());
            self.0.newest.fetch_max(seen.unwrap_or(0), Ordering::Relaxed);
        }
        match event {
            watcher::Event::Init => {
                listing.clear();
                false
            }
            watcher::Event::InitApply(object) => {
                let (key, value) = keyed(resource, object);
                listing.insert(key, value);
                false
            }
            watcher::Event::InitDone => {
                let before = std::mem::replace(&mut *self.write(), std::mem::take(listing));
                let news = before != *self.read() || self.is_different(&State::Synced);
                self.set(State::Synced);
                news
            }
            watcher::Event::Apply(object) => {
                let (key, value) = keyed(resource, object);
                self.set(State::Synced);
                self.put(&key, Some(value))
            }
            watcher::Event::Delete(object) => {
                let (key, value) = keyed(resource, object);
                let known = self.read().get(&key).map_or(0, |known| version(known));
                known <= version(&value) && self.put(&key, None)
            }
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<Key, Arc<Value>>> {
        self.0.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<Key, Arc<Value>>> {
        self.0.objects.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn keyed(resource: &Resource, object: DynamicObject) -> (Key, Arc<Value>) {
    let key = Key {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
        namespace: object.namespace(),
        name: object.name_any(),
    };
    let mut value = serde_json::to_value(object).unwrap_or_default();
    // Items of a list have no apiVersion and kind.
    value["apiVersion"] = resource.api_version.clone().into();
    value["kind"] = resource.kind.clone().into();
    (key, Arc::new(value))
}

/// Resource versions grow; 0 is no version.
fn version(value: &Value) -> u64 {
    let version = value.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    version.and_then(|version| version.parse().ok()).unwrap_or(0)
}
