//! `OpenStack`.

use super::{CloudConfig, Platform, Provider, images::MANAGER};

/// The platform `OpenStack`.
pub const PLATFORM: Platform = Platform {
    type_: "OpenStack",
    provider: Provider::Ours,
    cloud_config: CloudConfig::OpenStack,
    images: &[(MANAGER, "cloudControllerManagerOpenStack")],
    manifests: &[include_str!("openstack/deployment.yaml")],
    bootstrap: &[include_str!("openstack/bootstrap.yaml")],
    ..Platform::NEW
};
