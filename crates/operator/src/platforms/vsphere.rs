//! vSphere.

use super::{CloudConfig, Platform, Setting, images::MANAGER};

/// The platform vSphere.
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

/// Labels the nodes of vSphere if the cluster may have other nodes.
fn additional_node_labels(setting: &Setting) -> &'static str {
    let mixed = setting.gates.iter().any(|gate| gate == "VSphereMixedNodeEnv");
    if mixed {
        "node.openshift.io/platform-type=vsphere"
    } else {
        ""
    }
}
