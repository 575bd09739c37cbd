//! The kinds the operator reads and writes: one file a kind, only the fields used.
//!
//! What `OpenShift` calls `config.openshift.io/v1` is read leniently: text stays text (a platform this program has never
//! heard of must not blind it), an absent part is its empty value, and an unknown field is ignored.
//! [`CloudControllerManager`] is our own kind, for every other Kubernetes.

#[macro_use]
mod kind;

pub mod api_server;
pub mod cloud_controller_manager;
pub mod cluster_operator;
pub mod cluster_version;
pub mod feature_gate;
pub mod infrastructure;
pub mod network;
pub mod proxy;

pub use api_server::ApiServer;
pub use cloud_controller_manager::CloudControllerManager;
pub use cluster_operator::ClusterOperator;
pub use cluster_version::ClusterVersion;
pub use feature_gate::FeatureGate;
pub use infrastructure::Infrastructure;
pub use network::Network;
pub use proxy::Proxy;

/// Whether there is nothing to write: what is empty is left out, as the Go programs do.
fn is_empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
