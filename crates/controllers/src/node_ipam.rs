//! The node IPAM controller: assigns pod CIDRs to Nodes out of the cluster CIDRs (`RangeAllocator`).
//!
//! It runs only if it is named in `--controllers` and `--allocate-node-cidrs` is set: a cluster must never have two
//! allocators, and kube-controller-manager usually is one.

mod controller;
mod options;
mod plan;
mod reconcile;

pub use controller::{Context, queue, run};
pub use options::{MaskSizes, Options};
pub use plan::{Allocator, CidrSet, Recorded};

/// The source of its events, as in kube-controller-manager.
pub const COMPONENT: &str = "cidrAllocator";

#[cfg(test)]
mod tests;
