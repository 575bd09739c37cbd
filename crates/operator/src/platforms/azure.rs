//! Azure, except Azure Stack Hub.

use super::{
    CloudConfig, Platform,
    images::{MANAGER, OPERATOR},
};

/// The platform Azure.
pub const PLATFORM: Platform = Platform {
    type_: "Azure",
    cloud_config: CloudConfig::Azure,
    images: IMAGES,
    manifests: &[
        include_str!("azure/deployment.yaml"),
        include_str!("azure/node-manager.yaml"),
        RESOURCE_LOCKER,
        include_str!("azure/endpoint-slices.yaml"),
        include_str!("azure/node-admission.yaml"),
        include_str!("azure/idle-timeout.yaml"),
    ],
    bootstrap: &[include_str!("azure/bootstrap.yaml")],
    ..Platform::NEW
};

/// The images of any Azure platform.
pub(super) const IMAGES: &[(&str, &str)] = &[
    (MANAGER, "cloudControllerManagerAzure"),
    ("cloud-node-manager", "cloudNodeManagerAzure"),
    ("azure-inject-credentials", OPERATOR),
];
/// The permission for the resource lock of any Azure platform.
pub(super) const RESOURCE_LOCKER: &str = include_str!("azure/resource-locker.yaml");
