//! Google Cloud.

use super::{CloudConfig, Platform, images::MANAGER};

/// What runs on GCP.
pub const PLATFORM: Platform = Platform {
    type_: "GCP",
    cloud_config: CloudConfig::Untouched,
    images: &[(MANAGER, "cloudControllerManagerGCP")],
    manifests: &[
        include_str!("deployment.yaml"),
        include_str!("events-and-services.yaml"),
        include_str!("network-tier.yaml"),
    ],
    bootstrap: &[include_str!("bootstrap.yaml")],
    ..Platform::NEW
};
