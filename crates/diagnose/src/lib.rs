//! Commands for people who operate a cluster.
//!
//! [`why`] explains what a Service, a Node or a manager waits for, and [`check`] tries everything that a manager needs before it is
//! started. Each reads first, and then decides purely.

pub mod check;
pub mod cloud_access;
pub mod cluster;
mod table;
pub mod why;
