//! IBM Cloud.

use super::{CloudConfig, Platform, images::MANAGER};

/// The platform IBM Cloud.
pub const PLATFORM: Platform = Platform {
    type_: "IBMCloud",
    cloud_config: CloudConfig::Untouched,
    images: &[(MANAGER, "cloudControllerManagerIBM")],
    manifests: &[include_str!("ibmcloud/deployment.yaml")],
    bootstrap: &[include_str!("ibmcloud/bootstrap.yaml")],
    ..Platform::NEW
};
