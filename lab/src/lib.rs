//! Real systems on loopback to test and demonstrate against: etcd and kube-apiserver, a node with its kubelet, `OpenStack`,
//! AWS and a vCenter.
//!
//! Start with [`ControlPlane`], [`Cluster`], [`openstack::OpenStack`], [`aws::Aws`] or [`vsphere::VCenter`]. Everything binds to loopback on free ports, keeps its state in one folder, and stops
//! with the process that started it, however that process ends.

pub mod assets;
pub mod aws;
mod control_plane;
mod crds;
pub mod image;
mod kubeconfig;
pub mod node;
pub mod openshift;
pub mod openstack;
mod patience;
pub mod peer;
mod pki;
mod process;
pub mod python;
pub mod vsphere;

pub use control_plane::{ControlPlane, Purpose};
pub use node::{Cluster, Node};
pub use patience::Patience;
pub use process::Guarded;

use std::sync::atomic::{AtomicU32, Ordering};

/// Selects the TLS implementation of this process. Call it before the first client is created.
pub fn install_crypto() {
    // An error means that one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The custom resource definitions of a production `OpenShift` cluster that the operator needs, as YAML.
///
/// # Errors
/// As [`openshift::crds`].
pub fn openshift_crds() -> anyhow::Result<Vec<String>> {
    openshift::crds(openshift::Variant::Default)
}

/// A name that no other test uses: `prefix-<pid>-<n>`.
pub fn unique(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "{prefix}-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}
