//! IBM Power Virtual Server.

use super::{CloudConfig, Platform, images::MANAGER};

/// The platform Power VS.
pub const PLATFORM: Platform = Platform {
    type_: "PowerVS",
    cloud_config: CloudConfig::Untouched,
    images: &[(MANAGER, "cloudControllerManagerPowerVS")],
    manifests: &[include_str!("powervs/deployment.yaml")],
    bootstrap: &[include_str!("powervs/bootstrap.yaml")],
    ..Platform::NEW
};
