//! Real systems on loopback to test and demonstrate against: etcd and kube-apiserver, and `OpenStack`.
//!
//! Start with [`ControlPlane`] or [`openstack::OpenStack`]. Everything binds to loopback on free ports, keeps its state in one folder, and stops
//! with the process that started it, however that process ends.

pub mod assets;
mod control_plane;
mod kubeconfig;
pub mod openstack;
pub mod peer;
mod pki;
mod process;

pub use control_plane::ControlPlane;
pub use process::Guarded;

use std::sync::atomic::{AtomicU32, Ordering};

/// Chooses the TLS implementation for this process; to be called before the first client is made.
pub fn install_crypto() {
    // Err means that somebody has chosen already.
    let _ = rustls::crypto::ring::default_provider().install_default();
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
