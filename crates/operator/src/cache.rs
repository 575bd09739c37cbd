//! A cache of objects: each is watched by its name, and nothing else is.
//!
//! A cluster has thousands of `ConfigMaps` and roles; the operator needs a few dozen objects. Watching those by name
//! keeps the cache small, and changes of other objects in the same namespaces cause no work.

mod store;

use crate::{
    Key, Lookup, Unread,
    operands::{self, Report, kinds},
};
use futures::StreamExt;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    core::{GroupVersionKind, gvk::ParseGroupVersionError},
    runtime::watcher,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use store::{State, Store};
use tokio::{sync::Notify, task::AbortHandle};
use tracing::warn;

/// The pause after a watch has failed; each further failure doubles it.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How long a new watch may take to list its objects before the operator goes on without it.
const PATIENCE: Duration = Duration::from_secs(10);

/// A kind, as its objects are requested.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// `apps/v1`
    pub api_version: String,
    /// `Deployment`
    pub kind: String,
    /// `deployments`
    pub plural: String,
}

impl Resource {
    /// A kind from its three names.
    #[must_use]
    pub fn new(api_version: &str, kind: &str, plural: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        }
    }

    /// The same for kube.
    ///
    /// # Errors
    /// If the version has more than one slash.
    pub fn api(&self) -> Result<ApiResource, ParseGroupVersionError> {
        let version: kube::core::GroupVersion = self.api_version.parse()?;
        let kind = GroupVersionKind::gvk(&version.group, &version.version, &self.kind);
        Ok(ApiResource::from_gvk_with_plural(&kind, &self.plural))
    }
}

/// One object, or all of a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selection {
    /// The kind.
    pub resource: Resource,
    /// The namespace; `None` for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The name; `None` for all objects of the kind.
    pub name: Option<String>,
}

impl Selection {
    /// One object.
    #[must_use]
    pub fn one(resource: &Resource, namespace: Option<&str>, name: &str) -> Self {
        Self {
            resource: resource.clone(),
            namespace: namespace.map(str::to_owned),
            name: Some(name.to_owned()),
        }
    }

    /// The watch of one object. `None` for a kind that the operator does not use.
    #[must_use]
    pub fn of(key: &Key) -> Option<Self> {
        let kind = kinds::get(key).ok()?;
        let resource = Resource::new(&key.api_version, kind.kind, kind.plural);
        Some(Self::one(&resource, key.namespace.as_deref(), &key.name))
    }

    /// All objects of a kind.
    #[must_use]
    pub fn all(resource: &Resource) -> Self {
        Self {
            resource: resource.clone(),
            namespace: None,
            name: None,
        }
    }

    fn covers(&self, key: &Key) -> bool {
        self.resource.kind == key.kind
            && self.resource.api_version == key.api_version
            && self.namespace == key.namespace
            && self.name.as_ref().is_none_or(|name| *name == key.name)
    }
}

/// The watches, and the objects that they have received.
pub struct Cache {
    client: Client,
    changed: Arc<Notify>,
    running: BTreeMap<Selection, Running>,
}

struct Running {
    store: Store,
    task: AbortHandle,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Cache {
    /// Watches nothing yet. `changed` is notified of every change.
    pub fn new(client: Client, changed: Arc<Notify>) -> Self {
        Self {
            client,
            changed,
            running: BTreeMap::new(),
        }
    }

    /// Watches exactly these objects, and waits for the first list of each new watch.
    pub async fn want(&mut self, wanted: &BTreeSet<Selection>) {
        self.running.retain(|selection, _| wanted.contains(selection));
        for selection in wanted {
            if !self.running.contains_key(selection) {
                self.start(selection);
            }
        }
        let starting = self.running.values().map(|running| running.store.started());
        let all = futures::future::join_all(starting);
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            warn!("not everything could be watched in time; continuing with what is known");
        }
    }

    fn start(&mut self, selection: &Selection) {
        let store = Store::default();
        let task = tokio::spawn(watch(
            self.client.clone(),
            selection.clone(),
            store.clone(),
            self.changed.clone(),
        ));
        let task = task.abort_handle();
        self.running.insert(selection.clone(), Running { store, task });
    }

    /// Watches these objects, too, and waits for the first list of each new watch.
    pub async fn want_also(&mut self, more: impl IntoIterator<Item = Selection>) {
        let all = self.running.keys().cloned().chain(more).collect();
        self.want(&all).await;
    }

    /// What is known of an object.
    pub fn find(&self, key: &Key) -> Lookup {
        let covering = self.running.iter().filter(|(selection, _)| selection.covers(key));
        let mut why = "it is not watched yet".to_owned();
        for (_, running) in covering {
            match running.store.find(key) {
                Lookup::Unknown(reason) => why = reason,
                known => return known,
            }
        }
        Lookup::Unknown(why)
    }

    /// All objects of a kind that is watched as a whole.
    ///
    /// # Errors
    /// Why it is not known which exist.
    pub fn all(&self, resource: &Resource) -> Result<Vec<Arc<serde_json::Value>>, Unread> {
        match self.running.get(&Selection::all(resource)) {
            Some(running) => running.store.all(),
            None => Err(Unread("they are not watched yet".to_owned())),
        }
    }

    /// Stores objects as a run has written them.
    pub fn learn(&self, report: &Report) {
        for (key, _) in report.outcomes() {
            if let Some(object) = report.object(key) {
                self.saw(key, object);
            }
        }
    }

    /// Stores an object as the API server returned it after a write, so that the next read is not out of date.
    pub fn saw(&self, key: &Key, value: &Arc<serde_json::Value>) {
        for (_, running) in self.running.iter().filter(|(selection, _)| selection.covers(key)) {
            running.store.saw(key, value);
        }
    }
}

impl operands::Reader for Cache {
    fn find(&self, key: &Key) -> Lookup {
        Self::find(self, key)
    }
}

async fn watch(client: Client, selection: Selection, store: Store, changed: Arc<Notify>) {
    let resource = match selection.resource.api() {
        Ok(resource) => resource,
        Err(error) => return store.set(State::Failing(error.to_string())),
    };
    let api: Api<DynamicObject> = match &selection.namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    };
    let mut config = watcher::Config::default();
    if let Some(name) = &selection.name {
        config = config.fields(&format!("metadata.name={name}"));
    }
    let mut pause = PAUSE;
    loop {
        let mut events = Box::pin(watcher(api.clone(), config.clone()));
        let mut listing = BTreeMap::new();
        let error = loop {
            let news = match events.next().await {
                None => return,
                Some(Err(error)) => break error,
                Some(Ok(event)) => {
                    pause = PAUSE;
                    store.apply(&selection.resource, event, &mut listing)
                }
            };
            if news {
                changed.notify_one();
            }
        };
        if failed(&store, &selection, &error) {
            changed.notify_one();
        }
        // A watch that is resumed has no event until something changes. A new one begins with a list.
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

fn failed(store: &Store, selection: &Selection, error: &watcher::Error) -> bool {
    if matches!(error, watcher::Error::WatchFailed(_)) {
        // The watch has ended and is restarted: the objects that it received stay valid.
        return false;
    }
    let state = if is_unserved(error) {
        State::Unserved
    } else {
        State::Failing(runtime::client::explain(error))
    };
    let news = store.is_different(&state);
    if let (true, State::Failing(reason)) = (news, &state) {
        let resource = &selection.resource.plural;
        warn!(%resource, name = selection.name, %reason, "cannot watch; retrying");
    }
    store.set(state);
    news
}

/// Whether the API server does not serve the kind, or does not serve it yet.
fn is_unserved(error: &watcher::Error) -> bool {
    use watcher::Error::{InitialListFailed, WatchStartFailed};
    match error {
        InitialListFailed(kube::Error::Api(status)) | WatchStartFailed(kube::Error::Api(status)) => status.code == 404,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
