//! Leader election on a Lease, in step with client-go: a Go and a Rust replica can share one.
//!
//! Read [`decision`] first: it decides, from what was seen and when, and everything else reads, writes and waits.
//!
//! What it guarantees:
//! - Two replicas never lead at the same time. A leader's [`Fence`](crate::fence::Fence) is open until `renew_deadline`
//!   after it *began* its last renewal; nobody else takes the lease before `lease_duration` after having *seen* it. Only
//!   monotonic local clocks are compared.
//! - A leader that is stopped cleanly gives the lease away, and a standby takes it at once.
//! - Fields, labels and annotations that others put on the Lease stay.

mod core;
pub mod decision;
mod elector;
mod leadership;
mod lookout;
mod metrics;
mod params;
mod record;
mod status;
mod store;
#[cfg(test)]
mod tests;

pub use self::{
    elector::{Elector, Invalid},
    leadership::{Leadership, Lost, NotReleased},
    metrics::Metrics,
    params::{Params, identity},
    record::Record,
    status::{Status, Stuck},
};
