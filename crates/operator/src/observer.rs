//! Which flags kubelet, kube-controller-manager and kube-apiserver need for their cloud.
//!
//! A cluster's cloud code runs in one of two places. **In-tree**, all three programs know the cloud by its name
//! (`--cloud-provider=openstack`) and read its configuration (`--cloud-config`). **External**, a cloud controller manager does the
//! work: kubelet runs with `--cloud-provider=external`, which also taints new nodes until the manager has initialized them, and
//! kube-controller-manager and kube-apiserver have no cloud flags, because kube-controller-manager would run the cloud's controllers
//! a second time. Only while in-tree plugins attach volumes does kube-controller-manager need the cloud's name, as
//! `--external-cloud-volume-plugin`.
//!
//! # Precedence
//! 1. The annotation [`ANNOTATION`] on the Infrastructure. An empty or a true value (as Go reads booleans: `1`, `t`, `true`, …) moves a
//!    cluster of any platform to an external cloud provider; a false value moves it back and deletes the operands. Any other value is
//!    ignored and reported. If Kubernetes has no in-tree provider for the platform, a false value leaves the flags as they are, because
//!    kubelet does not start with the name of an unknown cloud; that new nodes stay uninitialized is reported.
//! 2. The feature gates `ExternalCloudProvider` and `ExternalCloudProvider<platform>` of older clusters; disabled beats enabled.
//! 3. The platform: [`is_external`](crate::platforms::external::is_external).
//!
//! # Order
//! Two programs must never run the cloud's controllers at the same time, and a node must never wait for a manager that is not allowed
//! to run. So the changes depend on which program runs the controllers now ([`Owner`]):
//!
//! | | first | then | last |
//! |---|---|---|---|
//! | upgrade | kube-controller-manager and kube-apiserver lose their flags | the operands start | kubelet changes to `external` |
//! | downgrade | the operands are deleted | kube-controller-manager and kube-apiserver get the cloud's name | so does kubelet |
//!
//! [`observe`] returns what holds now. Called again after each step, it leads through all of them. A new cluster, on which no program
//! runs the controllers, gets all flags at once.

mod flags;
mod place;
#[cfg(test)]
mod tests;

pub use crate::platforms::external::ANNOTATION;
pub use flags::Flags;
pub use place::{InTree, Place};

use flags::{KUBELET_CONFIG, STATIC_POD_CONFIGS};
use operator_api::{feature_gate, infrastructure::PlatformStatus};

/// The facts that the flags depend on.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The platform of the Infrastructure; `None` before the installer has written it.
    pub platform: Option<&'a PlatformStatus>,
    /// The value of [`ANNOTATION`].
    pub annotation: Option<&'a str>,
    /// The features of the version that the cluster runs.
    pub gates: Option<&'a feature_gate::Details>,
    /// The minor version of Kubernetes: 24 of 1.24.
    pub kubernetes: u32,
    /// The key of the cloud configuration; `None` if the cluster has none.
    pub cloud_config: Option<&'a str>,
    /// Which component attaches volumes.
    pub volumes: Volumes,
    /// Which program runs the cloud's controllers.
    pub owner: Owner,
}

/// Which component attaches volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Volumes {
    /// CSI drivers: the default in all supported versions.
    #[default]
    Csi,
    /// In-tree plugins, with an external cloud provider: before CSI migration.
    InTree,
}

/// Which program runs the cloud's controllers now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Owner {
    /// No program: the cluster is new, or between two steps.
    #[default]
    None,
    /// kube-controller-manager.
    InTree,
    /// The operands.
    External,
}

impl Owner {
    /// Reads the conditions `CloudControllerOwner` of the `KubeControllerManager` and of the `ClusterOperator`. Ours has precedence:
    /// running controllers are not stopped because another program claims them, too.
    #[must_use]
    pub fn of(kube_controller_manager: Option<&str>, cluster_operator: Option<&str>) -> Self {
        match (kube_controller_manager, cluster_operator) {
            (_, Some("True")) => Self::External,
            (Some("True"), _) => Self::InTree,
            _ => Self::None,
        }
    }
}

/// What a cluster needs now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Where the cloud code should run.
    pub place: Place,
    /// kubelet's flags.
    pub kubelet: Flags,
    /// kube-controller-manager's flags.
    pub kube_controller_manager: Flags,
    /// kube-apiserver's flags.
    pub kube_apiserver: Flags,
    /// What the operator does.
    pub operands: Operands,
    /// A message for the user: a value that is invalid, or one that cannot be followed.
    pub problem: Option<String>,
}

/// What the operator does with its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operands {
    /// They run.
    Run,
    /// They run once kube-controller-manager does not run the cloud's controllers any more.
    Wait,
    /// They are deleted, or do not exist.
    Remove,
}

/// Returns the flags that are needed now.
#[must_use]
pub fn observe(inputs: &Inputs<'_>) -> Outcome {
    let (place, problem) = place::decide(inputs);
    let wanted = |place| flags_of(place, inputs);
    let (core, kubelet) = match (place, inputs.owner) {
        // The operands still run: no other program may start before they are deleted.
        (Place::InTree(_) | Place::Nowhere, Owner::External) => (external(inputs), external(inputs)),
        // kube-controller-manager still runs the controllers, which initialize new nodes.
        (Place::External, Owner::InTree) => (place, in_tree(inputs)),
        _ => (place, place),
    };
    let operands = match (place, inputs.owner) {
        _ if inputs.annotation.map(crate::platforms::external::requested)
            == Some(crate::platforms::external::Request::InTree) =>
        {
            Operands::Remove
        }
        (Place::External, Owner::InTree) => Operands::Wait,
        (Place::External, _) => Operands::Run,
        (Place::InTree(_) | Place::Nowhere, _) => Operands::Remove,
    };
    Outcome {
        place,
        kubelet: wanted(kubelet).kubelet(KUBELET_CONFIG),
        kube_controller_manager: wanted(core).kube_controller_manager(STATIC_POD_CONFIGS),
        kube_apiserver: wanted(core).kube_apiserver(STATIC_POD_CONFIGS),
        operands,
        problem,
    }
}

/// External, unless this platform cannot be external: without a manager nothing needs to be replaced.
fn external(inputs: &Inputs<'_>) -> Place {
    inputs.platform.map_or(Place::Nowhere, |_| Place::External)
}

fn in_tree(inputs: &Inputs<'_>) -> Place {
    let name = inputs
        .platform
        .and_then(|platform| place::in_tree_name(platform, inputs.kubernetes));
    name.map_or(Place::External, Place::InTree)
}

fn flags_of<'a>(place: Place, inputs: &Inputs<'a>) -> flags::Wanted<'a> {
    flags::Wanted {
        place,
        config: inputs.cloud_config,
        volume_plugin: match inputs.volumes {
            Volumes::Csi => None,
            Volumes::InTree => inputs
                .platform
                .and_then(|platform| place::in_tree_name(platform, inputs.kubernetes)),
        },
    }
}
