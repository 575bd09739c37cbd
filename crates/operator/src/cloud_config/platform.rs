//! Which platforms have a cloud configuration, and how it comes to be.

use super::Error;
use crate::platforms;
use operator_api::Infrastructure;

/// What becomes of the configuration that a user gives. A platform says it in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloudConfig {
    /// The platform has none.
    None,
    /// What the user gives is what the operand reads.
    Untouched,
    /// Amazon's.
    Aws,
    /// That of Microsoft's own clouds.
    Azure,
    /// Azure Stack Hub's, in a data centre of the user.
    AzureStack,
    /// `OpenStack`'s.
    OpenStack,
    /// `VMware`'s.
    VSphere,
}

impl CloudConfig {
    /// That of a cluster's platform.
    ///
    /// # Errors
    /// If the Infrastructure does not say where it is.
    pub fn of(infrastructure: &Infrastructure) -> Result<Self, Error> {
        let no_platform = || Error::Terminal("the Infrastructure \"cluster\" has no status.platformStatus".to_owned());
        let status = infrastructure.status.platform_status.as_ref().ok_or_else(no_platform)?;
        Ok(platforms::Platform::find(status).map_or(Self::None, |platform| platform.cloud_config))
    }

    /// Whether another operator prepares the configuration, with what it knows of the cluster.
    pub(crate) fn reads_managed(self) -> bool {
        matches!(self, Self::Aws | Self::Azure | Self::AzureStack)
    }
}
