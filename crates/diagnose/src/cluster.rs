//! The cluster that a command is about.

use kube::Client;
use runtime::{
    client::{Builder, Origin, explain},
    version::Info,
};
use std::path::Path;

/// A cluster, and the namespace of commands without `--namespace`.
#[derive(Clone)]
pub struct Cluster {
    /// Reads it.
    pub client: Client,
    /// The namespace of the kubeconfig's context.
    pub namespace: String,
    /// The address of the API server.
    pub address: String,
}

/// The cluster cannot be used: the message names the file and the key, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(String);

impl Cluster {
    /// The cluster of this kubeconfig; without one, of `KUBECONFIG`, the Pod that this is, or `~/.kube/config`. No request is sent.
    ///
    /// # Errors
    /// If there is none, or its configuration is invalid.
    pub fn open(kubeconfig: &str, command: &str) -> Result<Self, Unusable> {
        let origin = Origin::choose(kubeconfig, |name| std::env::var_os(name), Path::exists);
        let config = origin.and_then(Origin::load);
        let config = config.map_err(|error| Unusable(error.to_string()))?;
        let namespace = config.default_namespace.clone();
        let clients = Builder::new(config).binary("outrigger", Info::current()).build();
        let clients = clients.map_err(|error| Unusable(format!("cannot use the credentials: {}", explain(&error))))?;
        Ok(Self {
            client: clients.plain(command),
            namespace,
            address: clients.address().to_owned(),
        })
    }
}
