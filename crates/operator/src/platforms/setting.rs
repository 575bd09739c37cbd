//! Everything that the operands depend on.

pub mod external;
pub mod gates;
pub mod images;
pub mod proxy;
pub mod tls;

use images::Images;
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use operator_api::infrastructure::PlatformStatus;
use std::{collections::BTreeMap, fmt};

/// Everything that the operands depend on, as plain data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setting {
    /// Where the operands live. Every object and every reference that is not in `kube-system` goes there.
    pub namespace: String,
    /// The Infrastructure's `status.infrastructureName`.
    pub infrastructure_name: String,
    /// How many replicas.
    pub topology: Topology,
    /// The Infrastructure's `status.platformStatus`.
    pub platform: PlatformStatus,
    /// Which image each container runs.
    pub images: Images,
    /// The Proxy's `status`.
    pub proxy: proxy::Values,
    /// The enabled feature gates of the cluster, in the order of the `FeatureGate`.
    pub gates: Vec<String>,
    /// What the manager's port speaks.
    pub tls: tls::Settings,
    /// What the Pods read: a change rolls them.
    pub sources: Sources,
}

/// How many machines the control plane has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Topology {
    /// One: one replica, and nothing that keeps it from being drained.
    Single,
    /// More than one.
    #[default]
    HighlyAvailable,
}

impl Topology {
    /// Reads the Infrastructure's `status.controlPlaneTopology`. Whatever is not `SingleReplica` has several machines.
    #[must_use]
    pub fn of(control_plane_topology: &str) -> Self {
        match control_plane_topology {
            "SingleReplica" => Self::Single,
            _ => Self::HighlyAvailable,
        }
    }

    /// How many replicas a Deployment has.
    pub fn replicas(self) -> u8 {
        match self {
            Self::Single => 1,
            Self::HighlyAvailable => 2,
        }
    }
}

/// The `ConfigMaps` and Secrets of the namespace by name, as they will be after this reconcile. `Debug` prints names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The `ConfigMaps`.
    pub config_maps: BTreeMap<String, ConfigMapContent>,
    /// The Secrets.
    pub secrets: BTreeMap<String, SecretContent>,
}

/// What a `ConfigMap` holds.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ConfigMapContent {
    /// Text by key.
    pub data: BTreeMap<String, String>,
    /// Bytes by key.
    pub binary_data: BTreeMap<String, ByteString>,
}

/// What a Secret holds: bytes by key.
pub type SecretContent = BTreeMap<String, ByteString>;

impl Sources {
    /// Adds a `ConfigMap`, or replaces the one of that name.
    pub fn add_config_map(&mut self, config_map: &ConfigMap) {
        let content = ConfigMapContent {
            data: config_map.data.clone().unwrap_or_default(),
            binary_data: config_map.binary_data.clone().unwrap_or_default(),
        };
        let name = config_map.metadata.name.clone().unwrap_or_default();
        self.config_maps.insert(name, content);
    }

    /// Adds a Secret, or replaces the one of that name.
    pub fn add_secret(&mut self, secret: &Secret) {
        let name = secret.metadata.name.clone().unwrap_or_default();
        self.secrets.insert(name, secret.data.clone().unwrap_or_default());
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |what: &str, names: Vec<&String>| format!("{what} {names:?}");
        f.debug_list()
            .entry(&format_args!(
                "{}",
                names("ConfigMaps", self.config_maps.keys().collect())
            ))
            .entry(&format_args!("{}", names("Secrets", self.secrets.keys().collect())))
            .finish()
    }
}
