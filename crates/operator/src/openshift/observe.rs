//! What is in the cluster, read from the watches: typed, and nothing guessed where something could not be read.

use super::Settings;
use crate::{
    Key, cloud_config, status, trusted_ca,
    watching::{Lookup, Resource, Selection, Watches},
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use operator_api::{ApiServer, ClusterOperator, ClusterVersion, FeatureGate, Infrastructure, Network, Proxy};
use serde::de::DeserializeOwned;
use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

const CONFIG: &str = "config.openshift.io/v1";
/// The name of everything that a cluster has one of.
const CLUSTER: &str = "cluster";

/// The kinds of `OpenShift` that are read, with their names.
const SINGLETONS: [(&str, &str, &str); 7] = [
    ("Infrastructure", "infrastructures", CLUSTER),
    ("Network", "networks", CLUSTER),
    ("Proxy", "proxies", CLUSTER),
    ("FeatureGate", "featuregates", CLUSTER),
    ("APIServer", "apiservers", CLUSTER),
    ("ClusterVersion", "clusterversions", "version"),
    ("ClusterOperator", "clusteroperators", status::NAME),
];

/// Something that could not be read, and why.
pub(super) type Read<T> = Result<Option<T>, String>;

/// What is in the cluster.
pub(super) struct Observed {
    pub(super) infrastructure: Read<Infrastructure>,
    pub(super) network: Read<Network>,
    pub(super) proxy: Read<Proxy>,
    pub(super) feature_gate: Read<FeatureGate>,
    pub(super) api_server: Read<ApiServer>,
    pub(super) cluster_version: Read<ClusterVersion>,
    pub(super) cluster_operator: Read<ClusterOperator>,
    pub(super) files: Files,
}

/// The files of the operator's own Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    pub(super) images: Result<String, String>,
    pub(super) system_bundle: Result<String, String>,
}

impl Files {
    pub(super) fn read(settings: &Settings) -> Self {
        let text =
            |path: &Path| fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
        Self {
            images: text(&settings.images),
            system_bundle: text(&settings.system_bundle),
        }
    }
}

impl Observed {
    pub(super) fn of(watches: &Watches, files: Files) -> Self {
        Self {
            infrastructure: singleton(watches, 0),
            network: singleton(watches, 1),
            proxy: singleton(watches, 2),
            feature_gate: singleton(watches, 3),
            api_server: singleton(watches, 4),
            cluster_version: singleton(watches, 5),
            cluster_operator: singleton(watches, 6),
            files,
        }
    }

    /// The `ConfigMaps` that the cloud configuration and the certificates come from and go to.
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

    /// What the Infrastructure names as the cloud's configuration.
    pub(super) fn referenced(&self) -> Option<Key> {
        let infrastructure = self.infrastructure.as_ref().ok()?.as_ref()?;
        let name = &infrastructure.spec.cloud_config.name;
        (!name.is_empty()).then(|| Key::config_map(cloud_config::USER_NAMESPACE, name))
    }

    /// What the Proxy names as trusted.
    pub(super) fn proxy_ca(&self) -> Option<Key> {
        let proxy = self.proxy.as_ref().ok()?.as_ref()?;
        let name = &proxy.spec.trusted_ca.name;
        (!name.is_empty()).then(|| Key::config_map(cloud_config::USER_NAMESPACE, name))
    }
}

/// The key of our `ClusterOperator`.
pub(super) fn cluster_operator() -> Key {
    Key::of_cluster(CONFIG, "ClusterOperator", status::NAME)
}

/// What is always watched.
pub(super) fn always() -> BTreeSet<Selection> {
    (0..SINGLETONS.len()).map(selection).collect()
}

/// The Infrastructure and our `ClusterOperator`, to be watched.
pub(super) fn both() -> [Selection; 2] {
    [selection(0), selection(6)]
}

/// The Infrastructure and our `ClusterOperator`, as they are.
pub(super) fn read_both(watches: &Watches) -> Result<(Option<Infrastructure>, Option<ClusterOperator>), String> {
    Ok((singleton(watches, 0)?, singleton(watches, 6)?))
}

fn selection(which: usize) -> Selection {
    let (kind, plural, name) = SINGLETONS[which];
    Selection::one(&Resource::new(CONFIG, kind, plural), None, name)
}

/// A `ConfigMap` as it is.
pub(super) fn find_config_map(watches: &Watches, key: &Key) -> Read<ConfigMap> {
    read(watches, key)
}

/// A Secret as it is.
pub(super) fn find_secret(watches: &Watches, key: &Key) -> Read<Secret> {
    read(watches, key)
}

fn singleton<T: DeserializeOwned>(watches: &Watches, which: usize) -> Read<T> {
    let (kind, _, name) = SINGLETONS[which];
    read(watches, &Key::of_cluster(CONFIG, kind, name))
}

fn read<T: DeserializeOwned>(watches: &Watches, key: &Key) -> Read<T> {
    match watches.find(key) {
        Lookup::Absent => Ok(None),
        Lookup::Unknown(reason) => Err(format!("cannot read {key}: {reason}")),
        Lookup::Found(value) => T::deserialize(Arc::unwrap_or_clone(value))
            .map(Some)
            .map_err(|error| format!("cannot make sense of {key}: {error}")),
    }
}
