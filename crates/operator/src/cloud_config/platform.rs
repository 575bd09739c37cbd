//! Which platforms have a cloud configuration, and how it comes to be.

use super::{Error, azure};
use operator_api::Infrastructure;

/// A platform with a cloud configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Amazon.
    Aws,
    /// Microsoft's own clouds.
    Azure,
    /// Azure Stack Hub, in somebody's own data centre.
    AzureStack,
    /// `OpenStack`.
    OpenStack,
    /// `VMware`.
    VSphere,
    /// GCP, IBM Cloud, Power VS and Nutanix: what the user gives is what the operand reads.
    Untouched,
}

impl Platform {
    /// The platform, or nothing for one without a cloud configuration.
    ///
    /// # Errors
    /// If the Infrastructure does not say where it is.
    pub fn of(infrastructure: &Infrastructure) -> Result<Option<Self>, Error> {
        let unsaid = || Error::Terminal("the Infrastructure \"cluster\" has no status.platformStatus".to_owned());
        let status = infrastructure.status.platform_status.as_ref().ok_or_else(unsaid)?;
        Ok(match status.type_.as_str() {
            "AWS" => Some(Self::Aws),
            "Azure" if azure::cloud_name(infrastructure) == azure::STACK => Some(Self::AzureStack),
            "Azure" => Some(Self::Azure),
            "OpenStack" => Some(Self::OpenStack),
            "VSphere" => Some(Self::VSphere),
            "GCP" | "IBMCloud" | "PowerVS" | "Nutanix" => Some(Self::Untouched),
            _ => None,
        })
    }

    /// Whether another operator prepares the configuration, with what it knows of the cluster.
    pub(crate) fn reads_managed(self) -> bool {
        matches!(self, Self::Aws | Self::Azure | Self::AzureStack)
    }
}
