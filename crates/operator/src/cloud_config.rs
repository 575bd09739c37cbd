//! The cloud configuration that the operands read: chosen from its sources, transformed for the platform.
//!
//! Read [`decide`] first. Everything here is pure: [`World`] is what exists in the cluster, [`Desired`] is what should
//! exist. A transform is idempotent, keeps unknown keys, and names the key that is wrong.

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

/// The namespace of objects that administrators write.
pub const USER_NAMESPACE: &str = "openshift-config";
/// The namespace of objects that operators write for each other.
pub const MANAGED_NAMESPACE: &str = "openshift-config-managed";
/// The configuration in [`MANAGED_NAMESPACE`].
pub const MANAGED_NAME: &str = "kube-cloud-config";
/// The configuration that the operands read, in their namespace.
pub const NAME: &str = "cloud-conf";
/// Its key.
pub const KEY: &str = "cloud.conf";

/// The gate that gives load balancers of AWS security groups.
const AWS_SECURITY_GROUPS: &str = "AWSServiceLBNetworkSecurityGroup";
/// The gate that allows vCenters to change after the installation; then this operator writes the managed configuration.
const VSPHERE_DAY_2: &str = "VSphereMultiVCenterDay2";

/// What exists in the cluster.
#[derive(Debug, Clone, Copy)]
pub struct World<'a> {
    /// The Infrastructure of the cluster.
    pub infrastructure: &'a Infrastructure,
    /// Its network, if it was read.
    pub network: Option<&'a Network>,
    /// The enabled gates, if they were read.
    pub gates: Option<&'a [String]>,
    /// `openshift-config-managed/kube-cloud-config`, if it exists.
    pub managed: Option<&'a ConfigMap>,
    /// The `ConfigMap` in `openshift-config` that the Infrastructure's `spec.cloudConfig` names, if it exists.
    pub referenced: Option<&'a ConfigMap>,
}

/// What should exist in the cluster. `None` is not written by this operator.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Desired {
    /// For `cloud-conf` in the operands' namespace.
    pub cloud_conf: Option<Content>,
    /// For `openshift-config-managed/kube-cloud-config`.
    pub managed: Option<Content>,
    /// Warnings for the user, each one sentence.
    pub warnings: Vec<String>,
}

/// Decides what the cloud configuration should be.
///
/// # Errors
/// [`Error::Transient`] if something that the platform needs was not read yet; [`Error::Terminal`] if a source is
/// missing or invalid.
pub fn decide(world: &World<'_>) -> Result<Desired, Error> {
    let platform = CloudConfig::of(world.infrastructure)?;
    if platform == CloudConfig::None {
        return Ok(Desired::default());
    }
    let writer = world.writer(platform)?;
    let reference = &world.infrastructure.spec.cloud_config;
    let managed = world.managed.filter(|_| platform.reads_managed());
    let chosen = source::choose(writer, reference, managed, world.referenced)?;

    let text = chosen.text();
    let transformed = world
        .transform(platform, text)
        .map_err(|error| error.of(&chosen.origin))?;
    let content = chosen.content.with(KEY, transformed);
    Ok(Desired {
        managed: (writer == Writer::ThisOperator).then(|| content.clone()),
        cloud_conf: Some(content),
        warnings: chosen.warnings,
    })
}

/// Adapts a cloud configuration to the platform's operands. Applied to its own result it changes nothing.
///
/// # Errors
/// As [`decide`]; and if the platform has no cloud configuration.
pub fn transform(world: &World<'_>, text: &str) -> Result<String, Error> {
    world.transform(CloudConfig::of(world.infrastructure)?, text)
}

/// Which operator writes `openshift-config-managed/kube-cloud-config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// This operator.
    ThisOperator,
    /// Another one.
    Another,
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

    fn writer(&self, platform: CloudConfig) -> Result<Writer, Error> {
        Ok(match platform {
            CloudConfig::VSphere if self.is_on(VSPHERE_DAY_2)? => Writer::ThisOperator,
            _ => Writer::Another,
        })
    }

    fn security_groups(&self) -> Result<aws::SecurityGroups, Error> {
        Ok(if self.is_on(AWS_SECURITY_GROUPS)? {
            aws::SecurityGroups::Managed
        } else {
            aws::SecurityGroups::AsConfigured
        })
    }

    /// The part of the cluster that vSphere's configuration depends on; `None` without its platform spec.
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

    /// A gate that the cluster does not list is disabled.
    fn is_on(&self, gate: &str) -> Result<bool, Error> {
        let unseen = || Error::Transient("the feature gates have not been seen yet".to_owned());
        Ok(self.gates.ok_or_else(unseen)?.iter().any(|on| on == gate))
    }
}

#[cfg(test)]
mod tests;
