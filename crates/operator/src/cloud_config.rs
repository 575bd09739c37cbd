//! The cloud configuration that the operands read: chosen from its sources, transformed for the platform.
//!
//! Read [`decide`] first. Everything here is pure: what is in the cluster comes in as a [`World`], what should be in it
//! goes out as a [`Decision`]. A transform is idempotent, keeps what it does not know, and names the key that is wrong.

mod aws;
mod azure;
mod content;
mod error;
mod go_yaml;
pub(crate) mod json;
mod openstack;
mod platform;
pub mod source;
mod vsphere;

pub(crate) use content::has_same_meaning;
pub use content::{Content, Mutability};
pub use error::{Error, Invalid};
pub use platform::CloudConfig;

use k8s_openapi::api::core::v1::ConfigMap;
use operator_api::{Infrastructure, Network};

/// The namespace of what administrators write.
pub const USER_NAMESPACE: &str = "openshift-config";
/// The namespace of what operators write for each other.
pub const MANAGED_NAMESPACE: &str = "openshift-config-managed";
/// The configuration in [`MANAGED_NAMESPACE`].
pub const MANAGED_NAME: &str = "kube-cloud-config";
/// The configuration that the operands read, in their namespace.
pub const NAME: &str = "cloud-conf";
/// Its key.
pub const KEY: &str = "cloud.conf";

/// The gate by which the load balancers of AWS get security groups.
const AWS_SECURITY_GROUPS: &str = "AWSServiceLBNetworkSecurityGroup";
/// The gate by which the vCenters may change after the installation, and the managed configuration is ours to write.
const VSPHERE_DAY_2: &str = "VSphereMultiVCenterDay2";

/// What is in the cluster.
#[derive(Debug, Clone, Copy)]
pub struct World<'a> {
    /// Where the cluster runs.
    pub infrastructure: &'a Infrastructure,
    /// Its network, if it has been seen.
    pub network: Option<&'a Network>,
    /// The gates that are on, if they have been seen.
    pub gates: Option<&'a [String]>,
    /// `openshift-config-managed/kube-cloud-config`, if there is one.
    pub managed: Option<&'a ConfigMap>,
    /// What the Infrastructure's `spec.cloudConfig` names in `openshift-config`, if there is one.
    pub referenced: Option<&'a ConfigMap>,
}

/// What should be in the cluster. What is `None` is not ours to write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decision {
    /// For `cloud-conf` in the operands' namespace.
    pub cloud_conf: Option<Content>,
    /// For `openshift-config-managed/kube-cloud-config`.
    pub managed: Option<Content>,
    /// What a user should know, each in one sentence.
    pub warnings: Vec<String>,
}

/// Decides what the cloud configuration should be.
///
/// # Errors
/// [`Error::Transient`] if something that the platform needs has not been seen; [`Error::Terminal`] if a source is
/// missing or wrong.
pub fn decide(world: &World<'_>) -> Result<Decision, Error> {
    let platform = CloudConfig::of(world.infrastructure)?;
    if platform == CloudConfig::None {
        return Ok(Decision::default());
    }
    let ownership = world.ownership(platform)?;
    let reference = &world.infrastructure.spec.cloud_config;
    let managed = world.managed.filter(|_| platform.reads_managed());
    let chosen = source::choose(ownership, reference, managed, world.referenced)?;

    let text = chosen.text();
    let transformed = world
        .transform(platform, text)
        .map_err(|error| error.of(&chosen.origin))?;
    let content = chosen.content.with(KEY, transformed);
    Ok(Decision {
        managed: (ownership == Ownership::Ours).then(|| content.clone()),
        cloud_conf: Some(content),
        warnings: chosen.warnings,
    })
}

/// Makes a cloud configuration fit for the platform's operands. Applied to its own result it changes nothing.
///
/// # Errors
/// As [`decide`]; and if the platform has no cloud configuration.
pub fn transform(world: &World<'_>, text: &str) -> Result<String, Error> {
    world.transform(CloudConfig::of(world.infrastructure)?, text)
}

/// Who writes `openshift-config-managed/kube-cloud-config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// This operator.
    Ours,
    /// Another one.
    Others,
}

impl World<'_> {
    fn transform(&self, platform: CloudConfig, text: &str) -> Result<String, Error> {
        let done = match platform {
            CloudConfig::None => Err(Invalid("this platform has no cloud configuration".to_owned())),
            CloudConfig::Aws => aws::transform(text, self.security_groups()?),
            CloudConfig::Azure => azure::transform(text, azure::cloud_name(self.infrastructure)),
            CloudConfig::AzureStack => azure::transform_stack(text),
            CloudConfig::OpenStack => openstack::transform(text),
            CloudConfig::VSphere => vsphere::transform(text, self.vsphere()?.as_ref()),
            CloudConfig::Untouched => Ok(text.to_owned()),
        };
        done.map_err(Error::from)
    }

    fn ownership(&self, platform: CloudConfig) -> Result<Ownership, Error> {
        Ok(match platform {
            CloudConfig::VSphere if self.is_on(VSPHERE_DAY_2)? => Ownership::Ours,
            _ => Ownership::Others,
        })
    }

    fn security_groups(&self) -> Result<aws::SecurityGroups, Error> {
        Ok(if self.is_on(AWS_SECURITY_GROUPS)? {
            aws::SecurityGroups::Managed
        } else {
            aws::SecurityGroups::AsConfigured
        })
    }

    /// What vSphere's configuration takes from the cluster; without its platform spec, nothing.
    fn vsphere(&self) -> Result<Option<vsphere::Cluster<'_>>, Error> {
        let Some(spec) = &self.infrastructure.spec.platform_spec.vsphere else {
            return Ok(None);
        };
        let unseen = || Error::Transient("the Network \"cluster\" has not been seen yet".to_owned());
        let status = self.infrastructure.status.platform_status.as_ref();
        Ok(Some(vsphere::Cluster {
            spec,
            addresses: status.and_then(|status| status.vsphere.as_ref()),
            services: &self.network.ok_or_else(unseen)?.spec.service_network,
        }))
    }

    /// A gate that the cluster has never heard of is off.
    fn is_on(&self, gate: &str) -> Result<bool, Error> {
        let unseen = || Error::Transient("the feature gates have not been seen yet".to_owned());
        Ok(self.gates.ok_or_else(unseen)?.iter().any(|on| on == gate))
    }
}

#[cfg(test)]
mod tests;
