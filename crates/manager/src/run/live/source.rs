//! The objects that a configuration consists of.

use cloud::{LiveData, LiveSource, ObjectRef};
use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{ConfigMap, Namespace, ObjectReference, Secret},
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ObjectMeta, PostParams},
    runtime::watcher,
};
use runtime::{
    client::explain,
    informer::{Informer, Object, State, Store},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{sync::Notify, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// The maximum time of a request.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The origin of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The watch cache.
    Watch,
    /// The API server: the cached data does not work any more.
    Server,
}

/// A source of the configuration. Secrets and `ConfigMap`s are watched; the UID of a namespace never changes.
pub(super) struct Source {
    which: LiveSource,
    object: Kind,
}

enum Kind {
    Secret(Watched<Secret>),
    ConfigMap {
        watched: Watched<ConfigMap>,
        create: Option<BTreeMap<String, String>>,
    },
    Namespace {
        api: Api<Namespace>,
        name: String,
        uid: Option<String>,
    },
}

impl Source {
    /// Watches it until dropped, and reports changes.
    pub(super) fn new(which: LiveSource, client: Client, changed: Arc<Notify>) -> Self {
        let object = match &which {
            LiveSource::Secret(object) => Kind::Secret(Watched::new(object, client, changed)),
            LiveSource::ConfigMap { object, create } => Kind::ConfigMap {
                watched: Watched::new(object, client, changed),
                create: create.clone(),
            },
            LiveSource::NamespaceUid(name) => Kind::Namespace {
                api: Api::all(client),
                name: name.clone(),
                uid: None,
            },
        };
        Self { which, object }
    }

    pub(super) fn which(&self) -> &LiveSource {
        &self.which
    }

    /// Whether it has changed since it was last read.
    pub(super) fn has_news(&self) -> bool {
        match &self.object {
            Kind::Secret(watched) => watched.has_news(),
            Kind::ConfigMap { watched, .. } => watched.has_news(),
            Kind::Namespace { .. } => false,
        }
    }

    /// Adds its content to the data.
    ///
    /// # Errors
    /// One sentence, if it does not exist or cannot be read.
    pub(super) async fn read(&mut self, origin: Origin, data: &mut LiveData) -> Result<(), String> {
        match &mut self.object {
            Kind::Secret(watched) => {
                let secret = watched.read(origin).await?.ok_or_else(|| watched.missing())?;
                let entries = secret.data.clone().unwrap_or_default().into_iter();
                let entries = entries.map(|(key, value)| (key, value.0)).collect();
                data.secrets.insert(watched.which.clone(), entries);
            }
            Kind::ConfigMap { watched, create } => {
                let map = match (watched.read(origin).await?, create) {
                    (Some(map), _) => map,
                    (None, Some(new)) => watched.create(new).await?,
                    (None, None) => return Err(watched.missing()),
                };
                let entries = map.data.clone().unwrap_or_default();
                data.config_maps.insert(watched.which.clone(), entries);
            }
            Kind::Namespace { api, name, uid } => {
                if uid.is_none() {
                    let doing = format!("cannot read Namespace {name}");
                    let namespace = in_time(&doing, api.get_opt(name)).await?;
                    *uid = namespace.and_then(|namespace| namespace.uid());
                }
                let known = uid.clone().ok_or_else(|| format!("Namespace {name} does not exist"))?;
                data.namespace_uids.insert(name.clone(), known);
            }
        }
        Ok(())
    }

    /// Its reference for events.
    pub(super) fn reference(&self) -> Option<ObjectReference> {
        match &self.object {
            Kind::Secret(watched) => Some(watched.reference()),
            Kind::ConfigMap { watched, .. } => Some(watched.reference()),
            Kind::Namespace { .. } => None,
        }
    }
}

/// An object that is being watched.
struct Watched<K> {
    which: ObjectRef,
    api: Api<K>,
    store: Store<K>,
    /// The version that was last read.
    read: Option<String>,
    _watch: JoinSet<()>,
}

impl<K: Object + Resource<Scope = NamespaceResourceScope>> Watched<K> {
    fn new(which: &ObjectRef, client: Client, changed: Arc<Notify>) -> Self {
        let api: Api<K> = Api::namespaced(client, &which.namespace);
        let only = watcher::Config::default().fields(&format!("metadata.name={}", which.name));
        let informer = Informer::new(api.clone(), only, |_| {});
        informer.on_change(move |_| changed.notify_one());
        let store = informer.store();
        let mut watch = JoinSet::new();
        watch.spawn(async move { informer.run(CancellationToken::new()).await });
        Self {
            which: which.clone(),
            api,
            store,
            read: None,
            _watch: watch,
        }
    }

    fn has_news(&self) -> bool {
        version(self.store.list().pop()) != self.read
    }

    async fn read(&mut self, origin: Origin) -> Result<Option<Arc<K>>, String> {
        let heard = self.heard(origin).await?;
        self.read = version(heard.clone());
        match origin {
            Origin::Watch => Ok(heard),
            Origin::Server => Ok(self.get().await?.map(Arc::new)),
        }
    }

    async fn heard(&self, origin: Origin) -> Result<Option<Arc<K>>, String> {
        let synced = tokio::time::timeout(TIMEOUT, self.store.synced());
        if origin == Origin::Watch && synced.await.is_err() {
            let name = self.name();
            return Err(match self.store.state() {
                State::Failing(reason) => format!("cannot read {name}: {reason}"),
                _ => format!("{name} has not been read yet"),
            });
        }
        Ok(self.store.list().pop())
    }

    async fn get(&self) -> Result<Option<K>, String> {
        let doing = format!("cannot read {}", self.name());
        in_time(&doing, self.api.get_opt(&self.which.name)).await
    }

    fn missing(&self) -> String {
        let name = self.name();
        format!("{name} does not exist: create it, or correct the configuration that names it")
    }

    fn reference(&self) -> ObjectReference {
        ObjectReference {
            api_version: Some(K::api_version(&()).into_owned()),
            kind: Some(K::kind(&()).into_owned()),
            namespace: Some(self.which.namespace.clone()),
            name: Some(self.which.name.clone()),
            ..ObjectReference::default()
        }
    }

    fn name(&self) -> String {
        format!("{} {}", K::kind(&()), self.which)
    }
}

impl Watched<ConfigMap> {
    /// Creates it with this data. If several replicas try at the same time, one succeeds, and all get the data of that one.
    async fn create(&self, data: &BTreeMap<String, String>) -> Result<Arc<ConfigMap>, String> {
        let new = ConfigMap {
            metadata: ObjectMeta {
                namespace: Some(self.which.namespace.clone()),
                name: Some(self.which.name.clone()),
                ..ObjectMeta::default()
            },
            data: Some(data.clone()),
            ..ConfigMap::default()
        };
        let create = async {
            match self.api.create(&PostParams::default(), &new).await {
                Err(kube::Error::Api(status)) if status.is_already_exists() => self.api.get(&self.which.name).await,
                created => created,
            }
        };
        let doing = format!("cannot create {}", self.name());
        in_time(&doing, create).await.map(Arc::new)
    }
}

async fn in_time<T>(doing: &str, call: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    let reason = match tokio::time::timeout(TIMEOUT, call).await {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(error)) => explain(&error),
        Err(_) => format!("the API server did not respond within {TIMEOUT:?}"),
    };
    Err(format!("{doing}: {reason}"))
}

fn version<K: Resource>(object: Option<Arc<K>>) -> Option<String> {
    object?.meta().resource_version.clone()
}
