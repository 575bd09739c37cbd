//! The Secret that a configuration names.

use cloud::{SecretData, SecretRef};
use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use kube::{Api, Client, ResourceExt, runtime::watcher};
use runtime::{
    client::explain,
    informer::{Informer, State, Store},
};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Notify, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// How long the API server may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the data comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// What was last heard of it.
    Watch,
    /// The API server, now: what was last heard of it does not work any more.
    Server,
}

/// A Secret that is being watched.
pub(super) struct Watched {
    which: SecretRef,
    api: Api<Secret>,
    store: Store<Secret>,
    /// What was heard of it when it was last read.
    read: Option<String>,
    _watch: JoinSet<()>,
}

impl Watched {
    /// Watches it until dropped, and tells of changes.
    pub(super) fn new(which: SecretRef, client: Client, changed: Arc<Notify>) -> Self {
        let api: Api<Secret> = Api::namespaced(client, &which.namespace);
        let only = watcher::Config::default().fields(&format!("metadata.name={}", which.name));
        let informer = Informer::new(api.clone(), only, |_| {});
        informer.on_change(move |_| changed.notify_one());
        let store = informer.store();
        let mut watch = JoinSet::new();
        watch.spawn(async move { informer.run(CancellationToken::new()).await });
        Self {
            which,
            api,
            store,
            read: None,
            _watch: watch,
        }
    }

    pub(super) fn which(&self) -> &SecretRef {
        &self.which
    }

    /// Whether something was heard of it since it was last read.
    pub(super) fn has_news(&self) -> bool {
        version(self.store.list().pop()) != self.read
    }

    /// What is in it.
    ///
    /// # Errors
    /// In words, if it is not there or cannot be read.
    pub(super) async fn data(&mut self, origin: Origin) -> Result<SecretData, String> {
        let heard = self.heard(origin).await?;
        self.read = version(heard.clone());
        let secret = match origin {
            Origin::Watch => heard.map(|secret| secret.data.clone()),
            Origin::Server => self.asked().await?.map(|secret| secret.data),
        };
        let data = secret.ok_or_else(|| {
            let name = self.name();
            format!("{name} does not exist: create it, or remove secret-name from the configuration")
        })?;
        let data = data.unwrap_or_default().into_iter();
        Ok(data.map(|(key, value)| (key, value.0)).collect())
    }

    /// It, as events name it.
    pub(super) fn reference(&self) -> ObjectReference {
        ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Secret".to_owned()),
            namespace: Some(self.which.namespace.clone()),
            name: Some(self.which.name.clone()),
            ..ObjectReference::default()
        }
    }

    async fn heard(&self, origin: Origin) -> Result<Option<Arc<Secret>>, String> {
        let synced = tokio::time::timeout(PATIENCE, self.store.synced());
        if origin == Origin::Watch && synced.await.is_err() {
            let name = self.name();
            return Err(match self.store.state() {
                State::Failing(reason) => format!("cannot read {name}: {reason}"),
                _ => format!("{name} has not been read yet"),
            });
        }
        Ok(self.store.list().pop())
    }

    async fn asked(&self) -> Result<Option<Secret>, String> {
        let answer = tokio::time::timeout(PATIENCE, self.api.get_opt(&self.which.name)).await;
        let reason = match answer {
            Ok(Ok(secret)) => return Ok(secret),
            Ok(Err(error)) => explain(&error),
            Err(_) => format!("the API server gave no answer within {PATIENCE:?}"),
        };
        Err(format!("cannot read {}: {reason}", self.name()))
    }

    fn name(&self) -> String {
        let SecretRef { namespace, name } = &self.which;
        format!("Secret {namespace}/{name}")
    }
}

fn version(secret: Option<Arc<Secret>>) -> Option<String> {
    secret?.resource_version()
}
