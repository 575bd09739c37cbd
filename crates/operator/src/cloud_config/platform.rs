//! Which platforms have a cloud configuration, and how it is transformed.

use super::Error;
use crate::platforms;
use operator_api::Infrastructure;

/// How the configuration of the user is transformed. The row of a platform names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloudConfig {
    /// The platform has none.
    None,
    /// The operand reads the configuration of the user unchanged.
    Untouched,
    /// AWS.
    Aws,
    /// The public Azure clouds.
    Azure,
    /// Azure Stack Hub, in a data centre of the user.
    AzureStack,
    /// `OpenStack`.
    OpenStack,
    /// `VMware` vSphere.
    VSphere,
}

impl CloudConfig {
    /// The transformation for the platform of a cluster.
    ///
    /// # Errors
    /// If the Infrastructure has no platform.
    pub fn of(infrastructure: &Infrastructure) -> Result<Self, Error> {
        let no_platform = || Error::Terminal("the Infrastructure \"cluster\" has no status.platformStatus".to_owned());
        let status = infrastructure.status.platform_status.as_ref().ok_or_else(no_platform)?;
        Ok(platforms::Platform::find(status).map_or(Self::None, |platform| platform.cloud_config))
    }

    /// Whether another operator prepares the configuration from what it knows of the cluster.
    pub(crate) fn reads_managed(self) -> bool {
        matches!(self, Self::Aws | Self::Azure | Self::AzureStack)
    }
}
