//! Google Cloud.

use super::{CloudConfig, Platform, images::MANAGER};

/// The platform GCP.
pub const PLATFORM: Platform = Platform {
    type_: "GCP",
    cloud_config: CloudConfig::Untouched,
    images: &[(MANAGER, "cloudControllerManagerGCP")],
    manifests: &[
        include_str!("gcp/deployment.yaml"),
        include_str!("gcp/events-and-services.yaml"),
        include_str!("gcp/network-tier.yaml"),
    ],
    bootstrap: &[include_str!("gcp/bootstrap.yaml")],
    ..Platform::NEW
};
