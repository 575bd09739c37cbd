//! Moves a cluster from an in-tree cloud provider to a cloud controller manager, and back.
//!
//! A [`Snapshot`] is everything that was read from the cluster, and everything that could not be read. [`Cluster`] is what follows
//! from it: the programs and their flags. [`check()`] and [`plan()`] are pure: they return findings and steps, and change nothing.
//! [`collect()`] reads the cluster and [`cloud_view::of`] its cloud; both only read.

pub mod check;
pub mod cloud_view;
pub mod cluster;
pub mod collect;
pub mod flags;
pub mod plan;
pub mod snapshot;
mod table;
pub mod version;
pub mod watch;

pub use check::check;
pub use cluster::Cluster;
pub use collect::{Depth, collect};
pub use plan::plan;
pub use snapshot::Snapshot;
