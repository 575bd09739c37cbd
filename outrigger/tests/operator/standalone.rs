//! The operator on a Kubernetes that is not `OpenShift`: our own resource, on a real API server.

mod certificates;
pub mod cluster;
mod faults;
mod life;
mod scopes;
mod stop;
mod watches;
