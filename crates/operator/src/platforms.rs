//! Platforms: which objects each of them asks for.
//!
//! A platform is a folder: plain YAML and a [`Platform`] that lists it. [`resources`] is what runs in a cluster,
//! [`bootstrap_resources`] what a machine runs that starts one. Both only compute: the same [`Setting`] gives the same
//! objects. `docs/adding-a-platform.md` walks through adding one.

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

/// Every platform that has operands. Where two have the same type, the first one that applies is taken.
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
    // The one that docs/adding-a-platform.md adds, where the tests follow it.
    #[cfg(test)]
    tests::acme::PLATFORM,
];

/// What a platform asks for. A new one starts from [`Platform::NEW`] and says what it has.
#[derive(Debug, Clone, Copy)]
pub struct Platform {
    /// As the Infrastructure's `status.platformStatus.type` spells it.
    pub type_: &'static str,
    /// Which clusters of that type; for types that are more than one platform.
    pub applies: fn(&PlatformStatus) -> bool,
    /// Whether it has a cloud configuration, `cloud-conf`, and what becomes of the one that the user gives.
    pub cloud_config: CloudConfig,
    /// Whose program manages it if images.json says nothing.
    pub provider: Provider,
    /// Names of containers, and the key of images.json that has the image for it.
    pub images: &'static [(&'static str, &'static str)],
    /// Files with what it asks for in a cluster, in upstream's order. A `Deployment` or `DaemonSet` is laid over the one
    /// in `shared/`, which also has the `Service` and the `PodDisruptionBudget`.
    pub manifests: &'static [&'static str],
    /// Files with what it asks for on a machine that starts a cluster; laid over `shared/pod.yaml`.
    pub bootstrap: &'static [&'static str],
    /// Further placeholders for its files.
    pub values: fn(&Setting) -> Vec<(&'static str, String)>,
    /// Secrets that its Pods read through the API: a change has to roll them, although no volume says so.
    pub hashed_secrets: &'static [&'static str],
}

/// Whose program manages a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// This project's, in the operator's own image.
    Ours,
    /// An image of another project, which images.json has to name.
    Theirs,
}

/// Why there are no objects.
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
    /// The cluster does not say something that the platform needs.
    #[error("{what} is empty, and platform {platform} needs it")]
    Unset {
        /// The platform.
        platform: &'static str,
        /// What is empty.
        what: &'static str,
    },
    /// A file of a platform is wrong.
    #[error("the manifests of platform {platform} are wrong: {reason}")]
    Manifest {
        /// The platform.
        platform: &'static str,
        /// In which way.
        reason: String,
    },
}

impl Platform {
    /// Nothing yet.
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

    /// What this platform asks for in a cluster, whatever the setting says about the platform.
    ///
    /// # Errors
    /// If an image or a name is missing, or a file of the platform is wrong.
    pub fn resources(&self, setting: &Setting) -> Result<Vec<Object>, Error> {
        Rendering::new(self, setting)?.resources()
    }

    /// What this platform asks for on a machine that starts a cluster.
    ///
    /// # Errors
    /// As [`Platform::resources`].
    pub fn bootstrap_resources(&self, setting: &Setting) -> Result<Vec<Object>, Error> {
        Rendering::new(self, setting)?.bootstrap_resources()
    }
}

/// What the cluster's platform asks for, in upstream's order; nothing if the platform has no operands.
///
/// # Errors
/// If an image or a name is missing, or a file of the platform is wrong.
pub fn resources(setting: &Setting) -> Result<Vec<Object>, Error> {
    Platform::find(&setting.platform).map_or(Ok(Vec::new()), |platform| platform.resources(setting))
}

/// The static Pods for a machine that starts a cluster; nothing if the platform has no operands.
///
/// # Errors
/// As [`resources`].
pub fn bootstrap_resources(setting: &Setting) -> Result<Vec<Object>, Error> {
    Platform::find(&setting.platform).map_or(Ok(Vec::new()), |platform| platform.bootstrap_resources(setting))
}

#[cfg(test)]
mod tests;
