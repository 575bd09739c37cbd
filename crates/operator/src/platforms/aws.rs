//! Amazon Web Services.

use super::{CloudConfig, Platform, Provider, images::MANAGER};

/// The platform AWS.
pub const PLATFORM: Platform = Platform {
    type_: "AWS",
    provider: Provider::Ours,
    cloud_config: CloudConfig::Aws,
    images: &[(MANAGER, "cloudControllerManagerAWS")],
    manifests: &[
        include_str!("aws/deployment.yaml"),
        include_str!("aws/load-balancer-type.yaml"),
    ],
    bootstrap: &[include_str!("aws/bootstrap.yaml")],
    ..Platform::NEW
};
