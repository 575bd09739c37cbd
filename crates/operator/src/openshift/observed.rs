//! What exists in the cluster, complete before anything is decided. What could not be read is an error, never a guess.

use super::inventory;
use crate::{Key, Lookup, Unread, cloud_config, trusted_ca};
use jiff::Timestamp;
use operator_api::{ApiServer, ClusterOperator, ClusterVersion, FeatureGate, Infrastructure, Network, Proxy};
use serde::de::DeserializeOwned;
use std::{collections::BTreeMap, sync::Arc};

/// An object, if it exists; or why it could not be read.
pub(super) type Read<T> = Result<Option<T>, Unread>;

/// What exists in the cluster.
pub(super) struct Observed {
    pub(super) infrastructure: Read<Infrastructure>,
    pub(super) network: Read<Network>,
    pub(super) proxy: Read<Proxy>,
    pub(super) feature_gate: Read<FeatureGate>,
    pub(super) api_server: Read<ApiServer>,
    pub(super) cluster_version: Read<ClusterVersion>,
    pub(super) cluster_operator: Read<ClusterOperator>,
    pub(super) files: OwnFiles,
    /// Every other object that a decision reads.
    pub(super) objects: BTreeMap<Key, Lookup>,
    /// Operands that exist although the `ClusterOperator` does not list them; or why they could not be searched.
    pub(super) unlisted: Result<Vec<Key>, Unread>,
    pub(super) now: Timestamp,
}

/// The files of the operator's own Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnFiles {
    pub(super) images: Result<String, Unread>,
    pub(super) system_bundle: Result<String, Unread>,
}

impl Observed {
    /// The `ConfigMaps` that the cloud configuration and the certificates are read from and written to.
    pub(super) fn config_maps(&self, namespace: &str) -> Vec<Key> {
        let mut maps = vec![
            Key::config_map(cloud_config::MANAGED_NAMESPACE, cloud_config::MANAGED_NAME),
            Key::config_map(namespace, cloud_config::NAME),
            Key::config_map(namespace, trusted_ca::NAME),
        ];
        maps.extend(self.referenced());
        maps.extend(self.proxy_ca());
        maps
    }

    /// The cloud configuration that the Infrastructure names.
    pub(super) fn referenced(&self) -> Option<Key> {
        let infrastructure = self.infrastructure.as_ref().ok()?.as_ref()?;
        let name = &infrastructure.spec.cloud_config.name;
        (!name.is_empty()).then(|| Key::config_map(cloud_config::USER_NAMESPACE, name))
    }

    /// The certificates that the Proxy names.
    pub(super) fn proxy_ca(&self) -> Option<Key> {
        let proxy = self.proxy.as_ref().ok()?.as_ref()?;
        let name = &proxy.spec.trusted_ca.name;
        (!name.is_empty()).then(|| Key::config_map(cloud_config::USER_NAMESPACE, name))
    }

    /// The objects of the operator: those that the `ClusterOperator` lists, and those that were found by name.
    pub(super) fn inventory(&self) -> Vec<Key> {
        let operator = self.cluster_operator.as_ref().ok().and_then(Option::as_ref);
        let mut inventory = operator.map_or_else(Vec::new, |operator| inventory::listed(&operator.status));
        let unlisted = self.unlisted.iter().flatten();
        let more: Vec<_> = unlisted.filter(|key| !inventory.contains(key)).cloned().collect();
        inventory.extend(more);
        inventory
    }

    /// An object that a decision reads.
    pub(super) fn lookup(&self, key: &Key) -> Lookup {
        let unread = || Lookup::Unknown("it has not been read yet".to_owned());
        self.objects.get(key).cloned().unwrap_or_else(unread)
    }

    /// The same, typed.
    pub(super) fn find<T: DeserializeOwned>(&self, key: &Key) -> Read<T> {
        typed(key, self.lookup(key))
    }
}

/// The object that a lookup has found.
pub(super) fn typed<T: DeserializeOwned>(key: &Key, lookup: Lookup) -> Read<T> {
    match lookup {
        Lookup::Absent => Ok(None),
        Lookup::Unknown(reason) => Err(Unread(format!("cannot read {key}: {reason}"))),
        Lookup::Found(value) => T::deserialize(Arc::unwrap_or_clone(value))
            .map(Some)
            .map_err(|error| Unread(format!("{key} is not valid: {error}"))),
    }
}
