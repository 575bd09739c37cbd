//! The kubelets and their flags.

use super::programs::of_file;
use crate::{Snapshot, flags::Flags, version::Version};
use k8s_openapi::api::core::v1::Node;
use serde_json::Value;

/// The label of nodes of the control plane, today and in older versions.
const CONTROL_PLANE: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];
/// The `MachineConfig` that a node of `OpenShift` runs with.
const CURRENT_CONFIG: &str = "machineconfiguration.openshift.io/currentConfig";

/// The part that a node has in a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It runs Pods of users.
    Worker,
    /// It runs the control plane.
    ControlPlane,
}

/// One kubelet.
#[derive(Debug, Clone, PartialEq)]
pub struct Kubelet {
    /// Its node.
    pub node: String,
    /// The part of the node.
    pub role: Role,
    /// Its version.
    pub version: Option<Version>,
    /// Its flags; `None` if they could not be read. The API does not have them.
    pub flags: Option<Flags>,
    /// Its configuration, if it could be read.
    pub config: Option<Value>,
}

impl Kubelet {
    /// The value of a feature gate, of the configuration or of the flags.
    #[must_use]
    pub fn gate(&self, name: &str) -> Option<bool> {
        let configured = self
            .config
            .as_ref()
            .and_then(|config| config["featureGates"][name].as_bool());
        self.flags.as_ref().and_then(|flags| flags.gate(name)).or(configured)
    }
}

/// All kubelets, by node.
pub(super) fn of(snapshot: &Snapshot) -> Vec<Kubelet> {
    let mut kubelets: Vec<Kubelet> = snapshot.nodes.iter().map(|node| kubelet(snapshot, node)).collect();
    kubelets.sort_by(|a, b| a.node.cmp(&b.node));
    kubelets
}

fn kubelet(snapshot: &Snapshot, node: &Node) -> Kubelet {
    let name = node.metadata.name.clone().unwrap_or_default();
    let labels = node.metadata.labels.iter().flatten();
    let is_control_plane = labels.into_iter().any(|(key, _)| CONTROL_PLANE.contains(&key.as_str()));
    let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
    Kubelet {
        role: if is_control_plane {
            Role::ControlPlane
        } else {
            Role::Worker
        },
        version: info.and_then(|info| Version::parse(&info.kubelet_version)),
        flags: given(snapshot, &name).or_else(|| of_machine_config(snapshot, node)),
        config: snapshot.configz.get(&name).cloned(),
        node: name,
    }
}

/// The flags in the file that the user gave: the one for this node, else the one for all.
fn given(snapshot: &Snapshot, node: &str) -> Option<Flags> {
    let of_kubelets = || snapshot.given.iter().filter(|given| given.program == "kubelet");
    let own = of_kubelets().find(|given| given.node.as_deref() == Some(node));
    let for_all = || of_kubelets().find(|given| given.node.is_none());
    own.or_else(for_all).map(|given| of_file(&given.text))
}

/// The flags in the unit of kubelet.
fn of_machine_config(snapshot: &Snapshot, node: &Node) -> Option<Flags> {
    let current = node.metadata.annotations.as_ref()?.get(CURRENT_CONFIG)?;
    let is_current = |config: &&Value| config["metadata"]["name"].as_str() == Some(current);
    let config = snapshot.machine_configs.iter().find(is_current)?;
    let units = config["spec"]["config"]["systemd"]["units"].as_array()?;
    let unit = units
        .iter()
        .find(|unit| unit["name"].as_str() == Some("kubelet.service"))?;
    unit["contents"].as_str().map(Flags::of_text)
}
