//! The kinds that the operator reads and writes: one file per kind, only the fields that it uses.
//!
//! Objects of `config.openshift.io/v1` are parsed leniently: enumerations are texts (an unknown platform must not
//! make the object unreadable), a missing part is its empty value, and unknown fields are ignored.
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

/// Whether a field is left out because it is empty, as by the Go programs.
fn is_empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
