//! Commands for people who operate a cluster.
//!
//! [`why`] explains what a Service, a Node or a manager waits for, [`check`] tries everything that a manager needs before it is
//! started, and [`cleanup`] finds what a deleted cluster left in the cloud. Each reads first, and then decides purely.

pub mod check;
pub mod cleanup;
pub mod cloud_access;
pub mod cluster;
mod table;
pub mod why;
