//! The input of the rendering.

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

/// Everything that the rendered operands depend on, as plain data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setting {
    /// The namespace of the operands: of every object and reference that is not in `kube-system`.
    pub namespace: String,
    /// The Infrastructure's `status.infrastructureName`.
    pub infrastructure_name: String,
    /// The number of machines of the control plane.
    pub topology: Topology,
    /// The Infrastructure's `status.platformStatus`.
    pub platform: PlatformStatus,
    /// The image of each container.
    pub images: Images,
    /// The Proxy's `status`.
    pub proxy: proxy::Values,
    /// The enabled feature gates of the cluster, in the order of the `FeatureGate`.
    pub gates: Vec<String>,
    /// The TLS settings of the manager's port.
    pub tls: tls::Settings,
    /// The objects that the Pods read: a change rolls the Pods.
    pub sources: Sources,
}

/// The number of machines of the control plane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Topology {
    /// One: one replica, and no object that keeps the node from being drained.
    Single,
    /// More than one.
    #[default]
    HighlyAvailable,
}

impl Topology {
    /// Reads the Infrastructure's `status.controlPlaneTopology`. Every value except `SingleReplica` means several machines.
    #[must_use]
    pub fn of(control_plane_topology: &str) -> Self {
        match control_plane_topology {
            "SingleReplica" => Self::Single,
            _ => Self::HighlyAvailable,
        }
    }

    /// The replicas of a Deployment.
    pub fn replicas(self) -> u8 {
        match self {
            Self::Single => 1,
            Self::HighlyAvailable => 2,
        }
    }
}

/// The `ConfigMaps` and Secrets of the namespace by name, as they will be after this pass. `Debug` prints names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The `ConfigMaps`.
    pub config_maps: BTreeMap<String, ConfigMapContent>,
    /// The Secrets.
    pub secrets: BTreeMap<String, SecretContent>,
}

/// The content of a `ConfigMap`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ConfigMapContent {
    /// Text by key.
    pub data: BTreeMap<String, String>,
    /// Bytes by key.
    pub binary_data: BTreeMap<String, ByteString>,
}

/// The content of a Secret: bytes by key.
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
