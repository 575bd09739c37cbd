//! vSphere.

use super::{CloudConfig, Platform, Setting, images::MANAGER};

/// What runs on vSphere.
pub const PLATFORM: Platform = Platform {
    type_: "VSphere",
    cloud_config: CloudConfig::VSphere,
    images: &[(MANAGER, "cloudControllerManagerVSphere")],
    manifests: &[
        include_str!("vsphere/deployment.yaml"),
        include_str!("vsphere/roles.yaml"),
    ],
    bootstrap: &[include_str!("vsphere/bootstrap.yaml")],
    values: |setting| vec![("additionalNodeLabels", additional_node_labels(setting).to_owned())],
    ..Platform::NEW
};

/// Where a cluster may have nodes that are not vSphere's, its own ones say that they are.
fn additional_node_labels(setting: &Setting) -> &'static str {
    let mixed = setting.gates.iter().any(|gate| gate == "VSphereMixedNodeEnv");
    if mixed {
        "node.openshift.io/platform-type=vsphere"
    } else {
        ""
    }
}
