//! Platforms: the objects that each of them needs.
//!
//! A platform is a folder: plain YAML and a [`Platform`] that lists it. [`resources`] are the objects in a cluster,
//! [`bootstrap_resources`] those of the machine that starts a cluster. Both only compute: the same [`Setting`] gives the same
//! objects. `docs/adding-a-platform.md` describes how to add one.

pub mod aws;
pub mod azure;
pub mod azure_stack_hub;
pub mod gcp;
pub mod ibmcloud;
pub mod nutanix;
pub mod openstack;
pub mod powervs;
pub mod vsphere;

mod manifest;
mod setting;

pub use manifest::config_hash;
pub(crate) use manifest::placeholder;
pub use setting::{external, gates, images, proxy, tls};

pub use images::Images;
pub use setting::{ConfigMapContent, SecretContent, Setting, Sources, Topology};

use crate::{cloud_config::CloudConfig, object::Object};
use manifest::Rendering;
use operator_api::infrastructure::PlatformStatus;

/// Every platform that has operands. Of several with the same type, the first one that applies is used.
pub const ALL: &[Platform] = &[
    aws::PLATFORM,
    azure_stack_hub::PLATFORM,
    azure::PLATFORM,
    gcp::PLATFORM,
    ibmcloud::PLATFORM,
    nutanix::PLATFORM,
    openstack::PLATFORM,
    powervs::PLATFORM,
    vsphere::PLATFORM,
    // The platform that docs/adding-a-platform.md adds; the tests follow the page.
    #[cfg(test)]
    tests::acme::PLATFORM,
];

/// A platform. A new one starts from [`Platform::NEW`] and sets what it needs.
#[derive(Debug, Clone, Copy)]
pub struct Platform {
    /// The value of the Infrastructure's `status.platformStatus.type`.
    pub type_: &'static str,
    /// Whether it is the platform of a cluster of that type; for types that have more than one platform.
    pub applies: fn(&PlatformStatus) -> bool,
    /// Whether it has a cloud configuration, `cloud-conf`, and how the one of the user is transformed.
    pub cloud_config: CloudConfig,
    /// Which project's manager is used if images.json names none.
    pub provider: Provider,
    /// Names of containers, each with the key of its image in images.json.
    pub images: &'static [(&'static str, &'static str)],
    /// Files with its objects in a cluster, in upstream's order. A `Deployment` or `DaemonSet` is merged into the one
    /// in `shared/`, which also has the `Service` and the `PodDisruptionBudget`.
    pub manifests: &'static [&'static str],
    /// Files with its static Pods on the machine that starts a cluster; merged into `shared/pod.yaml`.
    pub bootstrap: &'static [&'static str],
    /// Further placeholders for its files.
    pub values: fn(&Setting) -> Vec<(&'static str, String)>,
    /// Secrets that its Pods read through the API: a change has to roll them, although no volume names the Secret.
    pub hashed_secrets: &'static [&'static str],
}

/// Which project's manager is used on a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// This project's, in the operator's own image.
    Ours,
    /// Another project's; images.json has to name its image.
    Theirs,
}

/// Why the objects cannot be rendered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// images.json is not complete.
    #[error("images.json names no image for platform {platform}: missing {}", fields.join("; "))]
    Images {
        /// The platform.
        platform: &'static str,
        /// The missing keys, sorted.
        fields: Vec<String>,
    },
    /// The cluster does not set a value that the platform needs.
    #[error("{what} is empty, and platform {platform} needs it")]
    Unset {
        /// The platform.
        platform: &'static str,
        /// The value.
        what: &'static str,
    },
    /// A file of a platform is invalid.
    #[error("the manifests of platform {platform} are wrong: {reason}")]
    Manifest {
        /// The platform.
        platform: &'static str,
        /// The reason.
        reason: String,
    },
}

impl Platform {
    /// A platform without objects.
    pub const NEW: Self = Self {
        type_: "",
        applies: |_| true,
        cloud_config: CloudConfig::None,
        provider: Provider::Theirs,
        images: &[],
        manifests: &[],
        bootstrap: &[],
        values: |_| Vec::new(),
        hashed_secrets: &[],
    };

    /// The platform of a cluster, if it has operands.
    pub fn find(status: &PlatformStatus) -> Option<&'static Self> {
        ALL.iter()
            .find(|platform| platform.type_ == status.type_ && (platform.applies)(status))
    }

    /// The objects of this platform in a cluster, independent of the platform in the setting.
    ///
    /// # Errors
    /// If an image or a name is missing, or a file of the platform is invalid.
    pub fn resources(&self, setting: &Setting) -> Result<Vec<Object>, Error> {
        Rendering::new(self, setting)?.resources()
    }

    /// The static Pods of this platform on the machine that starts a cluster.
    ///
    /// # Errors
    /// As [`Platform::resources`].
    pub fn bootstrap_resources(&self, setting: &Setting) -> Result<Vec<Object>, Error> {
        Rendering::new(self, setting)?.bootstrap_resources()
    }
}

/// The objects of the cluster's platform, in upstream's order; none if the platform has no operands.
///
/// # Errors
/// If an image or a name is missing, or a file of the platform is invalid.
pub fn resources(setting: &Setting) -> Result<Vec<Object>, Error> {
    Platform::find(&setting.platform).map_or(Ok(Vec::new()), |platform| platform.resources(setting))
}

/// The static Pods for the machine that starts a cluster; none if the platform has no operands.
///
/// # Errors
/// As [`resources`].
pub fn bootstrap_resources(setting: &Setting) -> Result<Vec<Object>, Error> {
    Platform::find(&setting.platform).map_or(Ok(Vec::new()), |platform| platform.bootstrap_resources(setting))
}

#[cfg(test)]
mod tests;
