//! Azure Stack Hub: Azure in the user's own data centre.

use super::{CloudConfig, Platform, azure};

/// The platform Azure Stack Hub.
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
        include_str!("azure_stack_hub/deployment.yaml"),
        include_str!("azure_stack_hub/node-manager.yaml"),
        azure::RESOURCE_LOCKER,
    ],
    bootstrap: &[include_str!("azure_stack_hub/bootstrap.yaml")],
    ..Platform::NEW
};
