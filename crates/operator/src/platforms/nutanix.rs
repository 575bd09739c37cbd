//! Nutanix.

use super::{CloudConfig, Platform, images::MANAGER};

/// The platform Nutanix.
pub const PLATFORM: Platform = Platform {
    type_: "Nutanix",
    cloud_config: CloudConfig::Untouched,
    images: &[(MANAGER, "cloudControllerManagerNutanix")],
    manifests: &[
        include_str!("nutanix/deployment.yaml"),
        include_str!("nutanix/roles.yaml"),
    ],
    bootstrap: &[include_str!("nutanix/bootstrap.yaml")],
    hashed_secrets: &["nutanix-credentials"],
    ..Platform::NEW
};
