//! The flags themselves.

use super::Place;
use std::fmt;

/// Where kube-controller-manager and kube-apiserver, as static Pods, find the key of the cloud configuration.
pub(super) const STATIC_POD_CONFIGS: &str = "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/";
/// Where kubelet finds it, whatever its key.
pub(super) const KUBELET_CONFIG: &str = "/etc/kubernetes/cloud.conf";

/// The flags of one program; what is `None` is not given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flags {
    /// `--cloud-provider`
    pub cloud_provider: Option<&'static str>,
    /// `--cloud-config`
    pub cloud_config: Option<String>,
    /// `--external-cloud-volume-plugin`
    pub external_cloud_volume_plugin: Option<&'static str>,
}

impl Flags {
    /// The flags as on a command line.
    #[must_use]
    pub fn args(&self) -> Vec<String> {
        let Self {
            cloud_provider,
            cloud_config,
            external_cloud_volume_plugin,
        } = self;
        let flags = [
            ("cloud-provider", cloud_provider.map(str::to_owned)),
            ("cloud-config", cloud_config.clone()),
            (
                "external-cloud-volume-plugin",
                external_cloud_volume_plugin.map(str::to_owned),
            ),
        ];
        let given = flags.into_iter().filter_map(|(name, value)| Some((name, value?)));
        given.map(|(name, value)| format!("--{name}={value}")).collect()
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.args().join(" "))
    }
}

/// What the flags of a program express.
pub(super) struct Wanted<'a> {
    pub(super) place: Place,
    pub(super) config: Option<&'a str>,
    pub(super) volume_plugin: Option<&'static str>,
}

impl Wanted<'_> {
    /// kubelet has to know that a cloud controller manager initializes its node.
    pub(super) fn kubelet(&self, file: &str) -> Flags {
        match self.place {
            Place::External => Flags {
                cloud_provider: Some("external"),
                ..Flags::default()
            },
            Place::InTree(name) => named(name, self.config.map(|_| file.to_owned())),
            Place::Nowhere => Flags::default(),
        }
    }

    /// The plugin is used only with `external`, and reads the configuration itself.
    pub(super) fn kube_controller_manager(&self, folder: &str) -> Flags {
        match (self.place, self.volume_plugin) {
            (Place::External, Some(plugin)) => Flags {
                external_cloud_volume_plugin: Some(plugin),
                ..named("external", self.path(folder))
            },
            _ => self.kube_apiserver(folder),
        }
    }

    /// None, unless the cloud provider is in-tree.
    pub(super) fn kube_apiserver(&self, folder: &str) -> Flags {
        match self.place {
            Place::InTree(name) => named(name, self.path(folder)),
            Place::External | Place::Nowhere => Flags::default(),
        }
    }

    fn path(&self, folder: &str) -> Option<String> {
        self.config.map(|key| format!("{folder}{key}"))
    }
}

fn named(cloud_provider: &'static str, cloud_config: Option<String>) -> Flags {
    Flags {
        cloud_provider: Some(cloud_provider),
        cloud_config,
        external_cloud_volume_plugin: None,
    }
}
