//! The provider on govmomi's simulator, which stands for vCenter.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what must not be missing in a test ends it"
)]

mod conformance;
mod faults;
mod fixture;
mod nodes;
