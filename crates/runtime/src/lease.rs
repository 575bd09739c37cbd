//! Leader election on a Lease, compatible with client-go: a Go and a Rust replica can share one.
//!
//! Read [`decision`] first: it decides, from what was observed and when; all other modules read, write and wait.
//!
//! What it guarantees:
//! - Two replicas never lead at the same time. A leader's [`Fence`](crate::fence::Fence) is open until `renew_deadline`
//!   after it *began* its last renewal; no other replica acquires the lease before `lease_duration` after having *observed* it.
//!   Only monotonic local clocks are compared.
//! - A leader that is stopped cleanly releases the lease, and a standby acquires it at once.
//! - Fields, labels and annotations of other clients on the Lease are kept.

mod core;
pub mod decision;
mod elector;
mod leadership;
mod metrics;
mod params;
mod record;
mod status;
mod store;
#[cfg(test)]
mod tests;
mod watch;

pub use self::{
    elector::{Elector, Invalid},
    leadership::{Leadership, Lost, NotReleased},
    metrics::Metrics,
    params::{Params, identity},
    record::Record,
    status::{Status, Stuck},
};
