//! A configuration that can change while the process runs.

use crate::Result;
use async_trait::async_trait;
use std::{collections::BTreeMap, path::PathBuf};

/// The configuration of a cloud that follows its sources: credentials are rotated without a restart.
#[async_trait]
pub trait Live: Send + Sync {
    /// The Secret that the configuration names, if it names one. It may be known only after a [`Live::reload`].
    fn secret(&self) -> Option<SecretRef>;

    /// The files that the configuration was made from, to be watched.
    fn files(&self) -> Vec<PathBuf>;

    /// Reads the files anew, with the data of the Secret that [`Live::secret`] names, and tries whether the cloud
    /// accepts it. Only then it takes effect; otherwise everything stays as it was. Answers what the user should know.
    async fn reload(&self, secret: Option<&SecretData>) -> Result<Vec<String>>;

    /// Waits until the cloud no longer accepts the credentials in use: a sign that the sources hold others by now. Answers
    /// at once if that has happened since this was last asked, and may be given up at any time. For ever, if the cloud
    /// has no credentials.
    async fn refused(&self) {
        std::future::pending::<()>().await;
    }
}

/// The data of a Secret.
pub type SecretData = BTreeMap<String, Vec<u8>>;

/// Which Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}
