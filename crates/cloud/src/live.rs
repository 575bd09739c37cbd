//! A configuration that can change while the process runs.

use crate::Result;
use async_trait::async_trait;
use std::{collections::BTreeMap, fmt, path::PathBuf};

/// The configuration of a cloud that follows its sources: credentials are rotated without a restart.
#[async_trait]
pub trait Live: Send + Sync {
    /// The objects of the cluster that the configuration is made from, besides its files. They may be known only after a
    /// [`Live::reload`].
    fn sources(&self) -> Vec<LiveSource> {
        Vec::new()
    }

    /// The files that the configuration was made from, to be watched.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Reads the files anew, with the data of all [`Live::sources`], and tries whether the cloud accepts it. Only then it
    /// takes effect; otherwise everything stays as it was. Answers what the user should know.
    async fn reload(&self, data: &LiveData) -> Result<Vec<String>>;

    /// Waits until the cloud no longer accepts the credentials in use: a sign that the sources hold others by now. Answers
    /// at once if that has happened since this was last asked, and may be given up at any time. For ever, if the cloud
    /// has no credentials.
    async fn refused(&self) {
        std::future::pending::<()>().await;
    }
}

/// An object of the cluster that a configuration is made from. One that does not exist, and is not to be created, makes the
/// configuration unusable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveSource {
    /// The data of a Secret.
    Secret(ObjectRef),
    /// The data of a `ConfigMap`.
    ConfigMap {
        /// Which one.
        object: ObjectRef,
        /// The data that it is created with if it does not exist.
        create: Option<BTreeMap<String, String>>,
    },
    /// The UID of a namespace: that of `kube-system` tells clusters apart.
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
