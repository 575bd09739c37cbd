//! Azure Stack Hub: Azure in one's own data centre.

use super::{CloudConfig, Platform, azure};

/// What runs on Azure Stack Hub.
pub const PLATFORM: Platform = Platform {
    type_: "Azure",
    applies: |status| {
        status
            .azure
            .as_ref()
            .is_some_and(|azure| azure.cloud_name == "AzureStackCloud")
    },
    cloud_config: CloudConfig::AzureStack,
    images: azure::IMAGES,
    manifests: &[
        include_str!("deployment.yaml"),
        include_str!("node-manager.yaml"),
        azure::RESOURCE_LOCKER,
    ],
    bootstrap: &[include_str!("bootstrap.yaml")],
    ..Platform::NEW
};
