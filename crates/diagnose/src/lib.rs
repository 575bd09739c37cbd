//! Commands for people who operate a cluster.
//!
//! [`why`] explains what a Service, a Node or a manager waits for. It reads a snapshot first, and then decides purely.

pub mod cloud_access;
pub mod cluster;
pub mod why;
