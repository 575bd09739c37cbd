//! A load balancer and everything on it: listeners, pools, members, health monitors.
//!
//! [`observe`] reads a [`tree`] of them, [`desired`] is what a Service asks for, [`plan`] compares the two, and [`apply`] makes one [`step`] of the
//! difference. A [`goal`] is everything that a Service asks for, or only its hosts.

pub(super) mod apply;
pub(super) mod desired;
pub(super) mod goal;
pub(super) mod observe;
pub(super) mod plan;
pub(super) mod step;
pub(super) mod tree;
