//! Acme Cloud.

use super::{CloudConfig, Platform, images::MANAGER};

/// The platform Acme Cloud.
pub const PLATFORM: Platform = Platform {
    type_: "Acme",
    cloud_config: CloudConfig::Untouched,
    images: &[(MANAGER, "cloudControllerManagerAcme")],
    manifests: &[include_str!("acme/deployment.yaml"), include_str!("acme/roles.yaml")],
    bootstrap: &[include_str!("acme/bootstrap.yaml")],
    values: |setting| vec![("region", region(&setting.infrastructure_name).to_owned())],
    ..Platform::NEW
};

/// The names of Acme's clusters begin with their region: `mars-x7k2p`.
fn region(infrastructure_name: &str) -> &str {
    infrastructure_name.split_once('-').map_or("", |(region, _)| region)
}
