//! `OpenStack`.

use super::{Platform, Provider, images::MANAGER};

/// What runs on `OpenStack`.
pub const PLATFORM: Platform = Platform {
    type_: "OpenStack",
    provider: Provider::Ours,
    images: &[(MANAGER, "cloudControllerManagerOpenStack")],
    manifests: &[include_str!("deployment.yaml")],
    bootstrap: &[include_str!("bootstrap.yaml")],
    ..Platform::NEW
};
