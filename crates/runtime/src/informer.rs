//! Informers: a local copy of the objects of the API server, kept up to date by one watch, and handlers for every change.

use futures::StreamExt;
use kube::{
    Api, Resource, ResourceExt,
    runtime::{
        WatchStreamExt,
        watcher::{self, watcher},
    },
};
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use serde::de::DeserializeOwned;
use std::{collections::HashMap, fmt::Debug, sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

/// An object that an informer can store.
pub trait Object: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static {}
impl<K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static> Object for K {}

/// A change of an object.
#[derive(Debug, Clone)]
pub enum Change<K> {
    /// It exists; also for objects that existed before the first list.
    Added(Arc<K>),
    /// It has changed.
    Updated {
        /// The old version.
        old: Arc<K>,
        /// The new version.
        new: Arc<K>,
    },
    /// It was deleted; this is its last known version.
    Deleted(Arc<K>),
}

type Handler<K> = Box<dyn Fn(&Change<K>) + Send + Sync>;

/// The key of an object: `namespace/name`, or `name` if it has no namespace.
pub fn key_of<K: Resource>(object: &K) -> String {
    match object.meta().namespace.as_deref() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    }
}

/// Keeps a [`Store`] up to date. Clones share it.
pub struct Informer<K>(Arc<Inner<K>>);

impl<K> Clone for Informer<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

struct Inner<K> {
    api: Api<K>,
    config: watcher::Config,
    trim: fn(&mut K),
    store: Store<K>,
    /// Locked while the store changes, so that a new handler sees every object exactly once.
    handlers: Mutex<Vec<Handler<K>>>,
}

impl<K: Object> Informer<K> {
    /// Watches the objects that `api` and `config` select. `trim` removes unneeded fields before an object is stored.
    pub fn new(api: Api<K>, config: watcher::Config, trim: fn(&mut K)) -> Self {
        Self(Arc::new(Inner {
            api,
            config,
            trim,
            store: Store::default(),
            handlers: Mutex::default(),
        }))
    }

    /// The local copy.
    pub fn store(&self) -> Store<K> {
        self.0.store.clone()
    }

    /// Calls `handler` for every stored object, and then for every change, in order. It must not block.
    pub fn on_change(&self, handler: impl Fn(&Change<K>) + Send + Sync + 'static) {
        let mut handlers = self.0.handlers();
        for object in self.0.store.list() {
            handler(&Change::Added(object));
        }
        handlers.push(Box::new(handler));
    }

    /// Lists and watches until cancelled; lists again when the watch requires it.
    pub async fn run(&self, cancel: CancellationToken) {
        let mut events = Box::pin(watcher(self.0.api.clone(), self.0.config.clone()).default_backoff());
        let mut listing = HashMap::new();
        let mut health = Health::default();
        loop {
            let event = tokio::select! {
                () = cancel.cancelled() => return,
                () = health.over() => {
                    health = Health::default();
                    self.0.resumed();
                    continue;
                }
                event = events.next() => event,
            };
            match event {
                Some(Ok(event)) => {
                    health = Health::default();
                    self.0.apply(event, &mut listing);
                }
                Some(Err(error)) => {
                    if health.failed(&error) {
                        self.0.failed(&error);
                    }
                }
                None => return,
            }
        }
    }
}

/// A resumed watch sends no event until an object changes. It counts as healthy once it has not failed for this time, which is
/// longer than the back-off.
const QUIET: Duration = Duration::from_mins(2);

/// The health of a watch.
#[derive(Debug, Default)]
struct Health {
    failed: Option<Instant>,
}

impl Health {
    /// Records a failure, and returns whether to report it. A watch that ends is resumed where it was: that is reported only if it
    /// follows another failure.
    fn failed(&mut self, error: &watcher::Error) -> bool {
        let first = self.failed.replace(Instant::now()).is_none();
        !(first && matches!(error, watcher::Error::WatchFailed(_)))
    }

    /// Waits until the watch counts as healthy again; forever if it did not fail.
    async fn over(&self) {
        match self.failed {
            Some(failed) => tokio::time::sleep_until(failed + QUIET).await,
            None => std::future::pending().await,
        }
    }
}

impl<K: Object> Inner<K> {
    /// The watch is healthy again.
    fn resumed(&self) {
        if *self.store.0.synced.borrow() {
            self.store.set_state(State::Synced);
        }
    }

    fn handlers(&self) -> MutexGuard<'_, Vec<Handler<K>>> {
        self.handlers.lock()
    }

    fn apply(&self, event: watcher::Event<K>, listing: &mut HashMap<String, Arc<K>>) {
        match event {
            watcher::Event::Init => listing.clear(),
            watcher::Event::InitApply(object) => {
                let object = self.keep(object);
                listing.insert(key_of(&*object), object);
            }
            watcher::Event::InitDone => {
                let handlers = self.handlers();
                for change in self.store.replace(std::mem::take(listing)) {
                    notify(&handlers, &change);
                }
                self.store.set_state(State::Synced);
            }
            watcher::Event::Apply(object) => {
                let handlers = self.handlers();
                notify(&handlers, &self.store.insert(self.keep(object)));
                self.store.set_state(State::Synced);
            }
            watcher::Event::Delete(object) => {
                let handlers = self.handlers();
                if let Some(gone) = self.store.remove(&key_of(&object)) {
                    notify(&handlers, &Change::Deleted(gone));
                }
                self.store.set_state(State::Synced);
            }
        }
    }

    fn keep(&self, mut object: K) -> Arc<K> {
        object.meta_mut().managed_fields = None;
        (self.trim)(&mut object);
        Arc::new(object)
    }

    fn failed(&self, error: &watcher::Error) {
        let resource = K::plural(&());
        let reason = crate::client::explain(error);
        tracing::warn!(%resource, %reason, "cannot watch; retrying");
        self.store.set_state(State::Failing(reason));
    }
}

fn notify<K>(handlers: &[Handler<K>], change: &Change<K>) {
    for handler in handlers {
        handler(change);
    }
}

/// Whether a [`Store`] is up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing has been listed yet.
    Starting,
    /// It is up to date, apart from the latency of the watch.
    Synced,
    /// It may be out of date, for this reason.
    Failing(String),
}

/// The local copy of an [`Informer`]. Clones share it.
#[derive(Debug)]
pub struct Store<K>(Arc<StoreInner<K>>);

#[derive(Debug)]
struct StoreInner<K> {
    objects: RwLock<HashMap<String, Arc<K>>>,
    state: watch::Sender<State>,
    synced: watch::Sender<bool>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        Self(Arc::new(StoreInner {
            objects: RwLock::default(),
            state: watch::Sender::new(State::Starting),
            synced: watch::Sender::new(false),
        }))
    }
}

impl<K: Resource> Store<K> {
    /// A store with these objects that counts as synced, for tests and pure code.
    pub fn of(objects: impl IntoIterator<Item = K>) -> Self {
        let store = Self::default();
        store
            .write()
            .extend(objects.into_iter().map(|object| (key_of(&object), Arc::new(object))));
        store.set_state(State::Synced);
        store
    }

    /// The object with this key (see [`key_of`]).
    pub fn find(&self, key: &str) -> Option<Arc<K>> {
        self.read().get(key).cloned()
    }

    /// All objects, in no order.
    pub fn list(&self) -> Vec<Arc<K>> {
        self.read().values().cloned().collect()
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Whether it has no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is up to date.
    pub fn state(&self) -> State {
        self.0.state.borrow().clone()
    }

    /// Waits for the first complete list.
    pub async fn synced(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        let _ = self.0.synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// Inserts an object, and returns the change.
    pub fn insert(&self, object: impl Into<Arc<K>>) -> Change<K> {
        let new = object.into();
        match self.write().insert(key_of(&*new), new.clone()) {
            Some(old) => Change::Updated { old, new },
            None => Change::Added(new),
        }
    }

    /// Removes an object.
    pub fn remove(&self, key: &str) -> Option<Arc<K>> {
        self.write().remove(key)
    }

    fn replace(&self, listing: HashMap<String, Arc<K>>) -> Vec<Change<K>> {
        let mut objects = self.write();
        let mut before = std::mem::replace(&mut *objects, listing);
        let mut changes = Vec::new();
        for (key, new) in objects.iter() {
            match before.remove(key) {
                Some(old) if old.resource_version() == new.resource_version() => {}
                Some(old) => changes.push(Change::Updated { old, new: new.clone() }),
                None => changes.push(Change::Added(new.clone())),
            }
        }
        changes.extend(before.into_values().map(Change::Deleted));
        changes
    }

    fn set_state(&self, state: State) {
        if state == State::Synced {
            self.0
                .synced
                .send_if_modified(|synced| !std::mem::replace(synced, true));
        }
        self.0.state.send_if_modified(|now| {
            let changed = *now != state;
            *now = state;
            changed
        });
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<String, Arc<K>>> {
        self.0.objects.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<String, Arc<K>>> {
        self.0.objects.write()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Node;

    fn node(name: &str, version: &str) -> Node {
        let mut node = Node::default();
        node.metadata.name = Some(name.into());
        node.metadata.resource_version = Some(version.into());
        node
    }

    #[test]
    fn a_new_list_reports_only_changes() {
        let store = Store::of([node("same", "1"), node("changed", "1"), node("gone", "1")]);
        let listing = [node("same", "1"), node("changed", "2"), node("new", "1")];
        let listing = listing
            .into_iter()
            .map(|node| (key_of(&node), Arc::new(node)))
            .collect();
        let mut changes: Vec<_> = store
            .replace(listing)
            .into_iter()
            .map(|change| match change {
                Change::Added(new) => format!("+{}", key_of(&*new)),
                Change::Updated { new, .. } => format!("~{}", key_of(&*new)),
                Change::Deleted(old) => format!("-{}", key_of(&*old)),
            })
            .collect();
        changes.sort();
        assert_eq!(changes, ["+new", "-gone", "~changed"]);
    }

    fn refused() -> kube::Error {
        kube::Error::Api(kube::core::Status::failure("no", "Forbidden").with_code(403).boxed())
    }

    /// A lost connection is not reported; one that cannot be re-established is, until it has not failed for a while.
    #[tokio::test(start_paused = true)]
    async fn a_resumed_watch_is_healthy() {
        let mut health = Health::default();
        let broke = || watcher::Error::WatchFailed(kube::Error::LinesCodecMaxLineLengthExceeded);
        assert!(!health.failed(&broke()), "it is resumed at once");
        assert!(health.failed(&watcher::Error::WatchStartFailed(refused())));
        assert!(health.failed(&broke()), "a second failure");
        tokio::time::advance(QUIET.saturating_sub(Duration::from_secs(1))).await;
        assert!(futures::poll!(Box::pin(health.over())).is_pending());
        health.over().await;
        assert!(Health::default().failed(&watcher::Error::InitialListFailed(refused())));
    }

    /// There may be no further event for hours, so every kind of event must suffice.
    #[tokio::test]
    async fn every_event_of_a_watch_shows_that_it_is_healthy() {
        let nowhere = tower::service_fn(|_: http::Request<kube::client::Body>| {
            std::future::ready(Err::<http::Response<kube::client::Body>, _>(refused()))
        });
        let api = Api::<Node>::all(kube::Client::new(nowhere, "default"));
        let informer = Informer::new(api, watcher::Config::default(), |_| {});
        let mut listing = HashMap::new();
        for event in [
            watcher::Event::InitDone,
            watcher::Event::Apply(node("a", "1")),
            watcher::Event::Delete(node("a", "2")),
            watcher::Event::Delete(node("unknown", "3")),
        ] {
            informer.0.failed(&watcher::Error::WatchStartFailed(refused()));
            assert_ne!(informer.store().state(), State::Synced);
            let message = format!("{event:?}");
            informer.0.apply(event, &mut listing);
            assert_eq!(informer.store().state(), State::Synced, "{message}");
        }
    }

    #[tokio::test]
    async fn synced_waits_for_the_first_list_only() {
        let store = Store::<Node>::default();
        assert!(
            tokio::time::timeout(std::time::Duration::from_millis(10), store.synced())
                .await
                .is_err()
        );
        store.set_state(State::Synced);
        store.synced().await;
        store.set_state(State::Failing("gone".into()));
        store.synced().await;
        assert_eq!(store.state(), State::Failing("gone".into()));
    }
}
