//! The operator on a Kubernetes without `OpenShift`: our own resource, on a real API server.

mod clouds;
pub mod cluster;
mod faults;
mod lifecycle;
mod own_service;
mod scopes;
mod serving_certificate;
mod stop;
mod watches;
