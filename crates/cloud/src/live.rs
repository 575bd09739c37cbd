//! A configuration that can change while the process runs.

use crate::Result;
use async_trait::async_trait;
use std::{collections::BTreeMap, fmt, path::PathBuf};

/// A configuration that follows its sources: credentials are rotated without a restart.
#[async_trait]
pub trait Live: Send + Sync {
    /// The objects of the cluster that the configuration is read from, besides its files. They may be known only after a
    /// [`Live::reload`].
    fn sources(&self) -> Vec<LiveSource> {
        Vec::new()
    }

    /// The files of the configuration, to be watched.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Reads the files again, with the data of all [`Live::sources`], and authenticates with the cloud. Only if that succeeds,
    /// the new configuration takes effect. Returns warnings for the user.
    async fn reload(&self, data: &LiveData) -> Result<Vec<String>>;

    /// Waits until the cloud rejects the credentials in use: the sources may have new ones. Returns at once if that has happened
    /// since the last call, and can be cancelled at any time. Never returns if the cloud has no credentials.
    async fn refused(&self) {
        std::future::pending::<()>().await;
    }

    /// Ends what the cloud keeps for this process, such as sessions. Called once, after the last other call.
    async fn close(&self) {}
}

/// An object of the cluster that a configuration is read from. If it does not exist, and is not created by default, the
/// configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveSource {
    /// The data of a Secret.
    Secret(ObjectRef),
    /// The data of a `ConfigMap`.
    ConfigMap {
        /// Its name.
        object: ObjectRef,
        /// The data that it is created with if it does not exist.
        create: Option<BTreeMap<String, String>>,
    },
    /// The UID of a namespace: that of `kube-system` identifies a cluster.
    NamespaceUid(String),
}

/// An object in a namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The data of all sources. `Debug` shows no secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct LiveData {
    /// The data of the Secrets.
    pub secrets: BTreeMap<ObjectRef, SecretData>,
    /// The data of the `ConfigMap`s.
    pub config_maps: BTreeMap<ObjectRef, BTreeMap<String, String>>,
    /// The UIDs of namespaces, by their names.
    pub namespace_uids: BTreeMap<String, String>,
}

/// The data of a Secret.
pub type SecretData = BTreeMap<String, Vec<u8>>;

impl ObjectRef {
    /// The object of this name in this namespace.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl fmt::Debug for LiveData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            secrets,
            config_maps,
            namespace_uids,
        } = self;
        f.debug_struct("LiveData")
            .field("secrets", &secrets.keys())
            .field("config_maps", config_maps)
            .field("namespace_uids", namespace_uids)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let secret = [("password".to_owned(), b"hunter2".to_vec())].into();
        let data = LiveData {
            secrets: [(ObjectRef::new("kube-system", "credentials"), secret)].into(),
            ..LiveData::default()
        };
        let text = format!("{data:?}");
        assert!(text.contains("credentials"), "{text}");
        assert!(!text.contains("password") && !text.contains("104"), "{text}");
    }
}
